"""What the model is told, tier by tier.

Tier 1: `planner` decides what of the catalog fits the budget (`tokens` counts), `catalog_text` writes it, `guidance`
goes before it, `deltas` tells of changes. Tier 2: `instructions` (with `arguments`), and `reattachment` after a
conversation was compacted. Tier 3: `resources` (with `line_ranges` and `media_types`).

Every text that reaches a model is made here or beside its tool, escaped and bounded. Words: Plan, Instructions,
Resource, Delta. Imports `catalog` and below; `activation` is a neighbour.
"""
