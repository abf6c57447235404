"""From the bytes of a SKILL.md to a judged Manifest.

`parse_skill` never raises for what is in the file: it gives a manifest or the errors that prevent one, and in either
case every lesser Problem on the way.
"""

import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from prowess.policy import MissingDescription, NameRule, Parse, Reading, UnknownKeys
from prowess.skill.bounded_yaml import YamlDocument, YamlPath, locate_keys, parse_yaml
from prowess.skill.deception import clean_text, is_clean
from prowess.skill.dialects import (
    KNOWN_KEYS,
    OWN_KEYS,
    SIDECAR_PATH,
    read_behaviour,
)
from prowess.skill.faultless import read_faultless
from prowess.skill.frontmatter import (
    MAX_FRONTMATTER_BYTES,
    Frontmatter,
    split_frontmatter,
)
from prowess.skill.manifest import (
    MAX_COMPATIBILITY_LENGTH,
    MAX_DESCRIPTION_LENGTH,
    STANDARD_FIELDS,
    Manifest,
    parse_metadata,
)
from prowess.skill.names import (
    MAX_NAME_LENGTH,
    follows_unicode_rule,
    is_standard_name,
    normalise_name,
    sanitise_name,
)
from prowess.skill.problems import Problem, Severity, make_problem
from prowess.skill.repair import mend_yaml, quote_value, strip_quotes
from prowess.skill.tool_patterns import parse_tool_patterns
from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = ["Judgement", "parse_skill"]

_NAME_HARD_CAP = 256
_STANDARD = frozenset(STANDARD_FIELDS)
_FALLBACK = re.compile(r"^(name|description):(.*(?:\n[ \t]+.*)*)$", re.MULTILINE)
_NOT_PROSE = re.compile(r"[#`|<>*\-+=~]|\d+[.)]\s")
_BLOCK_SIGN = re.compile(r"[|>][+\-0-9]*\s")
_COMMENTED = re.compile(
    r"^(name|description|compatibility|when_to_use):[ \t]+[^\s\"'|>\[{].*?[ \t](#.*)$", re.MULTILINE
)


_MAX_UNKNOWN = 20


class Judgement(NamedTuple):
    """What came of reading one SKILL.md: a manifest unless there is an error among the problems."""

    manifest: Manifest | None
    problems: tuple[Problem, ...] = ()


def parse_skill(head: bytes, *, folder: str, reading: Reading, sidecar: bytes | None = None) -> Judgement:
    """Judge a skill by the head of its SKILL.md, the name of its folder and Codex' sidecar if it has one."""
    if sidecar is None:
        manifest = read_faultless(head, folder)
        if manifest is not None:
            return Judgement(manifest)
    found = split_frontmatter(head, strict=reading.strict)
    reader = _Reader(folder, reading)
    if isinstance(found, Problem):
        manifest = reader.read_without_frontmatter(found, head)
    else:
        reader.problems.extend(found.problems)
        manifest = reader.read(found, head, sidecar)
    failed = any(problem.severity is Severity.ERROR for problem in reader.problems)
    return Judgement(None if failed else manifest, tuple(reader.problems))


def _first_paragraph(text: str) -> str:
    """Return the first lines that are neither a heading, a list, a quotation, a table nor code."""
    lines: list[str] = []
    in_code = False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            in_code = not in_code
        elif stripped and not in_code and (lines or not _NOT_PROSE.match(stripped)):
            lines.append(stripped)
        elif lines:
            break
    return " ".join(lines)


def _suggest_key(key: str) -> str:
    import difflib  # Wanted only for a slip of the pen.

    known = sorted(word for word in {*STANDARD_FIELDS, *KNOWN_KEYS} if word[0] == key[:1].lower())
    near = difflib.get_close_matches(key.lower()[:64], known, n=1, cutoff=0.8)
    return f"did you mean '{near[0]}'?" if near and near[0] != key else ""


