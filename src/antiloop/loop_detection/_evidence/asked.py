"""A call as it is compared: the user's declarations come first.

For equality, a call and a result are compared by their fingerprints alone, which are made once,
when they arrive. A resumed run has only the fingerprints of its earlier calls, so with any other
test of equality it would decide differently from a run without a break.
"""

import re
from typing import Any, NamedTuple

from ..._text.canonical import copied, parsed_arguments, plain, plain_json, text_of
from ...types import ToolCall
from .._profiles import NO_CLIENT, ClientProfile
from .comments import Comments
from .fingerprint import kept_name, short_call_fingerprint
from .noise import with_command_line
from .relayed import relayed
from .tool_policy import NO_POLICIES, NO_POLICY, Policies, ToolPolicy, declared
from .waiting import seems_to_wait, waited_for

_SPACES = re.compile(r'(?:(?<!\\)\\[nr]| ){1,9}"')
KEPT = 8_000
"""Characters of arguments, as JSON, that are kept at most for looser comparisons."""


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
        compared = copied(plain(declared(policy.compared_arguments, given, name, "key")))
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
    key = short_call_fingerprint(tool, equal if policy.key is not None else _trimmed(equal))
    return Asked(tool, key, arguments, compared, len(text) > KEPT, waits, policy, client)


def without_comments(asked: Asked, comments: Comments) -> Asked:
    """Return a call without the comments on it that are known."""
    # A key that the user declares is the last word, and a wait is compared by what it waits for.
    if asked.policy.key is not None or asked.waits:
        return asked
    compared = comments.without(asked.compared)
    if compared is asked.compared:
        return asked
    key = short_call_fingerprint(asked.tool, _trimmed(plain_json(compared)))
    return asked._replace(call=key, compared=compared)


def _trimmed(arguments: str) -> str:
    """Return arguments without the spaces and line breaks at the ends of their texts."""
    # In JSON without spaces, one before a quote is the end of a text.
    if ' "' in arguments or '\\n"' in arguments:
        return _SPACES.sub('"', arguments)
    return arguments
