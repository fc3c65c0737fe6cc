"""The requests of LLM APIs: where the conversation stands, and how it is added to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable, Dict, Iterator, List, Mapping, Sequence

from .._mistral import BRIDGE
from ..formats import History, from_anthropic, from_openai_chat, from_openai_responses
from ..formats._internal import anthropic, field_of, items_of, read_by, tag_of
from ..formats._internal import openai_responses as responses
from ..loop_detection import ClientProfile

_OTHERS = ClientProfile("", host_texts=("<system-reminder>",))
"""The profile of a client that is not known."""


@dataclass(frozen=True)
class ApiForm:
    """The form of the requests of one API."""

    place: str
    read: Callable[[Sequence[Any]], History]
    is_result: Callable[[Any], bool]
    """Whether a message gives what came back from a tool."""
    with_words: Callable[[Sequence[Any], str], List[Any]]
    """Adds words at the end of a conversation."""
    no_tools: Mapping[str, Any]
    """By field that names tools: what else is set so that no tool is called."""

    def conversation(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """Return the messages of a request; none where it has no list of them."""
        messages = body.get(self.place)
        return messages if isinstance(messages, (list, tuple)) else ()

    def profile(self, body: Mapping[str, Any], among: Sequence[ClientProfile]) -> ClientProfile:
        """Return what is known of the client that sends a request, by the tools that it offers."""
        tools = items_of(body.get("tools"))
        named = (tag_of(field_of(each, "function") or each, "name") for each in tools)
        return ClientProfile.of_tools(filter(None, named), among) or _OTHERS

    def to_judge(self, messages: Sequence[Any]) -> Sequence[Any]:
        """Return a conversation up to the results that came in; nothing if none came in last.

        A system message may follow them.
        """
        end = len(messages)
        while end and tag_of(messages[end - 1], "role") in _SYSTEM:
            end -= 1
        return messages[:end] if end and self.is_result(messages[end - 1]) else ()

    def with_message(
        self, body: Mapping[str, Any], words: str, *, has_bridge: bool
    ) -> Dict[str, Any]:
        """Return a request with a further message to the model.

        Args:
            body: the request.
            words: the message.
            has_bridge: whether the model has to speak between results and the message.
        """
        messages = body[self.place]
        if has_bridge and self.is_result(messages[-1]):
            messages = [*messages, _BRIDGE]
        return {**body, self.place: self.with_words(messages, words)}

    def without_tools(self, body: Mapping[str, Any]) -> Dict[str, Any]:
        """Return a request to which the model answers without a call.

        The tools stay: the conversation refers to them. A request that offers none is not changed:
        no API takes the one without the other.
        """
        chosen = {
            name: value
            for tools, more in self.no_tools.items()
            if body.get(tools)
            for name, value in more.items()
        }
        return {**body, **chosen}


_SYSTEM = ("system", "developer")
_BRIDGE = {"role": "assistant", "content": BRIDGE}


def _is_chat_result(message: Any) -> bool:
    return tag_of(message, "role") in ("tool", "function")


def _has_result(message: Any) -> bool:
    """Whether a client gives results; those of Anthropic's own tools are in the model's reply."""
    return tag_of(message, "role") == "user" and any(
        map(anthropic.is_result, anthropic.blocks_of(message))
    )


def _followed(messages: Sequence[Any], words: str) -> List[Any]:
    return [*messages, {"role": "user", "content": words}]


def _in_last_message(messages: Sequence[Any], words: str) -> List[Any]:
    """Add a block to the message of the results: two messages of the user are one turn."""
    *earlier, last = messages
    if not _has_result(last):
        return _followed(messages, words)
    return [*earlier, {**last, "content": [*last["content"], {"type": "text", "text": words}]}]


def _of_person(messages: Sequence[Any], profile: ClientProfile) -> Iterator[Any]:
    """Leave out what a client says by itself in the place of the user."""
    for message in messages:
        content = field_of(message, "content")
        if tag_of(message, "role") != "user" or not content:
            yield message
        elif isinstance(content, str):
            if not profile.is_of_host(content):
                yield message
        else:
            kept = [
                each for each in items_of(content) if not profile.is_of_host(tag_of(each, "text"))
            ]
            if kept:
                yield {**message, "content": kept}


FORMS: Mapping[str, ApiForm] = {
    "openai_chat": ApiForm(
        "messages",
        from_openai_chat,
        _is_chat_result,
        _followed,
        {"tools": {"tool_choice": "none"}, "functions": {"function_call": "none"}},
    ),
    "openai_responses": ApiForm(
        "input",
        from_openai_responses,
        responses.is_result,
        _followed,
        {"tools": {"tool_choice": "none"}},
    ),
    "anthropic": ApiForm(
        "messages",
        from_anthropic,
        _has_result,
        _in_last_message,
        {"tools": {"tool_choice": {"type": "none"}}},
    ),
}
"""By the name of the API."""


@dataclass(frozen=True)
class ApiRequest:
    """A request, and the messages of it that are judged."""

    body: Mapping[str, Any]
    kind: str
    messages: Sequence[Any]
    """The last messages, up to the results that came in; none if the model is not given results."""
    across_turns: bool
    """Whether the calls before the user's last message count."""

    profile: ClientProfile = _OTHERS

    @property
    def form(self) -> ApiForm:
        """The form of the requests of this API."""
        return FORMS[self.kind]

    @cached_property
    def history(self) -> History:
        """The conversation, as the client's profile shows it."""
        history = self.form.read(list(_of_person(self.messages, self.profile)))
        return read_by(self.profile, history)

    @cached_property
    def turn(self) -> History:
        """The calls that count."""
        return self.history if self.across_turns else self.history.last_turn()