@dataclass(slots=True)
class _Reader:
    folder: str
    reading: Reading
    problems: list[Problem] = field(default_factory=list[Problem])
    text: str = ""
    first_line: int = 1
    places: dict[YamlPath, tuple[int, int]] | None = None
    """Where each key stands; found when it is first asked for."""

    def read(self, frontmatter: Frontmatter, head: bytes, sidecar: bytes | None) -> Manifest | None:
        self.text, self.first_line = frontmatter.text, frontmatter.first_line
        fields = self._read_yaml()
        if fields is None:
            return None
        if " #" in self.text:
            self._check_comments()
        manifest = Manifest(
            name=self._name(fields.get("name")),
            description=self._description(fields.get("description"), head[frontmatter.body_offset :]),
            license=self._text(fields, "license") if "license" in fields else None,
            compatibility=self._compatibility(fields) if "compatibility" in fields else None,
            allowed_tools=self._allowed_tools(fields["allowed-tools"]) if "allowed-tools" in fields else None,
            text=self.text,
        )
        if "metadata" in fields:
            self._check_metadata(fields["metadata"])
        return self._with_additions(manifest, fields, sidecar)

    def read_without_frontmatter(self, problem: Problem, head: bytes) -> Manifest | None:
        """Fall back to the folder's name and the first paragraph where the policy says so."""
        last_resort = self.reading.missing_description is not MissingDescription.REFUSE
        if problem.code != "no-frontmatter" or not last_resort:
            self.problems.append(problem)
            return None
        self.problems.append(replace(problem, severity=Severity.WARNING))
        return Manifest(name=self._name(None), description=self._description(None, head))

    # YAML

    def _read_yaml(self) -> YamlMap | None:
        found = parse_yaml(self.text, first_line=self.first_line, strict=self.reading.strict)
        if isinstance(found, Problem):
            found = self._rescue(found)
        if found is None:
            return None
        self.problems.extend(found.problems)
        return found.values

    def _rescue(self, fault: Problem) -> YamlDocument | None:
        if self.reading.parse is Parse.REPAIR:
            mended, mends = mend_yaml(self.text)
            found = parse_yaml(mended, first_line=self.first_line) if mends else fault
            if isinstance(found, YamlDocument):
                self.text = mended
                for mend in mends:
                    message = f"not valid YAML; read as: {mend.line.strip()}"
                    self.add("yaml-repaired", message, line=self.first_line + mend.index, column=1)
                return found
        if self.reading.parse is Parse.FALLBACK and fault.code == "yaml-invalid":
            message = f"{fault.message}; took name and description only"
            self.add("yaml-fallback", message, line=fault.line, column=fault.column)
            return self._fall_back()
        self.problems.append(fault)
        return None

    def _fall_back(self) -> YamlDocument:
        values: dict[str, str] = {}
        for key, value in _FALLBACK.findall(self.text):
            text = " ".join(_BLOCK_SIGN.sub("", value.strip(), count=1).split())
            values.setdefault(key, strip_quotes(text))
        self.text = "".join(f"{key}: {quote_value(value)}\n" for key, value in values.items())
        return YamlDocument({**values})

    def _check_comments(self) -> None:
        for found in _COMMENTED.finditer(self.text):
            line = self.first_line + self.text.count("\n", 0, found.start())
            message = f"the {found[1]} ends before '{found[2][:60]}', which is a comment"
            self.add("value-cut-by-comment", message, line=line, column=found.start(2) - found.start() + 1)

    # The standard's fields

    def _name(self, value: YamlValue | None) -> str:
        given = value.strip() if isinstance(value, str) else ""
        if value is not None and not isinstance(value, str):
            self._complain("field-not-text", "name is not a text; the folder's name is used", "name")
        elif not given:
            refused = self.reading.name_rule in (NameRule.SANITISE, NameRule.MUST_MATCH)
            severity = Severity.ERROR if refused else Severity.WARNING
            message = "missing required frontmatter fields: name"
            self.add("name-missing", message, severity=severity, line=self.first_line, column=1)
        name = self._clean("name", normalise_name(given or self.folder))
        if self.reading.name_rule is NameRule.SANITISE:
            return self._sanitised(name)
        if not name:
            self._complain("name-empty", "nothing is left of the name", "name", severity=Severity.ERROR)
        elif given and self.reading.name_rule is not NameRule.FOLDER_DEFAULT:
            self._check_name(name)
        return name[:_NAME_HARD_CAP]

    def _check_name(self, name: str) -> None:
        must = self.reading.name_rule is NameRule.MUST_MATCH
        severity = Severity.ERROR if must else Severity.WARNING
        if len(name) > MAX_NAME_LENGTH:
            message = f"the name has {len(name)} characters, more than {MAX_NAME_LENGTH}"
            self._complain("name-too-long", message, "name", severity=severity)
        if not (is_standard_name(name) or (not must and follows_unicode_rule(name))):
            message = f"the name '{name[:80]}' is not lower-case letters, digits and single hyphens"
            self._complain("name-invalid", message, "name", severity=severity)
        if name != self.folder and name != clean_text(normalise_name(self.folder)).text:
            message = f"the name '{name[:80]}' differs from its folder '{self.folder[:80]}'"
            self._complain("name-differs-from-folder", message, "name", severity=severity)

    def _sanitised(self, name: str) -> str:
        sane = sanitise_name(name)
        if not sane:
            self._complain("name-empty", f"nothing is left of the name '{name[:80]}'", "name", severity=Severity.ERROR)
        elif sane != name:
            self._complain("name-sanitised", f"the name '{name[:80]}' became '{sane}'", "name")
        return sane

    def _description(self, value: YamlValue | None, body: bytes) -> str:
        if value is not None and not isinstance(value, str):
            message = "missing required frontmatter fields: description (it is a list or a map)"
            self._complain("description-missing", message, "description")
            return ""
        given = value.strip() if value else ""
        if not given:
            return self._without_description(body)
        if len(given) > MAX_DESCRIPTION_LENGTH:
            message = f"the description has {len(given):,} characters, more than {MAX_DESCRIPTION_LENGTH:,}"
            self._complain("description-too-long", message, "description")
        return self._clean("description", given) or self._without_description(body)

    def _without_description(self, body: bytes) -> str:
        choice = self.reading.missing_description
        if choice is MissingDescription.FIRST_PARAGRAPH:
            paragraph = _first_paragraph(body.decode("utf-8", "ignore"))
            if paragraph:
                message = "missing required frontmatter fields: description; the first paragraph stands in"
                self._complain("description-from-body", message, "description")
                return self._clean("description", paragraph)[:MAX_DESCRIPTION_LENGTH]
        if choice is not MissingDescription.ALLOW:
            self._complain("description-missing", "missing required frontmatter fields: description", "description")
        return ""

    def _compatibility(self, fields: YamlMap) -> str | None:
        text = self._text(fields, "compatibility")
        if text is not None and not 1 <= len(text) <= MAX_COMPATIBILITY_LENGTH:
            message = f"compatibility has {len(text)} characters; 1 to {MAX_COMPATIBILITY_LENGTH} are allowed"
            self._complain("compatibility-length", message, "compatibility")
        return text or None

    def _text(self, fields: YamlMap, key: str) -> str | None:
        value = fields[key]
        if isinstance(value, str):
            return self._clean(key, value)
        self._complain("field-not-text", f"{key} is not a text", key)
        return None

    def _check_metadata(self, value: YamlValue) -> None:
        metadata = parse_metadata(value)
        if metadata is None:
            if value != "" or self.reading.strict:
                self._complain("metadata-not-a-map", "metadata is not a map", "metadata")
            return
        for key, item in metadata.items():
            if not isinstance(item, str):
                message = f"metadata: the value of '{key[:64]}' is not a text"
                self._complain("metadata-not-text", message, "metadata", key)
                return

    def _allowed_tools(self, value: YamlValue) -> tuple[str, ...] | None:
        found = parse_tool_patterns(value)
        if found is None:
            self._complain("field-not-text", "allowed-tools is not a text", "allowed-tools")
            return None
        if not is_clean(value):
            self._complain("invisible-characters", "allowed-tools holds invisible characters", "allowed-tools")
            found = replace(found, patterns=tuple(clean_text(pattern).text for pattern in found.patterns))
        if found.as_list:
            message = f"allowed-tools is a list; read as: {' '.join(found.patterns)[:200]}"
            self._complain("allowed-tools-not-text", message, "allowed-tools")
        if found.with_commas:
            message = f"allowed-tools is separated by commas; read as: {' '.join(found.patterns)[:200]}"
            self._complain("allowed-tools-spelling", message, "allowed-tools")
        for pattern in found.unbalanced:
            message = f"the pattern '{pattern[:80]}' in allowed-tools cannot be understood"
            self._complain("allowed-tools-unbalanced", message, "allowed-tools")
        return found.patterns

    # Everything else

    def _with_additions(self, manifest: Manifest, fields: YamlMap, sidecar: bytes | None) -> Manifest:
        others = [key for key in fields if key not in _STANDARD]
        if others:
            self._check_unknown(others)
        for key in (key for key in others if key in KNOWN_KEYS and not is_clean(fields[key])):
            self._complain("invisible-characters", f"{key} holds invisible characters", key)
        extra = self._sidecar(sidecar) if sidecar is not None else None
        if not others and extra is None and "metadata" not in fields:
            return manifest
        addition = read_behaviour(fields, extra, keys=self._readable(fields))
        for fault in addition.faults:
            where = ".".join(fault.path)
            self._complain("field-invalid", f"{where} should be {fault.wants}; it is left out", *fault.path)
        tools = manifest.allowed_tools if manifest.allowed_tools is not None else addition.allowed_tools
        if addition.behaviour is None and tools is manifest.allowed_tools:
            return manifest
        return manifest._replace(additions=addition.behaviour, allowed_tools=tools)

    def _readable(self, fields: YamlMap) -> list[str]:
        """Which top-level keys the policy lets count, in the order of the file."""
        match self.reading.unknown_keys:
            case UnknownKeys.DIALECTS:
                return list(fields)
            case UnknownKeys.IGNORE:
                return [key for key in fields if key in OWN_KEYS]
            case _:
                return []

    def _check_unknown(self, keys: list[str]) -> None:
        match self.reading.unknown_keys:
            case UnknownKeys.IGNORE:
                return
            case UnknownKeys.REFUSE:
                names = ", ".join(key[:64] for key in keys[:20])
                message = f"keys outside the standard: {names}"
                self._complain("unknown-key-refused", message, keys[0])
            case UnknownKeys.DIALECTS:
                self._warn_unknown([key for key in keys if key not in KNOWN_KEYS])
            case UnknownKeys.WARN:
                self._warn_unknown(keys)

    def _warn_unknown(self, keys: list[str]) -> None:
        for key in keys[:_MAX_UNKNOWN]:
            self._complain("unknown-key", f"unknown key '{key[:64]}'", key, remedy=_suggest_key(key))
        if len(keys) > _MAX_UNKNOWN:
            message = f"and {len(keys) - _MAX_UNKNOWN} further unknown keys"
            self._complain("unknown-key", message, keys[_MAX_UNKNOWN])

    def _sidecar(self, raw: bytes) -> YamlMap | None:
        found: YamlDocument | Problem | str
        try:
            text = raw.decode("utf-8-sig").replace("\r\n", "\n")
            found = parse_yaml(text) if len(raw) <= MAX_FRONTMATTER_BYTES else "it is too large"
        except UnicodeDecodeError:
            found = "it is not UTF-8"
        if isinstance(found, YamlDocument):
            return found.values
        message, line, column = (found, 1, 1) if isinstance(found, str) else (found.message, found.line, found.column)
        self.add("sidecar-invalid", f"{SIDECAR_PATH}: {message}", line=line, column=column, path=SIDECAR_PATH)
        return None

    # Problems

    def _clean(self, key: str, text: str) -> str:
        cleaned = clean_text(text)
        if cleaned.invisible:
            message = f"{key} holds invisible characters: {', '.join(cleaned.invisible[:8])}"
            self._complain("invisible-characters", message, key)
        for word in cleaned.look_alikes[:4]:
            self._complain("look-alike-characters", f"{key}: the word '{word[:64]}' mixes scripts", key)
        return cleaned.text

    def _complain(
        self, code: str, message: str, *path: str, severity: Severity | None = None, remedy: str = ""
    ) -> None:
        """Add a Problem at the place of a key."""
        if self.places is None:
            self.places = locate_keys(self.text, first_line=self.first_line)
        known = (self.places[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.places)
        line, column = next(known, (self.first_line, 1))
        self.add(code, message, severity=severity, line=line, column=column, remedy=remedy)

    def add(
        self,
        code: str,
        message: str,
        *,
        severity: Severity | None = None,
        line: int | None = None,
        column: int | None = None,
        remedy: str = "",
        path: str | None = None,
    ) -> None:
        self.problems.append(
            make_problem(
                code,
                message,
                strict=self.reading.strict,
                severity=severity,
                line=line,
                column=column,
                remedy=remedy,
                path=path,
            )
        )
