"""What the model can have done, and how each set of tools is called for it, classical tools and inline Python alike."""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from prowess.activation.tools import Tool
from prowess.agent.messages import ToolCall

__all__ = ["Act", "Activate", "Read", "Run", "Search", "Toolbox", "make_toolbox"]


@dataclass(frozen=True, slots=True)
class Search:
    """Look for skills."""

    query: str


@dataclass(frozen=True, slots=True)
class Activate:
    """Switch a skill on."""

    name: str
    arguments: str = ""
    prompt: str = ""
    """What a subagent is to do with it."""


@dataclass(frozen=True, slots=True)
class Read:
    """Read a file of a skill."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Run:
    """Run a script of a skill."""

    name: str
    script: str
    arguments: tuple[str, ...] = ()


Act = Search | Activate | Read | Run

_ROLES: dict[str, type[Act]] = {"search": Search, "activate": Activate, "read": Read, "run": Run}
_FUNCTIONS: dict[str, type[Act]] = {
    "search_skills": Search,
    "skill": Activate,
    "read_resource": Read,
    "run_script": Run,
}
"""What inline Python calls them."""
_PYTHON = "run_python"
_PYTHON_ROLE = "python"
_CODE = "code"
_MAX_CODE = 20_000
"""Characters of code that are looked at."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a request, by what they do."""

    tools: Mapping[type[Act], Tool] = field(default_factory=dict[type[Act], Tool])
    python: Tool | None = None
    """The tool that runs code, where there are no others."""

    def can(self, kind: type[Act]) -> bool:
        """Whether there is a tool for this."""
        return kind in self.tools or self.python is not None

    def takes(self, kind: type[Act], argument: str) -> bool:
        """Whether the tool for this has such an argument."""
        tool = self.tools.get(kind)
        if tool is None:
            return self.python is not None and argument != "prompt"  # There it is `arguments` that holds it.
        properties: object = tool.schema.get("properties")
        return not isinstance(properties, dict) or argument in properties

    def skill_names(self) -> tuple[str, ...]:
        """Return the names that the tool for activation takes, if it lists them."""
        tool = self.tools.get(Activate)
        match tool.schema if tool else {}:
            case {"properties": {"name": {"enum": names}}}:
                return _texts_of(cast("object", names))
            case _:
                return ()

    def runs_code(self, call: ToolCall) -> bool:
        """Whether a call is one of inline Python."""
        return self.python is not None and call.tool == self.python.name

    def only_activates(self, call: ToolCall) -> bool:
        """Whether a call is code that only prints what activations bring, whoever wrote it."""
        code = _parse_object(call.arguments).get(_CODE)
        if not self.runs_code(call) or not isinstance(code, str) or len(code) > _MAX_CODE:
            return False
        try:
            called = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        names = [function.id if isinstance(function, ast.Name) else "" for function in called]
        return bool(names) and all(name == "print" or _FUNCTIONS.get(name) is Activate for name in names)

    def make_call(self, act: Act, *, call_id: str) -> ToolCall:
        """Return the call for an act that can be done."""
        tool = self.tools.get(type(act))
        if tool is not None:
            given = {key: value for key, value in _fields(act).items() if self.takes(type(act), key)}
            return ToolCall(call_id, tool.name, _json(given))
        if self.python is None:
            raise LookupError(f"no tool does this: {act}")
        return ToolCall(call_id, self.python.name, _json({_CODE: _render_python(act)}))

    def read_call(self, call: ToolCall) -> Act | None:
        """Return what a call was for; None if it is for anything else, or cannot be read."""
        fields = _parse_object(call.arguments)
        if self.runs_code(call):
            code = fields.get(_CODE)
            return _parse_python(code) if isinstance(code, str) else None
        kind = next((kind for kind, tool in self.tools.items() if tool.name == call.tool), None)
        return None if kind is None else _make(kind, fields)


def make_toolbox(tools: Sequence[Tool]) -> Toolbox:
    """Return the tools by what they do, the first of each kind."""
    found: dict[type[Act], Tool] = {}
    for tool in tools:
        kind = _ROLES.get(tool.role.value)
        if kind is not None:
            found.setdefault(kind, tool)
    python = next((tool for tool in tools if tool.name == _PYTHON or tool.role.value == _PYTHON_ROLE), None)
    return Toolbox(found, None if found else python)


def _fields(act: Act) -> dict[str, Any]:
    """Return what a tool must be given: what is needed, and what is not empty."""
    match act:
        case Search(query):
            return {"query": query}
        case Activate(name, arguments, prompt):
            more = {"arguments": arguments, "prompt": prompt}
            return {"name": name} | {key: value for key, value in more.items() if value}
        case Read(name, path):
            return {"name": name, "path": path}
        case Run(name, script, arguments):
            return {"name": name, "script": script} | ({"arguments": list(arguments)} if arguments else {})


def _render_python(act: Act) -> str:
    function = next(name for name, kind in _FUNCTIONS.items() if kind is type(act))
    return f"print({function}({', '.join(f'{key}={value!r}' for key, value in _fields(act).items())}))"


def _parse_python(code: str) -> Act | None:
    """Return the act of code that was written above."""
    try:
        match ast.parse(code).body:
            case [ast.Expr(ast.Call(ast.Name("print"), [ast.Call(ast.Name(name), [], given)], []))]:
                fields = {one.arg: cast("object", ast.literal_eval(one.value)) for one in given if one.arg}
                return _make(_FUNCTIONS[name], fields) if name in _FUNCTIONS else None
            case _:
                return None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _make(kind: type[Act], fields: Mapping[str, object]) -> Act | None:
    """Return the act that the arguments of a call describe; None if what it needs is not there."""
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    try:
        if kind is Search:
            return Search(texts["query"])
        if kind is Activate:
            return Activate(texts["name"], texts.get("arguments", ""), texts.get("prompt", ""))
        if kind is Read:
            return Read(texts["name"], texts["path"])
        return Run(texts["name"], texts["script"], _texts_of(fields.get("arguments")))
    except KeyError:
        return None


def _texts_of(value: object) -> tuple[str, ...]:
    items = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _parse_object(text: str) -> dict[str, object]:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
