"""Requests to a model, judged where they pass: any agent, in any language.

Every request to an LLM API carries the conversation so far, so who sees the requests can find a
loop and need not know the agent.
"""

import logging
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence, Tuple

from .._checks import check_choice
from .._mistral import is_of_mistral
from .._text.shortening import visible
from ..formats import History
from ..formats._internal import tag_of
from ..loop_detection import (
    ClientProfile,
    LoopAction,
    LoopDetector,
    LoopMonitor,
    LoopVerdict,
    system_notice,
)
from ..loop_detection._internal import NOTICE_MARKER, ProjectSettings
from ..stability import beta
from ._guard import Guard, reason_of, stopped
from ._request_answers import Answer
from ._request_forms import FORMS, ApiForm, ApiRequest

if TYPE_CHECKING:
    from ..agent import AgentObserver

__all__ = ["GatewayGuard", "JudgedRequest", "judge_request"]

_logger = logging.getLogger("antiloop")
_NO_TOOLS = (
    "No tool can be called now. Give your answer with what you have, and say what is missing."
)


@beta
@dataclass(frozen=True)
class JudgedRequest:
    """A request that was judged, with its verdict."""

    body: Mapping[str, Any] = field(hash=False)
    """The body to send on: the request as it came, or changed."""
    answer: Optional[Answer] = None
    """The answer to give instead, so that the model is not asked; None: send the body on."""
    verdict: LoopVerdict = field(default_factory=LoopVerdict)
    """The finding, and the action that follows from it."""


