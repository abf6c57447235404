"""Everything in a manifest beyond the standard's six fields, as far as the policy lets it count."""

from functools import lru_cache

from prowess.policy import UnknownKeys
from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.complaints import Complaints
from prowess.skill.deception import is_clean
from prowess.skill.dialects import KNOWN_KEYS, OWN_KEYS, SIDECAR_PATH, Additions, read_behaviour
from prowess.skill.frontmatter import MAX_FRONTMATTER_BYTES
from prowess.skill.manifest import STANDARD_FIELDS
from prowess.skill.yaml_values import YamlMap

__all__ = ["read_additions"]

_STANDARD = frozenset(STANDARD_FIELDS)
_MAX_REPORTED = 20


def read_additions(
    fields: YamlMap, sidecar: bytes | None, *, choice: UnknownKeys, complaints: Complaints
) -> Additions | None:
    """Return what the frontmatter and the sidecar add, or None if there is nothing that could."""
    others = [key for key in fields if key not in _STANDARD]
    if others:
        _check_unknown(others, choice, complaints)
    for key in (key for key in others if key in KNOWN_KEYS and not is_clean(fields[key])):
        complaints.add_at("invisible-characters", f"{key} holds invisible characters", key)
    extra = _read_sidecar(sidecar, complaints) if sidecar is not None else None
    if not others and extra is None and "metadata" not in fields:
        return None
    additions = read_behaviour(fields, extra, keys=_readable(fields, choice))
    for fault in additions.faults:
        where = ".".join(fault.path)
        complaints.add_at("field-invalid", f"{where} should be {fault.wants}; it is left out", *fault.path)
    return additions


def _readable(fields: YamlMap, choice: UnknownKeys) -> list[str]:
    """Which top-level keys the policy lets count, in the order of the file."""
    match choice:
        case UnknownKeys.DIALECTS:
            return list(fields)
        case UnknownKeys.IGNORE:
            return [key for key in fields if key in OWN_KEYS]
        case _:
            return []


def _check_unknown(keys: list[str], choice: UnknownKeys, complaints: Complaints) -> None:
    match choice:
        case UnknownKeys.IGNORE:
            return
        case UnknownKeys.REFUSE:
            names = ", ".join(key[:64] for key in keys[:_MAX_REPORTED])
            complaints.add_at("unknown-key-refused", f"keys outside the standard: {names}", keys[0])
        case UnknownKeys.DIALECTS:
            _warn_unknown([key for key in keys if key not in KNOWN_KEYS], complaints)
        case UnknownKeys.WARN:
            _warn_unknown(keys, complaints)


def _warn_unknown(keys: list[str], complaints: Complaints) -> None:
    for key in keys[:_MAX_REPORTED]:
        complaints.add_at("unknown-key", f"unknown key '{key[:64]}'", key, remedy=_suggest(key))
    if len(keys) > _MAX_REPORTED:
        message = f"and {len(keys) - _MAX_REPORTED} further unknown keys"
        complaints.add_at("unknown-key", message, keys[_MAX_REPORTED])


@lru_cache(maxsize=1_024)  # The skills of one author have the same keys.
def _suggest(key: str) -> str:
    import difflib  # Wanted only for a slip of the pen.

    known = sorted(word for word in {*STANDARD_FIELDS, *KNOWN_KEYS} if word[0] == key[:1].lower())
    near = difflib.get_close_matches(key.lower()[:64], known, n=1, cutoff=0.8)
    return f"did you mean '{near[0]}'?" if near and near[0] != key else ""


def _read_sidecar(raw: bytes, complaints: Complaints) -> YamlMap | None:
    if len(raw) > MAX_FRONTMATTER_BYTES:
        message, line, column = "it is too large", 1, 1
    else:
        try:
            found = parse_yaml(raw.decode("utf-8-sig").replace("\r\n", "\n"))
        except UnicodeDecodeError:
            message, line, column = "it is not UTF-8", 1, 1
        else:
            if isinstance(found, YamlDocument):
                return found.values
            message, line, column = found.message, found.line or 1, found.column or 1
    complaints.add("sidecar-invalid", f"{SIDECAR_PATH}: {message}", line=line, column=column, path=SIDECAR_PATH)
    return None
