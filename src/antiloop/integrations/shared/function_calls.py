"""What a call of a Python function is, and how it is refused, as its signature tells."""

import inspect
from typing import Any, Callable, Dict, Optional

from ...exceptions import CallRefused
from ...types import ToolCall

_GIVES_TEXT = (inspect.Signature.empty, str, "str", Any, "Any")


def name_of(function: Callable[..., Any]) -> str:
    """Name a function, or what else can be called, by its kind."""
    return str(getattr(function, "__name__", type(function).__name__))


def refuser_of(function: Callable[..., Any]) -> Callable[[str], str]:
    """Return what handles a refusal: return its text if the function returns text, else raise."""

    def refuse(text: str) -> str:
        raise CallRefused(text)

    signature = _signature(function)
    gives_text = signature is None or signature.return_annotation in _GIVES_TEXT
    return str if gives_text else refuse


def call_maker_of(function: Callable[..., Any]) -> Callable[[Any, Any], ToolCall]:
    """Return what makes a call of arguments, the same by position and by name."""
    name, signature = name_of(function), _signature(function)

    def call_of(args: Any, kwargs: Any) -> ToolCall:
        return ToolCall(name, _arguments(signature, args, kwargs))

    return call_of


def _arguments(signature: Optional[inspect.Signature], args: Any, kwargs: Any) -> Dict[str, Any]:
    as_given = {"args": args, **kwargs} if args else dict(kwargs)
    if signature is None:
        return as_given
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return as_given  # the function will say so itself
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    for position, parameter in enumerate(signature.parameters.values()):
        if not position and parameter.name in ("self", "cls"):
            del arguments[parameter.name]
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(arguments.pop(parameter.name))
    return arguments


def _signature(function: Callable[..., Any]) -> Optional[inspect.Signature]:
    """Read what a function takes; some of those written in C do not tell."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None
