"""From the bytes of a SKILL.md to a judged Manifest.

`parse_skill` never raises for what is in the file: it gives a manifest or the errors that prevent one, and in either
case every lesser Problem on the way.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from prowess.policy import MissingDescription, Parse, Reading
from prowess.skill.bounded_yaml import YamlDocument, YamlPlaces, parse_yaml
from prowess.skill.complaints import Complaints
from prowess.skill.faultless import read_faultless
from prowess.skill.frontmatter import split_frontmatter
from prowess.skill.manifest import Manifest
from prowess.skill.other_keys import read_additions
from prowess.skill.problems import Problem, Severity
from prowess.skill.repair import drop_unreadable, mend_yaml, quote_value, strip_quotes
from prowess.skill.standard_fields import (
    check_metadata,
    read_allowed_tools,
    read_compatibility,
    read_description,
    read_license,
    read_name,
)
from prowess.skill.yaml_values import YamlMap

__all__ = ["Judgement", "parse_in_full", "parse_skill"]

_FALLBACK = re.compile(r"^(name|description)[ \t]*:(.*(?:\n[ \t]+.*)*)$", re.MULTILINE)
_BLOCK_SIGN = re.compile(r"[|>][+\-0-9]*\s")
_COMMENTED = re.compile(
    r"^(name|description|compatibility|when_to_use):[ \t]+[^\s\"'|>\[{].*?[ \t](#.*)$", re.MULTILINE
)


class Judgement(NamedTuple):
    """What came of reading one SKILL.md: a manifest unless there is an error among the problems."""

    manifest: Manifest | None
    problems: tuple[Problem, ...] = ()


def parse_skill(head: bytes, *, folder: str, reading: Reading, sidecar: bytes | None = None) -> Judgement:
    """Judge a skill by the head of its SKILL.md, the name of its folder and Codex' sidecar if it has one."""
    faultless = read_faultless(head, folder) if sidecar is None else None
    if faultless is not None:
        return Judgement(faultless)
    return parse_in_full(head, folder=folder, reading=reading, sidecar=sidecar)


def parse_in_full(head: bytes, *, folder: str, reading: Reading, sidecar: bytes | None = None) -> Judgement:
    """Do the same without the short cut for skills in which there is nothing to find fault with."""
    complaints = Complaints(reading.strict)
    found = split_frontmatter(head, strict=reading.strict)
    if isinstance(found, Problem):
        manifest = _read_without_frontmatter(found, head, folder, reading, complaints)
    else:
        complaints.problems.extend(found.problems)
        complaints.text, complaints.first_line = found.text, found.first_line
        body = head[found.body_offset :]
        manifest = _read_fields(folder, body, sidecar, reading=reading, complaints=complaints)
    return Judgement(None if complaints.fatal else manifest, tuple(complaints.problems))


def _read_without_frontmatter(
    problem: Problem, head: bytes, folder: str, reading: Reading, complaints: Complaints
) -> Manifest | None:
    """Fall back to the folder's name and the first paragraph where the policy says so."""
    if problem.code != "no-frontmatter" or reading.missing_description is MissingDescription.REFUSE:
        complaints.problems.append(problem)
        return None
    complaints.problems.append(replace(problem, severity=Severity.WARNING))
    name = read_name(None, folder=folder, rule=reading.name_rule, complaints=complaints)
    return Manifest(name, read_description(None, body=head, reading=reading, complaints=complaints))


def _read_fields(
    folder: str, body: bytes, sidecar: bytes | None, *, reading: Reading, complaints: Complaints
) -> Manifest | None:
    fields = _read_yaml(reading.parse, complaints)
    if fields is None:
        return None
    _check_comments(complaints)
    manifest = Manifest(
        name=read_name(fields.get("name"), folder=folder, rule=reading.name_rule, complaints=complaints),
        description=read_description(fields.get("description"), body=body, reading=reading, complaints=complaints),
        license=read_license(fields.get("license"), complaints),
        compatibility=read_compatibility(fields.get("compatibility"), complaints),
        allowed_tools=read_allowed_tools(fields.get("allowed-tools"), complaints),
        text=complaints.text,
    )
    if "metadata" in fields:
        check_metadata(fields["metadata"], complaints)
    additions = read_additions(fields, sidecar, choice=reading.unknown_keys, complaints=complaints)
    if additions is None:
        return manifest
    tools = manifest.allowed_tools if manifest.allowed_tools is not None else additions.allowed_tools
    return manifest._replace(additions=additions.behaviour, allowed_tools=tools)


def _read_yaml(parse: Parse, complaints: Complaints) -> YamlMap | None:
    found = parse_yaml(complaints.text, first_line=complaints.first_line, strict=complaints.strict)
    if isinstance(found, Problem):
        found = _rescue(found, parse, complaints)
    if found is None:
        return None
    complaints.problems.extend(found.problems)
    complaints.places = found.places
    return found.values


def _rescue(fault: Problem, parse: Parse, complaints: Complaints) -> YamlDocument | None:
    """Return what can be had of a document that is not valid YAML, as far as the policy goes."""
    if parse is Parse.REPAIR:
        readable, unreadable, line = drop_unreadable(complaints.text)
        found = parse_yaml(readable, first_line=complaints.first_line) if unreadable else fault
        mended, mends = mend_yaml(readable) if isinstance(found, Problem) else (readable, [])
        if mends:
            found = parse_yaml(mended, first_line=complaints.first_line)
        if isinstance(found, YamlDocument):
            complaints.text = mended
            if unreadable:
                message = f"the frontmatter holds invisible characters: {', '.join(unreadable[:8])}"
                complaints.add("invisible-characters", message, line=complaints.first_line + line, column=1)
            for mend in mends:
                message = f"not valid YAML; read as: {mend.line.strip()}"
                complaints.add("yaml-repaired", message, line=complaints.first_line + mend.index, column=1)
            return found
    if parse is Parse.FALLBACK and fault.code in ("yaml-invalid", "yaml-tag"):
        message = f"{fault.message}; took name and description only"
        complaints.add("yaml-fallback", message, line=fault.line, column=fault.column)
        return _skim(complaints)
    complaints.problems.append(fault)
    return None


def _skim(complaints: Complaints) -> YamlDocument:
    """Take the lines that give a name and a description, and leave the rest."""
    values: dict[str, str] = {}
    places: YamlPlaces = {}
    for found in _FALLBACK.finditer(complaints.text):
        text = " ".join(_BLOCK_SIGN.sub("", found[2].strip(), count=1).split())
        values.setdefault(found[1], strip_quotes(text))
        places.setdefault((found[1],), (complaints.first_line + complaints.text.count("\n", 0, found.start()), 1))
    complaints.text = "".join(f"{key}: {quote_value(value)}\n" for key, value in values.items())
    return YamlDocument({**values}, places=places)


def _check_comments(complaints: Complaints) -> None:
    """Complain of texts that end at a ` #`, which people seldom mean."""
    if " #" not in complaints.text:
        return
    for found in _COMMENTED.finditer(complaints.text):
        line = complaints.first_line + complaints.text.count("\n", 0, found.start())
        message = f"the {found[1]} ends before '{found[2][:60]}', which is a comment"
        complaints.add("value-cut-by-comment", message, line=line, column=found.start(2) - found.start() + 1)
