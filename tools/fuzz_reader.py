"""What atheris runs: any bytes as a SKILL.md, under every profile, and any text through both YAML readers."""

# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false, reportAttributeAccessIssue=false

import sys

import atheris

with atheris.instrument_imports():
    from prowess.policy import PROFILES, STRICT_READING
    from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
    from prowess.skill.plain_yaml import parse_plain_yaml
    from prowess.skill.problems import Severity
    from prowess.skill.reading import parse_skill

_READINGS = [STRICT_READING, *(policy.reading for policy in PROFILES.values())]


def check(data: bytes) -> None:
    """Every document gives a manifest or an error, and the short cut never disagrees with the full reader."""
    for reading in _READINGS:
        for head in (data, b"---\n" + data + b"\n---\nBody\n"):
            judged = parse_skill(head, folder="fuzzed", reading=reading)
            if judged.manifest is None and not any(p.severity is Severity.ERROR for p in judged.problems):
                raise AssertionError("neither a manifest nor an error")
    text = data.decode("utf-8", "ignore") + "\n"
    plain = parse_plain_yaml(text)
    if plain is not None:
        # The short cut declines a tagged value, so one more key sends the same text through the full reader.
        full = parse_yaml(f"{text}zz-round: !!str x\n")
        if not isinstance(full, YamlDocument) or {k: v for k, v in full.values.items() if k != "zz-round"} != plain:
            raise AssertionError(f"the short cut reads {plain!r}, the full reader {full!r}")


if __name__ == "__main__":
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
