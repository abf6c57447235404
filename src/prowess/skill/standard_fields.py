"""The standard's six fields and their rules, each read into its value with complaints on the way."""

from dataclasses import replace

from prowess.policy import MissingDescription, NameRule, Reading
from prowess.skill.complaints import Complaints
from prowess.skill.deception import clean_text, is_clean, replace_look_alikes
from prowess.skill.first_paragraph import find_first_paragraph
from prowess.skill.manifest import MAX_COMPATIBILITY_LENGTH, MAX_DESCRIPTION_LENGTH, parse_metadata
from prowess.skill.names import (
    MAX_NAME_LENGTH,
    follows_unicode_rule,
    is_standard_name,
    normalise_name,
    sanitise_name,
)
from prowess.skill.problems import Severity
from prowess.skill.tool_patterns import parse_tool_patterns
from prowess.skill.yaml_values import YamlValue

__all__ = [
    "check_metadata",
    "read_allowed_tools",
    "read_compatibility",
    "read_description",
    "read_license",
    "read_name",
]

_NAME_HARD_CAP = 256


def read_name(value: YamlValue | None, *, folder: str, rule: NameRule, complaints: Complaints) -> str:
    """Return the name, by the folder's where there is none and the rule allows that."""
    given = value.strip() if isinstance(value, str) else ""
    if value is not None and not isinstance(value, str):
        complaints.add_at("field-not-text", "name is not a text; the folder's name is used", "name")
    elif not given:
        refused = rule in (NameRule.SANITISE, NameRule.MUST_MATCH)
        message = "missing required frontmatter fields: name"
        severity = Severity.ERROR if refused else Severity.WARNING
        complaints.add("name-missing", message, severity=severity, line=complaints.first_line, column=1)
    name = _unmask(complaints.clean("name", normalise_name(given or folder)), complaints)
    if rule is NameRule.SANITISE:
        return _sanitise(name, complaints)
    if not name:
        complaints.add_at("name-empty", "nothing is left of the name", "name", severity=Severity.ERROR)
    elif given and rule is not NameRule.FOLDER_DEFAULT:
        _check_name(name, given, folder, rule, complaints)
    return name[:_NAME_HARD_CAP].rstrip()


def _unmask(name: str, complaints: Complaints) -> str:
    """Return a name in Latin letters if every letter of it only looks like one."""
    plain = name if name.isascii() else replace_look_alikes(name)
    if plain == name or not plain.isascii():
        return name
    complaints.add_at("look-alike-characters", f"the name '{name[:64]}' looks like '{plain[:64]}'", "name")
    return plain


def _check_name(name: str, given: str, folder: str, rule: NameRule, complaints: Complaints) -> None:
    """Complain of a name, and where it must follow the rule, of the letters in which it was given."""
    must = rule is NameRule.MUST_MATCH
    severity = Severity.ERROR if must else Severity.WARNING
    if len(name) > MAX_NAME_LENGTH:
        message = f"the name has {len(name)} characters, more than {MAX_NAME_LENGTH}"
        complaints.add_at("name-too-long", message, "name", severity=severity)
    if not (is_standard_name(given if must else name) or (not must and follows_unicode_rule(name))):
        message = f"the name '{name[:80]}' is not lower-case letters, digits and single hyphens"
        complaints.add_at("name-invalid", message, "name", severity=severity)
    plain_folder = replace_look_alikes(clean_text(normalise_name(folder)).text)
    if name != folder and replace_look_alikes(name) != plain_folder:
        message = f"the name '{name[:80]}' differs from its folder '{folder[:80]}'"
        complaints.add_at("name-differs-from-folder", message, "name", severity=severity)


def _sanitise(name: str, complaints: Complaints) -> str:
    sane = sanitise_name(name)
    if not sane:
        message = f"nothing is left of the name '{name[:80]}'"
        complaints.add_at("name-empty", message, "name", severity=Severity.ERROR)
    elif sane != name:
        complaints.add_at("name-sanitised", f"the name '{name[:80]}' became '{sane}'", "name")
    return sane


