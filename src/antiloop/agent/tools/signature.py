"""A function's parameters: their JSON schema, and the call that a model's arguments make."""

import functools
import inspect
import sys
from enum import Enum
from types import SimpleNamespace
from typing import Any, Callable, Dict, Mapping, Optional

from ...trace import to_plain
from .annotations import annotation_schema, build_value, resolved_hints

# Defaults that a schema can show to a model; it cannot use a sentinel object.
_DEFAULTS = (str, int, float, bool, list, tuple, dict, Enum, type(None))
_NAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


class Signature:
    """What a function takes, read once.

    Args:
        function: any callable with a signature.
        descriptions: what to say about a parameter, by name.

    Raises:
        TypeError: if an annotation cannot be resolved.
    """

    def __init__(self, function: Callable[..., Any], descriptions: Mapping[str, str]) -> None:
        self._signature = inspect.signature(function)
        self._hints = _hints(function)
        self.schema = self._schema(descriptions)
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
        schema = annotation_schema(self._annotation(parameter))
        if isinstance(parameter.default, _DEFAULTS):
            schema["default"] = to_plain(parameter.default)
        if description:
            schema["description"] = description
        return schema

    def bind(self, arguments: Mapping[str, Any]) -> inspect.BoundArguments:
        """Return the call that these arguments make, enums and dataclasses built.

        Args:
            arguments: they fit the schema.
        """
        named = self._named
        bound = inspect.BoundArguments(self._signature, {})
        extra = {name: value for name, value in arguments.items() if name not in named}
        for name, parameter in named.items():
            if name in arguments:
                bound.arguments[name] = build_value(self._annotation(parameter), arguments[name])
        if self._catch_all is not None:
            bound.arguments[self._catch_all] = extra
        bound.apply_defaults()
        return bound


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
