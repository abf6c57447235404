"""Which of the secrets that a skill declares a run is given.

Values go from a store, or from this process' own environment where the settings name the variable, to the environment
of a run, and nowhere else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prowess.errors import Refused
from prowess.execution.secrecy.secret_stores import SecretName, SecretStore
from prowess.skill.manifest import Secret

__all__ = [
    "Gathered",
    "SecretValues",
    "gather_secrets",
    "missing_secrets_error",
]


class SecretValues(Mapping[str, str]):
    """Values by the names of their variables. Shown as text, it says the names alone."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"SecretValues({', '.join(sorted(self._values))})"


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a run is given."""

    values: SecretValues = field(repr=False)
    missing: tuple[str, ...] = ()
    """Names that the skill cannot do without, and that are nowhere."""


def gather_secrets(
    declared: Sequence[Secret],
    *,
    store: SecretStore,
    host_variables: Sequence[str],
    environ: Mapping[str, str],
    skill_id: str,
    skill_name: str,
) -> Gathered:
    """Return the values of what is declared: those kept for the skill first, then for all, then this process' own.

    Of `environ`, only what `host_variables` names is looked at.
    """
    own_name = () if ":" in skill_name else (skill_name,)  # It would be another skill's id.
    keys = {wanted.name: [SecretName(wanted.name, scope) for scope in (skill_id, *own_name, "")] for wanted in declared}
    kept: Mapping[SecretName, str] = store.find([key for ways in keys.values() for key in ways]) if keys else {}
    values: dict[str, str] = {}
    for name, ways in keys.items():
        value = next((kept[key] for key in ways if key in kept), None)
        if value is None and name in host_variables:
            value = environ.get(name)
        if value:
            values[name] = value
    missing = tuple(wanted.name for wanted in declared if not wanted.optional and wanted.name not in values)
    return Gathered(SecretValues(values), missing)


def missing_secrets_error(skill_name: str, missing: Sequence[str]) -> Refused:
    """Return the refusal to run a skill without the secrets that it needs."""
    needed = "the secret" if len(missing) == 1 else "the secrets"
    commands = ", ".join(f"`prowess secrets set {name}`" for name in missing)
    return Refused(f"skill '{skill_name}' needs {needed} {', '.join(missing)}", hint=commands, code="secret-missing")
