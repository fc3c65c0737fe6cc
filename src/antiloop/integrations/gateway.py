"""Requests to a model, judged where they pass: any agent, in any language.

Every request to an LLM API carries the conversation so far, so who sees the requests can find a
loop and need not know the agent.
"""

import logging
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Tuple

from ..formats import History
from ..loop_detection import LoopAction, LoopDetector, LoopMonitor, LoopVerdict
from ..loop_detection.messages import NOTICE_MARKER, system_notice
from ..loop_detection.text.shortening import visible
from ..loop_detection.verdict import GO_ON
from ..stability import beta
from .guard import reason_of, stopped
from .remembering_guard import RememberingGuard, block_of, is_found
from .shared.request_answers import Answer
from .shared.request_forms import FORMS, Form, Request

if TYPE_CHECKING:
    from ..agent import AgentObserver

_logger = logging.getLogger("antiloop")
_NO_TOOLS = (
    "No tool can be called now. Give your answer with what you have, and say what is missing."
)


@beta
@dataclass(frozen=True)
class JudgedRequest:
    """What is to be done with a request."""

    body: Mapping[str, Any]
    """What to send on: the request as it came, or changed."""
    answer: Optional[Answer] = None
    """What to answer instead, so that the model is not asked; None: send the body on."""
    verdict: LoopVerdict = GO_ON
    """What was found, and what is done about it."""


@beta
class GatewayGuard(RememberingGuard):
    """Judge the requests of any number of agents; see `Guard` for the other arguments.

    All is read off the conversation that a request carries. The guard remembers conversations only
    to judge their next requests faster; no verdict depends on it. Several threads may use it. Where
    no detector is given, it is that of antiloop.toml, if there is one from the working folder
    upwards.

    Args:
        detector, ignore, observers, across_turns: those of `Guard`.
        remembered_calls: the most calls that are remembered of all conversations together, as
            fingerprints, about 1.5 kB each; 0 for none. A conversation takes up to a window of
            calls, and 10 more.
    """

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
        across_turns: bool = False,
        remembered_calls: int = 20_000,
    ) -> None:
        detector = LoopDetector.from_file(preset="escalating") if detector is None else detector
        super().__init__(detector, ignore=ignore, observers=observers, across_turns=across_turns)
        self.remembered_calls = remembered_calls

    def judge_request(self, body: Mapping[str, Any], kind: str, run_id: str = "") -> JudgedRequest:
        """Judge a request, and say what is to be done with it; see `judge_request`.

        Args:
            body: the request.
            kind: its API.
            run_id: the run's id for observers.
        """
        request = self._request(body, kind)
        passed = self._passed(request, run_id)
        if passed is not None:
            return passed
        monitor = self.monitor(run_id)
        verdict = self.verdict_on(monitor, request.turn, run_id)
        return self._carried_out(request, self._seen(request, monitor, verdict, run_id))

    async def ajudge_request(
        self, body: Mapping[str, Any], kind: str, run_id: str = ""
    ) -> JudgedRequest:
        """Judge a request, and let the event loop go on meanwhile."""
        request = self._request(body, kind)
        passed = self._passed(request, run_id)
        if passed is not None:
            return passed
        monitor = self.monitor(run_id)
        verdict = await self.averdict_on(monitor, request.turn, run_id)
        return self._carried_out(request, self._seen(request, monitor, verdict, run_id))

    async def judge_or_pass(
        self, body: Mapping[str, Any], kind: str, run_id: str = ""
    ) -> JudgedRequest:
        """Judge a request; what goes wrong is logged, and the request is sent on as it came."""
        try:
            return await self.ajudge_request(body, kind, run_id)
        except Exception:
            _logger.exception("a request could not be judged; it is sent on as it came")
            return JudgedRequest(body)

    def _request(self, body: Mapping[str, Any], kind: str) -> Request:
        form = _form(kind)
        messages = form.to_judge(self.recent(form.conversation(body)))
        places = self.places(kind, messages)
        return Request(body, kind, messages, self.across_turns, places)

    def _passed(self, request: Request, run_id: str) -> Optional[JudgedRequest]:
        """Send a request on if there is nothing to look for, or known to be nothing to find."""
        verdict = self.known_verdict(request)
        if verdict is not None:
            self.tell(verdict, run_id)
        elif len(request.turn):
            return None
        return JudgedRequest(request.body)

    def _seen(
        self, request: Request, monitor: LoopMonitor, verdict: LoopVerdict, run_id: str
    ) -> LoopVerdict:
        """Report a verdict, and return it, or the block that is in force if it is to go on."""
        self.tell(verdict, run_id)
        acted_on = verdict if is_found(verdict) else block_of(monitor, request.turn)
        self.note(request, monitor, verdict if acted_on is GO_ON else None)
        return acted_on

    def _carried_out(self, request: Request, verdict: LoopVerdict) -> JudgedRequest:
        """Do what a verdict says."""
        body, form = request.body, request.form
        if verdict.action is LoopAction.NOTIFY:
            return JudgedRequest(form.with_message(body, self.notice(verdict)), verdict=verdict)
        if verdict.action is LoopAction.BLOCK:
            return JudgedRequest(_without_tools(form, body, verdict), verdict=verdict)
        if verdict.action.ends_run:
            return JudgedRequest(body, _answer(request, verdict), verdict)
        return JudgedRequest(body, verdict=verdict)


