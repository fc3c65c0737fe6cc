"""The parts of a call and of its result that are compared: the user's declarations come first.

For equality, a call and a result are compared by their fingerprints alone, which are made here,
once, when they arrive. A resumed run has only the fingerprints of its earlier calls, so with any
other test of equality it would decide differently from a run without a break.
"""

import logging
from typing import Any, Callable, Dict, Mapping, NamedTuple, Optional, Union, cast

from ..._text.canonical import copied, parsed_arguments, plain, plain_json, text_of
from ...types import ToolCall, ToolResult
from .._profiles import NO_CLIENT, ClientProfile
from .comments import Comments
from .fingerprint import KEY_LENGTH, kept_name, short_call_fingerprint, text_fingerprint
from .host_lines import HostLines
from .noise import with_command_line
from .outcome import SUCCESS, UNKNOWN, Outcome, outcome, reads_like_refusal
from .relayed import relayed
from .tool_policy import NO_POLICIES, NO_POLICY, Policies, ToolPolicy
from .waiting import seems_to_wait, waited_for
from .wrapping import is_object, unwrapped

Result = Union[ToolResult, str, None]
"""An entry of a list of results; None is an unknown result."""

KeyRule = Callable[[ToolCall, Optional[ToolResult]], Union[str, int, None]]
"""A function that a detector declares: what it compares of a call and its result (None where that
is unknown). A text is compared for equality, a whole number also by size; None is not compared."""

KEPT = 8_000
"""Characters of arguments, as JSON, that are kept at most for looser comparisons."""

MOST = 16**KEY_LENGTH - 1
"""The largest number that a key may be."""

# A key with digits might look like a random id, which is masked as noise.
_NO_DIGITS = str.maketrans("0123456789", "ghijklmnop")
_logger = logging.getLogger("antiloop")


class Asked(NamedTuple):
    """A call as it is compared, before its result is known, with what helps to read the result."""

    tool: str
    """The name of the tool, a very long one shortened."""
    call: str
    """The fingerprint: equal for equal calls. Waits are equal if they wait for the same."""
    arguments: Any
    """The arguments as plain JSON; there is no other reference to them."""
    compared: Any
    """Those of them that make calls equal: what the user declares, or all but comments."""
    is_long: bool
    """Whether the arguments are too long to be kept."""
    waits: bool
    """Whether the call waits for work elsewhere."""
    policy: ToolPolicy
    """The user's declarations about the tool."""
    client: ClientProfile
    """The program that runs the tool, as far as it is known."""


def asked_of(
    call: ToolCall, policies: Policies = NO_POLICIES, client: ClientProfile = NO_CLIENT
) -> Asked:
    """Read a call; never raises on what a model made.

    The arguments are copied, because the caller may change them in place at any time.

    Args:
        call: as the model made it.
        policies: the user's declarations, by tool.
        client: the program that runs the tool, as far as it is known.
    """
    name = call.tool_name if type(call.tool_name) is str else text_of(call.tool_name)
    # What a call does, all its arguments say; which calls are equal, those that are declared.
    arguments = parsed_arguments(call.arguments)
    policy = policies.get(name)
    if policy is None:  # else the user speaks of the tool that is called, whatever it hands on
        name, arguments = relayed(name, arguments)
        policy = policies.get(name, NO_POLICY)
    given = copied(arguments)
    arguments = compared = with_command_line(given)
    text = equal = plain_json(arguments)
    if policy.key is not None:
        compared = copied(plain(_declared(policy.compared_arguments, given, name, "key")))
    elif client.comments:
        compared = client.without_comments(name, arguments)
    if compared is not arguments:
        equal = plain_json(compared)
    tool = kept_name(name)
    wait = client.wait_in(name, arguments) if client.waits else None
    waits = wait is not None or seems_to_wait(tool, arguments)
    # A key that the user declares is the last word on which calls are equal.
    if waits and policy.key is None:
        handle = "" if wait is None else wait.waited_for(arguments)
        equal = plain_json(handle or waited_for(compared))
    key = short_call_fingerprint(tool, equal)
    return Asked(tool, key, arguments, compared, len(text) > KEPT, waits, policy, client)


def without_comments(asked: Asked, comments: Comments) -> Asked:
    """Return a call without the comments on it that are known."""
    # A key that the user declares is the last word, and a wait is compared by what it waits for.
    if asked.policy.key is not None or asked.waits:
        return asked
    compared = comments.without(asked.compared)
    if compared is asked.compared:
        return asked
    key = short_call_fingerprint(asked.tool, plain_json(compared))
    return asked._replace(call=key, compared=compared)


