"""The tools of one agent, and a call of the model made ready to run or refused."""

import inspect
import json
import sys
from dataclasses import dataclass, replace
from typing import Any, Awaitable, Callable, Dict, Iterable, Mapping, Optional, Tuple, Union

from ..._frozen import frozen, thawed
from ..._json_schema import schema_errors
from ..._short_repr import error_text, said_by, short_repr
from ...loop_detection import ToolPolicy
from ...types import ToolCall, ToolResult
from ..providers._protocol import ToolSchema
from .results import collected, is_collected, result_of
from .tool import Tool


@dataclass(frozen=True)
class Invocation:
    """One call that is ready to run."""

    call: ToolCall
    tool: Tool
    bound: inspect.BoundArguments
    """The arguments, checked and built."""
    timeout_s: Optional[float]

    def run(self) -> Union[ToolResult, Awaitable[Any]]:
        """Call the function; what it raises becomes its result.

        An async function, one in a sync wrapper too, gives what is to be handed to `finish`.
        """
        try:
            value = self.tool.function(*self.bound.args, **self.bound.kwargs)
            if is_collected(value):
                return collected(value)
            return value if inspect.isawaitable(value) else result_of(value)
        except Exception as error:  # noqa: BLE001 - the model gets to see it
            return error_result(self.call.tool_name, error)
        except BaseException as error:
            # A sync function is never cancelled here: an event loop inside it was.
            if not is_cancellation(error):
                raise
            return cancelled_result(self.call.tool_name)

    async def finish(self, outcome: Union[ToolResult, Awaitable[Any]]) -> ToolResult:
        """Await what `run` gave, where there is something to await."""
        try:
            value: Any = await outcome if inspect.isawaitable(outcome) else outcome
            return await collected(value) if is_collected(value) else result_of(value)
        except Exception as error:  # noqa: BLE001 - the model gets to see it
            return error_result(self.call.tool_name, error)

    async def arun(self) -> ToolResult:
        """Run an async function from beginning to end."""
        return await self.finish(self.run())


class Toolbox:
    """The tools of one agent, by name.

    Raises:
        ValueError: if two tools share a name.
        TypeError: for anything but a list of functions.
    """

    def __init__(self, tools: Iterable[Union[Tool, Callable[..., Any]]]) -> None:
        if isinstance(tools, (str, Tool)) or not hasattr(tools, "__iter__"):
            raise TypeError(f"tools must be a list of functions, got {tools!r}; pass [search]")
        self._tools: Dict[str, Tool] = {}
        for item in tools:
            made = item if isinstance(item, Tool) else Tool(item)
            if made.name in self._tools:
                raise ValueError(f"two tools are named {made.name!r}; give one another name")
            self._tools[made.name] = made

    def __repr__(self) -> str:
        return short_repr(self, ", ".join(self._tools))

    @property
    def schemas(self) -> Tuple[ToolSchema, ...]:
        """The tools as the model sees them, in the given order."""
        return tuple(
            replace(made.schema, parameters=frozen(made.schema.parameters))
            for made in self._tools.values()
        )

    @property
    def policies(self) -> Dict[str, ToolPolicy]:
        """The policies that the tools declare to loop detection, by name."""
        return {name: made.policy for name, made in self._tools.items() if made.policy}

    def prepare(
        self, call: ToolCall, timeout_s: Optional[float] = None
    ) -> Union[Invocation, ToolResult]:
        """Make a call ready to run, or say to the model what is wrong with it.

        Args:
            call: as the model asked for it.
            timeout_s: the limit of tools without one.
        """
        chosen = self._tools.get(call.tool_name)
        if chosen is None:
            names = ", ".join(self._tools) or "none"
            return _error(f"Unknown tool {call.tool_name!r}. Available tools: {names}.")
        try:
            arguments = chosen.signature.read(
                _parse_arguments(thawed(call.arguments))  # the tool's own
            )
            problems = schema_errors(arguments, chosen.signature.schema, "arguments")
            if problems:
                raise ValueError("; ".join(problems))
            bound = chosen.signature.bind(arguments)
        except Exception as error:  # noqa: BLE001 - a dataclass may refuse its values in any way
            problem = said_by(error) or error_text(error)
            return _error(f"Invalid arguments for tool {call.tool_name!r}: {problem}")
        limit = timeout_s if chosen.timeout_s is None else chosen.timeout_s
        return Invocation(call, chosen, bound, limit)


def error_result(tool_name: str, error: BaseException) -> ToolResult:
    """Return what a tool raised as the model reads it."""
    return _error(f"Tool {tool_name!r} failed: {error_text(error)}")


def timeout_result(tool_name: str, timeout_s: Optional[float]) -> ToolResult:
    """Return the result of a tool that took too long."""
    return _error(f"Tool {tool_name!r} timed out after {timeout_s:g} s.")


def cancelled_result(tool_name: str) -> ToolResult:
    """Return the result of an async tool that was cancelled, by itself or from inside."""
    return _error(f"Tool {tool_name!r} was cancelled.")


def is_cancellation(error: BaseException) -> bool:
    """Whether this is asyncio's cancellation, which is not an `Exception`."""
    asyncio = sys.modules.get("asyncio")  # what raises it has imported it
    return asyncio is not None and isinstance(error, asyncio.CancelledError)


def _error(text: str) -> ToolResult:
    return ToolResult(text, is_error=True)


def _parse_arguments(arguments: Any) -> Mapping[str, Any]:
    try:
        parsed = json.loads(arguments.strip() or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not valid JSON ({error})") from None
    if parsed is None:
        return {}
    if not isinstance(parsed, Mapping):
        raise ValueError(f"expected a JSON object, got {type(parsed).__name__}")
    return parsed
