"""Plain functions, sync and async: tools of a loop that we know nothing of."""

import functools
import inspect
from typing import Any, Awaitable, Callable, Dict, Optional, Tuple, TypeVar, cast, overload

from ..exceptions import CallRefused
from ..formats._internal import text_of
from ..stability import beta, stable
from ..types import ToolCall, ToolResult
from ._call_guard import CallGuard

__all__ = ["GuardedFunctions", "LoopGuard", "guarded"]

_GIVES_TEXT = (inspect.Signature.empty, str, "str", Any, "Any")
_F = TypeVar("_F", bound=Callable[..., Any])


@stable
class LoopGuard(CallGuard):
    r"""Decorator for the functions of one run; see `CallGuard` for its arguments.

    ``with guard:`` begins another run. A guarded function has its guard as `guard`.

    A refused call does not run. If a function returns text, by its annotation or without one, the
    call returns the refusal; for another function it raises `CallRefused`. A notice is added below
    the next text that is returned, or is fetched by `take_notice`. The
    call that ends a round in which a loop is found raises `LoopDetectedError` if the run should
    end; a function's own exceptions are recorded as failures and pass.

    >>> guard = LoopGuard()
    >>> @guard
    ... def search(query):
    ...     return "No results."
    >>> [search("refunds")[:20] for attempt in range(4)]
    ['No results.', 'No results.', 'No results.\n\n<system', 'No results.']
    >>> search(query="refunds")
    Traceback (most recent call last):
    antiloop.exceptions.LoopDetectedError: Tool 'search' was called 5 times in a row...
    """

    def __call__(self, function: _F) -> _F:
        """Return the function with its calls watched.

        Raises:
            TypeError: if it is not a function, it has no name, as a lambda, or it yields.
        """
        if not callable(function):
            raise TypeError(
                f"{function!r} cannot be called; put @guard below @classmethod and @staticmethod"
            )
        name = getattr(function, "__name__", "<lambda>")
        if name == "<lambda>":  # two of them would be one tool
            raise TypeError(f"{function!r} has no name; set its __name__, or define it with def")
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{name} yields; guard a function that returns its result")
        is_async = inspect.iscoroutinefunction(function)
        guarded_function = self._async(function) if is_async else self._sync(function)
        functools.update_wrapper(guarded_function, function)
        guarded_function.guard = self
        return cast(_F, guarded_function)

    def __enter__(self) -> "LoopGuard":
        self.reset()
        return self

    def __exit__(self, *raised: object) -> None:
        """End the run; its verdict can still be read."""

    def _sync(self, function: Callable[..., Any]) -> Any:
        call_of, refuse = _call_maker_of(function), _refuser_of(function)

        def guarded_function(*args: Any, **kwargs: Any) -> Any:
            call = call_of(args, kwargs)
            refusal = self.begin(call)
            if refusal is not None:
                self.end(call, refusal)
                return refuse(refusal.text)
            try:
                value = function(*args, **kwargs)
            except BaseException as error:
                self.fail(call, error)
                raise
            if inspect.isawaitable(value):
                return self._awaited(call, lambda: value)
            self.end(call, ToolResult(text_of(value)))
            return self._with_notice(value)

        return guarded_function

    def _async(self, function: Callable[..., Any]) -> Any:
        call_of, refuse = _call_maker_of(function), _refuser_of(function)

        async def guarded_function(*args: Any, **kwargs: Any) -> Any:
            call = call_of(args, kwargs)
            refusal = await self.abegin(call)
            if refusal is not None:
                await self.aend(call, refusal)
                return refuse(refusal.text)
            return await self._awaited(call, lambda: function(*args, **kwargs))

        return guarded_function

    async def _awaited(self, call: ToolCall, start: Callable[[], Awaitable[Any]]) -> Any:
        try:
            given = await start()
        except BaseException as error:
            await self.afail(call, error)
            raise
        await self.aend(call, ToolResult(text_of(given)))
        return self._with_notice(given)

    def _with_notice(self, value: Any) -> Any:
        notice = self.take_notice() if isinstance(value, str) else ""
        return f"{value}\n\n{notice}" if notice else value


@beta
class GuardedFunctions(Tuple[Any, ...]):
    """Functions of one run, in the order given; ``with`` begins the run."""

    def __enter__(self) -> "GuardedFunctions":
        self[0].guard.reset()
        return self

    def __exit__(self, *raised: object) -> None:
        """End the run; its verdict can still be read."""


@overload
def guarded(**options: Any) -> LoopGuard: ...
@overload
def guarded(function: _F, /, **options: Any) -> _F: ...
@overload
def guarded(
    function: Callable[..., Any], /, *functions: Callable[..., Any], **options: Any
) -> GuardedFunctions: ...
@beta
def guarded(*functions: Callable[..., Any], **options: Any) -> Any:
    """Guard functions as one run, as a short form of `LoopGuard`.

    Args:
        functions: one function comes back guarded, so that this is a decorator; several come back
            as a tuple that works in a ``with``; without any the decorator comes back.
        options: those of `LoopGuard`.
    """
    guard = LoopGuard(**options)
    if not functions:
        return guard
    made = tuple(map(guard, functions))
    return made[0] if len(made) == 1 else GuardedFunctions(made)


def _refuser_of(function: Callable[..., Any]) -> Callable[[str], str]:
    """Return what handles a refusal: return its text if the function returns text, else raise."""

    def refuse(text: str) -> str:
        raise CallRefused(text)

    signature = _signature(function)
    gives_text = signature is None or signature.return_annotation in _GIVES_TEXT
    return str if gives_text else refuse


def _call_maker_of(function: Callable[..., Any]) -> Callable[[Any, Any], ToolCall]:
    """Return what makes a call of arguments, the same by position and by name."""
    name, signature = str(function.__name__), _signature(function)

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
