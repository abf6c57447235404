"""What a skill is.

Bytes come in, values and Problems go out; nothing here touches the disk, the clock or the environment. In the order of
the data: `frontmatter` finds the fences, `bounded_yaml` (and its short cut `plain_yaml`) reads what is between them,
`repair` mends it where the policy allows, `standard_fields`, `other_keys` and `dialects` turn it into a `Manifest`,
`deception` cleans what a model will see, and `reading` strings these together into a verdict, with `faultless` as its
short cut. `digest` names the exact files of a skill.

Words: Skill, Manifest, Problem, Digest. Everybody may import this package; it imports only `policy` and `errors`.
"""