@beta
def judge_request(
    body: Mapping[str, Any],
    kind: str,
    detector: Optional[LoopDetector] = None,
    *,
    ignore: Iterable[str] = (),
    across_turns: bool = False,
) -> JudgedRequest:
    """Judge a request to an LLM API by the conversation that it carries.

    The calls since the user's last message are judged, and only when their results have come in.
    The request that is given stays as it is.

    Args:
        body: the request, as parsed JSON; one that cannot be read is sent on as it came.
        kind: its API: ``openai_chat``, ``openai_responses`` or ``anthropic``.
        detector: what looks for loops, and what is done about them; the escalating preset by
            default.
        ignore: names of tools whose calls do not count.
        across_turns: look at the whole conversation.

    Returns:
        Notify: a body with the notice at its end. Block: a body in which no tool may be called,
        and the model learns why. Stop: an answer that says why, in the format of the API. Raise: an
        error of the API, with the status 400. Otherwise the body as it came.

    Raises:
        ValueError: for another ``kind``.

    >>> judge_request({"messages": [{"role": "user", "content": "Go"}]}, "openai_chat").answer
    """
    detector = detector or LoopDetector.escalating()
    guard = GatewayGuard(detector, ignore=ignore, across_turns=across_turns, remembered_calls=0)
    return guard.judge_request(body, kind)


def _form(kind: str) -> Form:
    if kind not in FORMS:
        raise ValueError(f"unknown kind {kind!r}; choose from {', '.join(FORMS)}")
    return FORMS[kind]


def _without_tools(form: Form, body: Mapping[str, Any], verdict: LoopVerdict) -> Mapping[str, Any]:
    words = f"{NOTICE_MARKER} {visible(reason_of(verdict))}\n{_NO_TOOLS}"
    return form.without_tools(form.with_message(body, system_notice(words)))


def _answer(request: Request, verdict: LoopVerdict) -> Answer:
    body, is_error = request.body, verdict.action is LoopAction.RAISE
    options = body.get("stream_options")
    model = body.get("model")
    return Answer(
        request.kind,
        visible(reason_of(verdict)) if is_error else stopped(verdict),
        _key(request.turn, verdict),
        model if isinstance(model, str) else "",
        streamed=body.get("stream") is True,
        with_usage=isinstance(options, Mapping) and options.get("include_usage") is True,
        status=400 if is_error else 200,
    )


def _key(history: History, verdict: LoopVerdict) -> str:
    """Return a key of an answer: what was found, and where in which conversation."""
    ids: Tuple[Any, ...] = tuple(call.id for call in history.calls)
    found = verdict.detection.identity if verdict.detection else ""
    return sha256(repr((found, ids)).encode("utf-8", "backslashreplace")).hexdigest()[:24]
