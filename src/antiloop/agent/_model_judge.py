"""A judge that asks a model."""

import json
from typing import Any, Iterator, List, Optional

from .._checks import check_seconds
from .._short_repr import short_repr
from ..loop_detection import CaseFile, Opinion
from ..loop_detection._internal import recorded_opinion
from ..stability import beta
from ..types import Message, Role
from .providers._protocol import ModelReply, ModelRequest, Provider

_LONGEST = 20_000
"""Characters of a reply that are read: an answer is short."""
_DECODE = json.JSONDecoder().raw_decode


@beta
class ModelJudge:
    """Ask a model whether a run is stuck; pass it as ``second_opinion``.

    Use a small, cheap model, not the model of the agent. It receives `CaseFile.prompt` and no
    tools, and answers with a small JSON object. An unreadable answer counts as no opinion.

    Args:
        provider: the model; any provider that an `Agent` accepts.
        timeout: largest time for a reply in seconds; None leaves only the limit of `SecondOpinion`.

    Raises:
        TypeError: if the provider cannot be asked.
        ValueError: if the timeout is not above 0.

    >>> from antiloop.agent import ScriptedProvider
    >>> judge = ModelJudge(ScriptedProvider(['{"stuck": true, "confidence": 0.8, "reason": "."}']))
    >>> judge(CaseFile("r", 9, 0.6)).stuck
    True
    """

    def __init__(self, provider: Provider, timeout: Optional[float] = 30.0) -> None:
        for name in ("complete", "acomplete"):
            if isinstance(provider, type) or not callable(getattr(provider, name, None)):
                raise TypeError(f"the provider must have the method {name}, got {provider!r}")
        check_seconds("timeout", timeout, or_none=True)
        self._provider = provider
        self.timeout = timeout

    def __repr__(self) -> str:
        return short_repr(self, type(self._provider).__name__)

    def __call__(self, case: CaseFile) -> Optional[Opinion]:
        """Ask, and wait for the answer."""
        if self.timeout is None:
            return _opinion_in(self._provider.complete(_request(case)), case)
        from ._drivers.threads import start_in_thread

        asked = start_in_thread(lambda: self._provider.complete(_request(case)))
        return _opinion_in(asked.result(self.timeout), case)

    async def acall(self, case: CaseFile) -> Optional[Opinion]:
        """Ask without blocking the event loop."""
        import asyncio

        asked = self._provider.acomplete(_request(case))
        return _opinion_in(await asyncio.wait_for(asked, self.timeout), case)


def _request(case: CaseFile) -> ModelRequest:
    return ModelRequest((Message(Role.USER, case.prompt()),))


def _opinion_in(reply: Any, case: CaseFile) -> Optional[Opinion]:
    if not isinstance(reply, ModelReply) or not isinstance(reply.text, str):
        return None
    return read_opinion(reply.text, case.prompt())


def read_opinion(text: str, asked: str) -> Optional[Opinion]:
    """Read the one answer in a reply; None if there is none, or where answers disagree.

    JSON that also occurs in the prompt is a quotation, not an answer.
    """
    found: List[Opinion] = []
    for value, written in _objects(text[:_LONGEST]):
        # An opinion is certain by default; a model has to say how certain it is.
        opinion = recorded_opinion(value) if "confidence" in value else None
        if opinion is not None and written not in asked:
            found.append(opinion)
    same = {opinion.stuck for opinion in found}
    return found[-1] if len(same) == 1 else None


def _objects(text: str) -> "Iterator[tuple[Any, str]]":
    """Yield the JSON objects in a text, together with their source text."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODE(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value, text[at:end]
        at = text.find("{", end)