def is_refusal(result: Result) -> bool:
    """Whether a result reads like that of a refused call."""
    is_result = issubclass(type(result), ToolResult)
    return reads_like_refusal(text_of(cast(ToolResult, result).text if is_result else result))


class Answered(NamedTuple):
    """A result as it is read."""

    given: Optional[str] = None
    """Its text as it came, without what the user declares to be noise; None where it is not known.
    """
    text: Optional[str] = None
    """The same as it is compared, without what a host put around it."""
    outcome: Outcome = UNKNOWN


def answer_of(asked: Asked, result: Result, host: Optional[HostLines] = None) -> Answered:
    """Read a result and judge it; never raises on what a tool made.

    Args:
        asked: its call.
        result: the result, None where it is not known.
        host: what is known of the lines of the host; it learns from this answer.
    """
    if result is None:
        return Answered()
    text: Any = result
    is_error = False
    if issubclass(type(result), ToolResult):
        text, is_error = result.text, bool(result.is_error)  # type: ignore[union-attr]
    if type(text) is not str:
        # A loop written by hand may pass on what the tool returned: a list, a number, False.
        text = text_of(text)
    # Judged before anything is left out: what is noise to the user may be the exit code.
    kind = outcome(text, is_error, asked.arguments, asked.tool)
    policy = asked.policy
    if policy.strip is not None:
        text = text_of(_declared(policy.compared_text, text, asked.tool, "strip"))
    # Its call stands for its answer, so the same call brings nothing new, and another one does.
    if policy.idempotent and not kind.is_failure:
        text = asked.call.translate(_NO_DIGITS)
    bare = unwrapped(text)
    is_of_host = False
    if host is not None:
        left = host.without(bare, asked.tool, asked.call, asked.arguments)
        if left is not bare:
            bare, is_of_host = unwrapped(left), True
    if kind is SUCCESS and bare is not text:
        inside = outcome(bare, is_error, asked.arguments, asked.tool)
        # A tool's object that says of itself that it went well did not fail, whatever its words.
        kind = kind if inside.is_failure and not is_of_host and is_object(text) else inside
    return Answered(text, bare, kind)


class DeclaredKey:
    """A key that a detector declares.

    Args:
        detector: the name of the detector.
        name: the name of the key.
        rule: the function that gives what is compared.
    """

    def __init__(self, detector: str, name: str, rule: KeyRule) -> None:
        self.rule = rule
        self._named = f"key {name!r} of detector {detector!r}"
        self._has_raised = False

    def of(self, call: ToolCall, result: Optional[ToolResult]) -> Optional[str]:
        """Return what is kept of a call to compare it; None if the rule gives None, or raises."""
        try:
            value = self.rule(call, result)
            return None if value is None else key_of(value)
        except Exception:
            # A rule that does not fit raises at every call: its first error tells enough.
            if not self._has_raised:
                self._has_raised = True
                _logger.exception("%s raised: the call has none; this is logged once", self._named)
            return None


Keys = Mapping[str, DeclaredKey]
"""The keys that detectors declare, by name."""


def declared_keys(
    keys: Keys, asked: Asked, text: Optional[str], is_failure: bool
) -> Dict[str, Optional[str]]:
    """Compute the keys that detectors declare."""
    call = ToolCall(asked.tool, asked.arguments)
    result = None if text is None else ToolResult(text, is_failure)
    return {name: key.of(call, result) for name, key in keys.items()}


def key_of(value: Union[str, int]) -> str:
    """Return what is kept of a value to compare it: a fingerprint, or the digits of a number.

    Raises:
        ValueError: for another value, or a number below 0 or above `MOST`.

    >>> key_of(12) < key_of(13), len(key_of("text")) == len(key_of(13))
    (True, True)
    """
    if isinstance(value, str):
        return text_fingerprint(value)[:KEY_LENGTH]
    if not (isinstance(value, int) and 0 <= value <= MOST):
        raise ValueError(f"a key must be a text or a whole number from 0 to {MOST}, got {value!r}")
    return f"{value:0{KEY_LENGTH}x}"


def _declared(rule: Callable[[Any], Any], value: Any, tool: str, name: str) -> Any:
    """Apply a rule that the user declared; one that raises is left out and logged."""
    try:
        return rule(value)
    except Exception:
        _logger.exception("the %s= declared for tool %r raised; it is ignored", name, tool)
        return value
