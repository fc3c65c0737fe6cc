"""Requests to a model, judged where they pass: any agent, in any language.

Every request to an LLM API carries the conversation so far, so who sees the requests can find a
loop and need not know the agent.
"""

import logging
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Tuple

from ..formats import History
from ..formats.text_message import without_thoughts
from ..loop_detection import ChantDetector, LoopAction, LoopDetector, LoopMonitor, LoopVerdict
from ..loop_detection.messages import NOTICE_MARKER, system_notice
from ..loop_detection.text.shortening import visible
from ..loop_detection.verdict import GO_ON
from ..stability import beta
from .guard import Guard, reason_of, stopped
from .shared.first_look import is_all_new, needs_repetition
from .shared.request_answers import Answer
from .shared.request_forms import FORMS, Form

if TYPE_CHECKING:
    from ..agent import AgentObserver

_logger = logging.getLogger("antiloop")
_FEW_WORDS = ChantDetector().length
"""Characters of a text that is too short to repeat itself without end."""
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
class GatewayGuard(Guard):
    """Judge the requests of any number of agents; see `Guard` for its arguments.

    Nothing is remembered of a request: all is read off the conversation that it carries. Where no
    detector is given, it is that of antiloop.toml, if there is one from the working folder upwards.
    """

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
        across_turns: bool = False,
    ) -> None:
        detector = LoopDetector.from_file(preset="escalating") if detector is None else detector
        super().__init__(detector, ignore=ignore, observers=observers, across_turns=across_turns)
        # A judge may be asked about a round that is all new, too.
        self._needs_repetition = (
            needs_repetition(self.detector) and self.detector.second_opinion is None
        )

    def judge_request(self, body: Mapping[str, Any], kind: str, run_id: str = "") -> JudgedRequest:
        """Judge a request, and say what is to be done with it; see `judge_request`.

        Args:
            body: the request.
            kind: its API.
            run_id: the run's id for observers.
        """
        turn = self._turn(body, kind)
        if turn is None:
            return JudgedRequest(body)
        monitor = self.monitor(run_id)
        verdict = self.verdict_on(monitor, turn, run_id)
        return self._carried_out(body, kind, turn, self._seen(monitor, turn, verdict, run_id))

    async def ajudge_request(
        self, body: Mapping[str, Any], kind: str, run_id: str = ""
    ) -> JudgedRequest:
        """Judge a request, and let the event loop go on meanwhile."""
        turn = self._turn(body, kind)
        if turn is None:
            return JudgedRequest(body)
        monitor = self.monitor(run_id)
        verdict = await self.averdict_on(monitor, turn, run_id)
        return self._carried_out(body, kind, turn, self._seen(monitor, turn, verdict, run_id))

    async def judge_or_pass(
        self, body: Mapping[str, Any], kind: str, run_id: str = ""
    ) -> JudgedRequest:
        """Judge a request; what goes wrong is logged, and the request is sent on as it came."""
        try:
            return await self.ajudge_request(body, kind, run_id)
        except Exception:
            _logger.exception("a request could not be judged; it is sent on as it came")
            return JudgedRequest(body)

    def _carried_out(
        self, body: Mapping[str, Any], kind: str, history: History, verdict: LoopVerdict
    ) -> JudgedRequest:
        """Do what a verdict says."""
        form = _form(kind)
        if verdict.action is LoopAction.NOTIFY:
            return JudgedRequest(form.with_message(body, self.notice(verdict)), verdict=verdict)
        if verdict.action is LoopAction.BLOCK:
            return JudgedRequest(_without_tools(form, body, verdict), verdict=verdict)
        if verdict.action.ends_run:
            return JudgedRequest(body, _answer(body, kind, verdict, history), verdict)
        return JudgedRequest(body, verdict=verdict)

    def _turn(self, body: Mapping[str, Any], kind: str) -> Optional[History]:
        """Return the part of a request to judge; None if there is nothing to look for."""
        form = _form(kind)
        messages = self.recent(form.conversation(body))
        if not form.awaits_answer(messages):
            return None
        history = form.read(messages)
        turn = history if self.across_turns else history.last_turn()
        last = turn.last_round()
        if not len(last) or (self._needs_repetition and self._is_all_new(turn, last)):
            return None
        return turn

    def _is_all_new(self, turn: History, last: History) -> bool:
        """Whether the last reply cannot matter: all its results are new, and its words are few."""
        said = without_thoughts(turn.messages)
        is_long = any(
            len(each.text) > _FEW_WORDS and each.position >= len(turn) - len(last) for each in said
        )
        return not is_long and is_all_new(turn, last, self._ignored)

    def _seen(
        self, monitor: LoopMonitor, turn: History, verdict: LoopVerdict, run_id: str
    ) -> LoopVerdict:
        """Report a verdict, and return it, or the block that is in force if it is to go on."""
        self.tell(verdict, run_id)
        is_found = verdict.reported.action is not LoopAction.CONTINUE
        return verdict if is_found else _standing(monitor, turn.last_round())


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
    guard = GatewayGuard(
        detector or LoopDetector.escalating(), ignore=ignore, across_turns=across_turns
    )
    return guard.judge_request(body, kind)


def _form(kind: str) -> Form:
    if kind not in FORMS:
        raise ValueError(f"unknown kind {kind!r}; choose from {', '.join(FORMS)}")
    return FORMS[kind]


def _standing(monitor: LoopMonitor, last: History) -> LoopVerdict:
    """Return the block that a round ignores; go on if there is none."""
    verdicts: Sequence[LoopVerdict] = [monitor.before(call) for call in last.calls]
    return next((each for each in verdicts if each.action is LoopAction.BLOCK), GO_ON)


def _without_tools(form: Form, body: Mapping[str, Any], verdict: LoopVerdict) -> Mapping[str, Any]:
    words = f"{NOTICE_MARKER} {visible(reason_of(verdict))}\n{_NO_TOOLS}"
    return form.without_tools(form.with_message(body, system_notice(words)))


def _answer(body: Mapping[str, Any], kind: str, verdict: LoopVerdict, history: History) -> Answer:
    is_error = verdict.action is LoopAction.RAISE
    options = body.get("stream_options")
    model = body.get("model")
    return Answer(
        kind,
        visible(reason_of(verdict)) if is_error else stopped(verdict),
        _key(history, verdict),
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
