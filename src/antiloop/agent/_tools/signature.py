"""A function's parameters: their JSON schema, and the call that a model's arguments make."""

import functools
import inspect
import re
import sys
from enum import Enum
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from ..._json_schema import schema_errors
from ..._short_repr import error_text, said_by
from ..._text.canonical import json_or
from ..._trace import to_plain
from .annotations import annotation_schema, build_value
from .records import resolved_hints

# Defaults that a schema can show to a model; it cannot use a sentinel object.
_DEFAULTS = (str, int, float, bool, list, tuple, dict, Enum, type(None))
_NAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)

_ARGUMENTS = re.compile(r"^(args|arguments|parameters|params):$", re.IGNORECASE)
_SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns?|yields?|raises|examples?|notes?|see also):$"
    r"|^>>> ",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)]*\))?\s*:\s*(.*)$")


class Signature:
    """The parameters of a function, read once.

    Raises:
        TypeError: if an annotation cannot be resolved, or no JSON value can be turned into it.
    """

    def __init__(self, function: Callable[..., Any], descriptions: Mapping[str, str]) -> None:
        self._name = getattr(function, "__name__", repr(function))
        self._signature = inspect.signature(function)
        self._hints = _hints(function)
        self.schema: Dict[str, Any] = self._schema(descriptions)
        """JSON schema of the arguments, an object schema."""

    @property
    def _named(self) -> Dict[str, inspect.Parameter]:
        parameters = self._signature.parameters
        return {name: item for name, item in parameters.items() if item.kind in _NAMED}

    @property
    def _catch_all(self) -> Optional[str]:
        """Name of ``**kwargs``, if there is one."""
        for name, parameter in self._signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                return name
        return None

    def _schema(self, descriptions: Mapping[str, str]) -> Dict[str, Any]:
        named = self._named
        return {
            "type": "object",
            "properties": {
                name: self._parameter_schema(parameter, descriptions.get(name, ""))
                for name, parameter in named.items()
            },
            "required": [name for name, item in named.items() if item.default is item.empty],
            "additionalProperties": self._catch_all is not None,
        }

    def _annotation(self, parameter: inspect.Parameter) -> Any:
        annotation = self._hints.get(parameter.name, Any)
        # `limit: int = None` is old Python for Optional[int], and models do send null.
        return Optional[annotation] if parameter.default is None else annotation

    def _parameter_schema(self, parameter: inspect.Parameter, description: str) -> Dict[str, Any]:
        try:
            schema = annotation_schema(self._annotation(parameter))
        except TypeError as error:
            raise TypeError(f"parameter {parameter.name!r} of {self._name}: {error}") from error
        if isinstance(parameter.default, _DEFAULTS):
            schema["default"] = to_plain(parameter.default)
        if description:
            schema["description"] = description
        return schema

    def read(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the arguments with JSON in place of a text that holds it.

        Models write ``"3"`` for a number, and quote a whole object. A text that fits is left alone.
        """
        schemas = self.schema["properties"]
        return {
            name: _unquoted(value, schemas[name])
            if isinstance(value, str) and name in schemas
            else value
            for name, value in arguments.items()
        }

    def bind(self, arguments: Mapping[str, Any]) -> inspect.BoundArguments:
        """Return the call that these arguments make, enums and dataclasses built.

        Args:
            arguments: they fit the schema.

        Raises:
            ValueError: if a class refuses its values, in whatever way; it names the argument.
        """
        named = self._named
        bound = inspect.BoundArguments(self._signature, {})
        extra = {name: value for name, value in arguments.items() if name not in named}
        for name, parameter in named.items():
            if name in arguments:
                try:
                    value = build_value(self._annotation(parameter), arguments[name])
                except Exception as error:
                    said = said_by(error) or error_text(error)
                    raise ValueError(f"arguments.{name}: {said}") from error
                bound.arguments[name] = value
        if self._catch_all is not None:
            bound.arguments[self._catch_all] = extra
        bound.apply_defaults()
        return bound


def _unquoted(text: str, schema: Mapping[str, Any]) -> Any:
    if not schema_errors(text, schema, ""):
        return text
    value = json_or(text, text)
    return text if schema_errors(value, schema, "") else value


def _hints(function: Callable[..., Any]) -> Dict[str, Any]:
    """Resolve the parameters' annotations; what the function returns does not matter."""
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    if not hasattr(target, "__code__") and not inspect.isroutine(target):
        target = type(target).__call__
    target = inspect.unwrap(target)
    annotations = dict(getattr(target, "__annotations__", {}))
    annotations.pop("return", None)
    # A bare namespace: from a function, Python 3.9 makes Optional of what has the default None.
    stub = SimpleNamespace(__annotations__=annotations)
    module = sys.modules.get(getattr(target, "__module__", ""), SimpleNamespace())
    scope = getattr(target, "__globals__", vars(module))
    return resolved_hints(stub, getattr(target, "__qualname__", repr(target)), scope)


class Docstring(NamedTuple):
    """The content of a docstring."""

    description: str
    """Everything before the first section."""
    parameters: Dict[str, str]
    """The descriptions in the ``Args:`` section, by parameter."""


def parse_docstring(text: Optional[str]) -> Docstring:
    r"""Read a docstring; None is an empty one.

    >>> parse_docstring("Find pages.\n\nArgs:\n    query: what to\n        look for.")
    Docstring(description='Find pages.', parameters={'query': 'what to look for.'})
    """
    lines = inspect.cleandoc(text or "").splitlines()
    marks = [at for at, line in enumerate(lines) if _SECTION.match(line)] + [len(lines)]
    starts = [at for at in marks[:-1] if _ARGUMENTS.match(lines[at])]
    parameters: Dict[str, str] = {}
    for start in starts:
        end = next(at for at in marks if at > start)
        parameters.update(_entries(lines[start + 1 : end]))
    return Docstring("\n".join(lines[: marks[0]]).strip(), parameters)


def _entries(lines: List[str]) -> Dict[str, str]:
    """Read ``name: text`` entries; a line indented deeper than the first goes on with the last."""
    entries: Dict[str, List[str]] = {}
    name = ""
    body = [line for line in lines if line.strip()]
    for line in body:
        entry = _ENTRY.match(line.strip()) if _indent(line) <= _indent(body[0]) else None
        if entry:
            name = entry.group(1)
            entries[name] = [entry.group(2)]
        elif name:
            entries[name].append(line.strip())
    return {name: " ".join(parts).strip() for name, parts in entries.items()}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
