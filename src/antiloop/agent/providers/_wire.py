"""The means to read a reply off the wire, and to write the texts of a request, for every provider.

Pure functions. What a model or a server produced never makes them raise.
"""

from typing import Any, List, Mapping, Optional, Sequence

from ..._frozen import frozen
from ..._text.masking import SECRETS
from ..._trace import to_plain
from ._protocol import StreamItem, Thought

_GROWS = ("text", "summary", "data", "signature")
"""Fields of a block that come in pieces."""
SCHEMA_PROMPT = (
    "When you give your final answer, give one JSON value that meets this JSON schema and nothing "
    "else, no prose and no code fence:\n"
)


def part(thing: Any, name: str) -> Any:
    """Return a member of an SDK object or a mapping, or None.

    The SDKs build their objects without checking them, so what a lenient server left out is
    missing, and what it added as an object may be a plain dict.
    """
    if isinstance(thing, Mapping):
        return thing.get(name)
    return getattr(thing, name, None)


def number(thing: Any, name: str) -> int:
    """Return a member that should be a count; 0 if it is not one."""
    value = part(thing, name)
    return value if isinstance(value, int) else 0


def words(thing: Any, name: str) -> str:
    """Return a member that should be a text; empty if it is not one."""
    value = part(thing, name)
    return value if isinstance(value, str) else ""


def items(thing: Any, name: str) -> Sequence[Any]:
    """Return a member that should be a list; empty if it is not one."""
    value = part(thing, name)
    return value if isinstance(value, (list, tuple)) else ()


def index_of(thing: Any) -> Optional[int]:
    """Return the place of a piece of a stream, or None."""
    value = part(thing, "index")
    return value if isinstance(value, int) else None


def clean(text: str) -> str:
    """Return the text without lone surrogates, which no JSON request can carry as UTF-8.

    File names and the output of processes bring them in.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def plain(thing: Any) -> Any:
    """Return an SDK object as the JSON that it was made of, unknown fields included."""
    dump = getattr(thing, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_unset=True) if callable(dump) else thing


def stream_items(text: str, thought: str) -> List[StreamItem]:
    """Return what an event of a stream brought, without what is empty."""
    thoughts: List[StreamItem] = [Thought(thought)] if thought else []
    return [*thoughts, text] if text else thoughts


def joined(known: Any, more: Any) -> Any:
    """Return what two pieces of a stream say together: texts, or lists of blocks.

    The pieces of one block share its type and its ``index``, and servers want the whole block back.

    >>> joined([{"index": 0, "text": "So"}], [{"index": 0, "text": "?"}, {"index": 1, "text": "A"}])
    [{'index': 0, 'text': 'So?'}, {'index': 1, 'text': 'A'}]
    """
    if not isinstance(known, list):
        return known + more
    blocks = list(known)
    for each in more:
        last = blocks[-1] if blocks else None
        place = (index_of(each), part(each, "type"))
        if place[0] is not None and place == (index_of(last), part(last, "type")):
            blocks[-1] = _grown(last, each)
        else:
            blocks.append(each)
    return blocks


def _grown(block: Any, more: Any) -> Any:
    texts = {name: words(block, name) + words(more, name) for name in _GROWS}
    return {**block, **more, **{name: text for name, text in texts.items() if text}}


def thought_of(delta: Any) -> str:
    """Return what the model thinks in a piece of a chat completion.

    A server that says it in several fields says the same in all of them.
    """
    said = words(delta, "reasoning_content") or words(delta, "reasoning")
    details = () if said else items(delta, "reasoning_details")
    return said + "".join(words(each, "text") or words(each, "summary") for each in details)


def length_text(limit: str) -> str:
    """Say that a reply was cut off for its length, and what to do.

    Args:
        limit: the option that limits it, e.g. ``"max_tokens=77"``; empty for the model's own limit.
    """
    if limit:
        return f"the reply was cut off at {limit}; raise it in the options of the provider"
    return (
        "the reply was cut off at the most tokens that the model allows; "
        "shorten the conversation, or ask for less at once"
    )


def opaque(provider: str, **data: Any) -> Optional[Mapping[str, Any]]:
    """Return provider data of what was found, or None for nothing."""
    found = {name: value for name, value in data.items() if value}
    kept: Mapping[str, Any] = frozen(to_plain({"provider": provider, **found}))
    return kept if found else None


def own_data(data: Any, provider: str) -> Mapping[str, Any]:
    """Return a message's or a call's provider data, empty if it is of another provider."""
    is_own = isinstance(data, Mapping) and data.get("provider") == provider
    return data if is_own else {}


def shows_compaction(data: Any) -> bool:
    """Whether provider data says that the API has cut the context down before the reply."""
    listed = data.values() if isinstance(data, Mapping) else ()
    kept = (each for some in listed if isinstance(some, (list, tuple)) for each in some)
    return any(
        part(each, "type") == "compaction"
        and bool(part(each, "content") or part(each, "encrypted_content"))
        for each in kept
    )


def shortened(answer: Any, limit: int = 300) -> str:
    """Return an unusable answer for an error's text: what it says went wrong, else all of it."""
    # Masked before it is cut: half a secret would not be recognized as one.
    text = SECRETS.text(repr(part(answer, "error") or answer))
    return text if len(text) <= limit else text[:limit] + "..."
