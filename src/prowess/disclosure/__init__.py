"""What the model is told: so far the catalog's text, in the three forms that the profiles ask for.

Every text that reaches a model is made here, escaped, from values. Imports `catalog` and below.
"""
