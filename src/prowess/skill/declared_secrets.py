"""The secrets that a skill declares, and the names under which none is ever given to a run."""

import re
from collections.abc import Iterator

from prowess.skill.manifest import Behaviour, Secret
from prowess.skill.problems import Problem, make_problem

__all__ = ["declared_secrets", "find_name_fault", "is_secret_name", "judge_secrets"]

_SHOWN = 60
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_REFUSED_NAMES = frozenset(
    {
        # What a run is given in any case, and what says where things are.
        *("PATH", "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "HOSTNAME", "LANG", "LANGUAGE", "TZ", "TZDIR"),
        *("TERM", "TERMCAP", "TERMINFO", "TERMINFO_DIRS", "TMP", "TEMP", "TMPDIR", "VIRTUAL_ENV", "_"),
        # What makes a shell read or run more than the script.
        *(
            "ENV",
            "BASH_ENV",
            "BASHOPTS",
            "SHELLOPTS",
            "IFS",
            "CDPATH",
            "GLOBIGNORE",
            "PS4",
            "PROMPT_COMMAND",
            "ZDOTDIR",
        ),
        *("POSIXLY_CORRECT", "FPATH", "INPUTRC"),
        # What makes other interpreters do so.
        *("NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "PERLLIB", "RUBYOPT", "RUBYLIB", "GEM_HOME"),
        *("GEM_PATH", "BUNDLE_GEMFILE", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"),
        *(
            "LUA_INIT",
            "LUA_PATH",
            "LUA_CPATH",
            "PHPRC",
            "PHP_INI_SCAN_DIR",
            "R_PROFILE",
            "R_HOME",
            "DOTNET_STARTUP_HOOKS",
        ),
        # What makes the system's libraries load or find something else.
        *("GCONV_PATH", "GETCONF_DIR", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN"),
        *("RES_OPTIONS", "RESOLV_HOST_CONF", "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "SSL_CERT_FILE"),
        *("SSL_CERT_DIR", "SSLKEYLOGFILE"),
        # What names a program that others start, or a door to the host.
        *("EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS"),
        *("GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_TEMPLATE_DIR"),
        *("GIT_PROXY_COMMAND", "SSH_ASKPASS", "SSH_AUTH_SOCK", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS"),
    }
)
_REFUSED_BEGINNINGS = (
    *("LD_", "DYLD_", "MALLOC_", "LC_", "XDG_", "PYTHON", "PERL5", "BASH_FUNC_", "GIT_CONFIG", "NPM_CONFIG_"),
    *("PROWESS_", "_PROWESS", "__"),
)
"""Both without regard to case: what must never be set for a run at a skill's word."""


def declared_secrets(behaviour: Behaviour) -> tuple[Secret, ...]:
    """Return the secrets that a skill may be given, each once; those of `judge_secrets` are left out."""
    return tuple(declared for declared in _list_all(behaviour) if not find_name_fault(declared.name))


def judge_secrets(behaviour: Behaviour) -> Iterator[Problem]:
    """Return a Problem for each name that is declared and can never be set for a run."""
    for declared in _list_all(behaviour):
        if fault := find_name_fault(declared.name):
            yield make_problem("secret-name-refused", f"the variable '{declared.name[:_SHOWN]}' {fault}")


def _list_all(behaviour: Behaviour) -> list[Secret]:
    """Return all that is declared, each name once. A secret says more than a requirement, and so comes first."""
    declared: dict[str, Secret] = {}
    for secret in (*behaviour.secrets, *map(Secret, behaviour.requires.environment)):
        declared.setdefault(secret.name, secret)
    return [*declared.values()]


def find_name_fault(name: str) -> str:
    """Return why a variable of this name is never given to a run; empty if it may be."""
    if not is_secret_name(name):
        return "cannot be the name of a secret"
    if name.upper() in _REFUSED_NAMES or name.upper().startswith(_REFUSED_BEGINNINGS):
        return "steers the system or the interpreter, and is not given to scripts as a secret"
    return ""


def is_secret_name(name: str) -> bool:
    """Whether a variable can have this name."""
    return _NAME.fullmatch(name) is not None