def read_description(value: YamlValue | None, *, body: bytes, reading: Reading, complaints: Complaints) -> str:
    """Return the description; `body` is what the head of the file shows of the instructions."""
    if value is not None and not isinstance(value, str):
        message = "missing required frontmatter fields: description (it is a list or a map)"
        complaints.add_at("description-missing", message, "description")
        return ""
    given = value.strip() if value else ""
    if len(given) > MAX_DESCRIPTION_LENGTH:
        message = f"the description has {len(given):,} characters, more than {MAX_DESCRIPTION_LENGTH:,}"
        complaints.add_at("description-too-long", message, "description")
    cleaned = complaints.clean("description", given) if given else ""
    return cleaned or _do_without_description(body, reading.missing_description, complaints)


def _do_without_description(body: bytes, choice: MissingDescription, complaints: Complaints) -> str:
    if choice is MissingDescription.FIRST_PARAGRAPH:
        paragraph = complaints.clean("description", find_first_paragraph(body.decode("utf-8", "ignore")))
        if paragraph:
            message = "missing required frontmatter fields: description; the first paragraph stands in"
            complaints.add_at("description-from-body", message, "description")
            return paragraph[:MAX_DESCRIPTION_LENGTH].rstrip()
    if choice is not MissingDescription.ALLOW:
        message = "missing required frontmatter fields: description"
        complaints.add_at("description-missing", message, "description")
    return ""


def read_license(value: YamlValue | None, complaints: Complaints) -> str | None:
    """Return the licence, or None if none is given."""
    return None if value is None else _read_text("license", value, complaints)


def read_compatibility(value: YamlValue | None, complaints: Complaints) -> str | None:
    """Return what the skill says of where it works, or None if it says nothing."""
    text = None if value is None else _read_text("compatibility", value, complaints)
    if text is not None and not 1 <= len(text) <= MAX_COMPATIBILITY_LENGTH:
        message = f"compatibility has {len(text)} characters; 1 to {MAX_COMPATIBILITY_LENGTH} are allowed"
        complaints.add_at("compatibility-length", message, "compatibility")
    return text or None


def _read_text(key: str, value: YamlValue, complaints: Complaints) -> str | None:
    if isinstance(value, str):
        return complaints.clean(key, value)
    complaints.add_at("field-not-text", f"{key} is not a text", key)
    return None


def check_metadata(value: YamlValue, complaints: Complaints) -> None:
    """Complain if metadata is not a map of texts."""
    metadata = parse_metadata(value)
    if metadata is None or (complaints.strict and isinstance(value, str)):
        if value != "" or complaints.strict:
            complaints.add_at("metadata-not-a-map", "metadata is not a map", "metadata")
        return
    odd = next((key for key, item in metadata.items() if not isinstance(item, str)), None)
    if odd is not None:
        message = f"metadata: the value of '{odd[:64]}' is not a text"
        complaints.add_at("metadata-not-text", message, "metadata", odd)


def read_allowed_tools(value: YamlValue | None, complaints: Complaints) -> tuple[str, ...] | None:
    """Return the patterns; None if nothing is said, or nothing that can be understood."""
    if value is None:
        return None
    found = parse_tool_patterns(value)
    if found is None:
        complaints.add_at("field-not-text", "allowed-tools is not a text", "allowed-tools")
        return None
    if not is_clean(value):
        complaints.add_at("invisible-characters", "allowed-tools holds invisible characters", "allowed-tools")
        found = replace(found, patterns=tuple(clean_text(pattern).text for pattern in found.patterns))
    understood = " ".join(found.patterns)[:200]
    if found.as_list:
        message = f"allowed-tools is a list; read as: {understood}"
        complaints.add_at("allowed-tools-not-text", message, "allowed-tools")
    if found.with_commas:
        message = f"allowed-tools is separated by commas; read as: {understood}"
        complaints.add_at("allowed-tools-spelling", message, "allowed-tools")
    for pattern in found.unbalanced:
        message = f"the pattern '{pattern[:80]}' in allowed-tools cannot be understood"
        complaints.add_at("allowed-tools-unbalanced", message, "allowed-tools")
    return found.patterns