@beta
class GatewayGuard(Guard):
    """Judge the requests of any number of agents; see `Guard` for the other arguments.

    All is read off the conversation that a request carries, and nothing is remembered between two
    requests. Several threads may use it. The default detector is that of antiloop.toml in the
    working folder or a folder above it, if there is one.

    Args:
        detector, ignore, observers, across_turns: those of `Guard`.
        profiles: clients beside the known ones; of the same name, instead of them.
    """

    def __init__(
        self,
        detector: Optional[LoopDetector] = None,
        *,
        ignore: Iterable[str] = (),
        observers: "Iterable[AgentObserver]" = (),
        across_turns: bool = False,
        profiles: Iterable[ClientProfile] = (),
    ) -> None:
        own = {each.name: each for each in profiles}
        if detector is None:
            settings = ProjectSettings.read()
            detector = settings.detector(LoopDetector, "escalating")
            own = {**settings.profiles, **own}
        known = {each.name: each for each in ClientProfile.all()}
        self._profiles = tuple({**known, **own}.values())
        super().__init__(detector, ignore=ignore, observers=observers, across_turns=across_turns)

    def judge_request(self, body: Mapping[str, Any], kind: str, run_id: str = "") -> JudgedRequest:
        """Judge a request, and say what is to be done with it; see `judge_request`.

        Args:
            body: the request.
            kind: its API.
            run_id: the run's id for observers.
        """
        request = self._request(body, kind)
        if not len(request.turn):
            return JudgedRequest(body)
        monitor = self.monitor(run_id, request.profile)
        verdict = self.verdict_on(monitor, request.history, run_id)
        return self._carried_out(request, monitor, verdict, run_id)

    async def ajudge_request(
        self, body: Mapping[str, Any], kind: str, run_id: str = ""
    ) -> JudgedRequest:
        """Judge a request, and let the event loop go on meanwhile."""
        request = self._request(body, kind)
        if not len(request.turn):
            return JudgedRequest(body)
        monitor = self.monitor(run_id, request.profile)
        verdict = await self.averdict_on(monitor, request.history, run_id)
        return self._carried_out(request, monitor, verdict, run_id)

    async def _judge_or_pass(
        self, body: Mapping[str, Any], kind: str, run_id: str = ""
    ) -> JudgedRequest:
        """Judge a request; what goes wrong is logged, and the request is sent on as it came."""
        try:
            return await self.ajudge_request(body, kind, run_id)
        except Exception:
            _logger.exception("a request could not be judged; it is sent on as it came")
            return JudgedRequest(body)

    def _request(self, body: Mapping[str, Any], kind: str) -> ApiRequest:
        form = _form(kind)
        if not isinstance(body, Mapping):
            return ApiRequest(body, kind, (), self.across_turns)
        messages = form.to_judge(self.recent(form.conversation(body)))
        return ApiRequest(
            body, kind, messages, self.across_turns, form.profile(body, self._profiles)
        )

    def _carried_out(
        self, request: ApiRequest, monitor: LoopMonitor, verdict: LoopVerdict, run_id: str
    ) -> JudgedRequest:
        """Report a verdict, and do what it says; where it says to go on, a block stays in force."""
        self.tell(verdict, run_id, monitor)
        body, form = request.body, request.form
        if verdict.decision.action is LoopAction.CONTINUE:
            verdict = _block_of(monitor, request.turn)
        if verdict.action is LoopAction.NOTIFY:
            return JudgedRequest(self._with_words(request, self.notice(verdict)), verdict=verdict)
        if verdict.action is LoopAction.BLOCK:
            sent = self._with_words(request, _no_tools(verdict))
            return JudgedRequest(form.without_tools(sent), verdict=verdict)
        if verdict.action is LoopAction.CONCLUDE and not self._was_concluded(request):
            sent = self._with_words(request, self.notice(verdict))
            return JudgedRequest(form.without_tools(sent), verdict=verdict)
        if verdict.action.ends_run:
            return JudgedRequest(body, _answer(request, verdict), verdict)
        return JudgedRequest(body, verdict=verdict)

    def _with_words(self, request: ApiRequest, words: str) -> Mapping[str, Any]:
        has_bridge = any(map(is_of_mistral, self._models_of(request.body)))
        return request.form.with_message(request.body, words, has_bridge=has_bridge)

    def _models_of(self, body: Mapping[str, Any]) -> Sequence[str]:
        """Return the names of the models that may answer a request."""
        return [tag_of(body, "model")]

    def _was_concluded(self, request: ApiRequest) -> bool:
        """Whether the model was asked for its last words before, and called tools all the same."""
        history = request.history
        earlier = history.until(len(history) - len(history.last_round()))
        verdicts = self.verdicts(self.monitor(client=request.profile), earlier)
        return any(each.action is LoopAction.CONCLUDE for each in verdicts)


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
        and the model learns why. Conclude: such a body, in which the model is asked for its last
        words; if it calls a tool all the same, the next request is stopped. Stop: an answer that
        says why, in the format of the API. Raise: an error of the API, with the status 400.
        Otherwise the body as it came.

    Raises:
        ValueError: for another ``kind``.
        TypeError: if it is not a text, or the detector is not a `LoopDetector`.

    >>> judge_request({"messages": [{"role": "user", "content": "Go"}]}, "openai_chat").answer
    """
    if detector is None:
        detector = LoopDetector.escalating()
    guard = GatewayGuard(detector, ignore=ignore, across_turns=across_turns)
    return guard.judge_request(body, kind)


def _block_of(monitor: LoopMonitor, history: History) -> LoopVerdict:
    """Return the block that the last round of a history ignores; go on if there is none."""
    verdicts = (monitor.before(call) for call in history.last_round().calls)
    return next((each for each in verdicts if each.action is LoopAction.BLOCK), LoopVerdict())


def _form(kind: str) -> ApiForm:
    check_choice("kind", kind, FORMS)
    return FORMS[kind]


def _no_tools(verdict: LoopVerdict) -> str:
    return system_notice(f"{NOTICE_MARKER} {visible(reason_of(verdict))}\n{_NO_TOOLS}")


def _answer(request: ApiRequest, verdict: LoopVerdict) -> Answer:
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
