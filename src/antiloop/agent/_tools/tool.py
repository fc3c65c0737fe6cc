"""Tools: plain functions, described for the model."""

import functools
import inspect
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Mapping,
    Optional,
    Sequence,
    TypedDict,
    Union,
    overload,
)

from ..._checks import check_seconds, check_text
from ..._short_repr import quoted, short_repr
from ...loop_detection import ToolPolicy
from ...loop_detection._internal import KeyOption, StripRule
from ...stability import beta, stable
from .._config import check_prompt
from ..providers._protocol import ToolSchema
from .signature import Signature, parse_docstring

if TYPE_CHECKING:
    from typing_extensions import Unpack


@beta
class ToolOptions(TypedDict, total=False):
    """The options of `tool`: the description for the model and hints for loop detection."""

    name: Optional[str]
    """Name for the model; by default the function's name."""
    description: Optional[str]
    """Description for the model; by default the docstring before its first section."""
    timeout_s: Optional[float]
    """Limit of a call in seconds; None for the limit of the agent."""
    poll: Union[bool, Mapping[str, Sequence[Any]], None]
    """See `ToolPolicy`, also for the options below."""
    exempt: bool
    mutates: Optional[bool]
    idempotent: Optional[bool]
    key: Optional[KeyOption]
    strip: Optional[StripRule]
    thresholds: Mapping[str, int]


@beta
class Tool:
    """A function that the model may call; made by `tool`, and callable like the function.

    Args:
        function: sync or async.
        name: name for the model; by default the function's name.
        description: by default the docstring before its first section.
        timeout_s: limit of a call in seconds; None for the limit of the agent.
        declared: options of `ToolPolicy` for loop detection: ``poll=True``, ``mutates=False``,
            ``key=["url"]``, ...

    Raises:
        TypeError: if there is no name, as for a lambda, an annotation cannot be resolved, or an
            option is unknown or not of its type.
        ValueError: if `timeout_s` is not above 0, the name is blank, or an option has no meaning.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        timeout_s: Optional[float] = None,
        **declared: Any,
    ) -> None:
        if not callable(function):
            raise TypeError(f"a tool must be a function, got {function!r}")
        if name is None:
            name = getattr(function, "__name__", None)
        else:
            check_text("name", name)
        if not name or name == "<lambda>":
            raise TypeError(f"{function!r} has no name; give one with tool(name=...)")
        check_prompt("description", description)
        check_seconds("timeout_s", timeout_s, or_none=True)
        documented = parse_docstring(_docstring(function))
        functools.update_wrapper(self, function)
        self.function = function
        self.timeout_s = timeout_s
        self.policy: Optional[ToolPolicy] = ToolPolicy(**declared) if declared else None
        self.is_async: bool = _is_async(function)
        self.signature: Signature = Signature(function, documented.parameters)
        self.schema: ToolSchema = ToolSchema(
            name,
            documented.description if description is None else description,
            self.signature.schema,
        )

    @property
    def name(self) -> str:
        """The name that the model calls it by."""
        return self.schema.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, without checks, as if it were not decorated."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> "Tool":
        # A decorated method is a tool of its object, without `self` among the arguments.
        if instance is None:
            return self
        bound = Tool(
            MethodType(self.function, instance),
            name=self.name,
            description=self.schema.description,
            timeout_s=self.timeout_s,
        )
        bound.policy = self.policy
        return bound

    def __repr__(self) -> str:
        return short_repr(self, quoted(self.name))


@overload
def tool(function: Callable[..., Any], **options: "Unpack[ToolOptions]") -> Tool: ...


@overload
def tool(**options: "Unpack[ToolOptions]") -> Callable[[Callable[..., Any]], Tool]: ...


@stable
def tool(function: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
    """Make a tool of a function, as ``@tool`` or ``@tool(name=..., timeout_s=..., poll=True)``.

    The signature and the docstring, with its ``Args:`` section, describe the tool to the model. See
    `ToolOptions` for the options.

    >>> @tool
    ... def search(query: str, limit: int = 5) -> str:
    ...     "Find pages."
    >>> search.schema.parameters["required"]
    ['query']
    """
    if function is None:
        return lambda decorated: Tool(decorated, **options)
    return Tool(function, **options)


def _docstring(function: Callable[..., Any]) -> Optional[str]:
    """Return the function's own words, not those of `functools.partial` or an object's class."""
    while isinstance(function, functools.partial):
        function = function.func
    return function.__doc__


def _is_async(function: Callable[..., Any]) -> bool:
    target = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return any(kind(each) for kind in kinds for each in (function, target))
