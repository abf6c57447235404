"""Secrets of skills.

They are kept (`secret_stores`), given to runs (`given_secrets`), and taken out of what these say (`redaction`, with
`secret_forms`).
"""
