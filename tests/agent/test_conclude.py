"""The last words of a run that is ended, and the user's own function beside a notice."""

import asyncio
import threading

import pytest

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    Escalation,
    LoopAction,
    LoopDetector,
    RepeatDetector,
    RunStatus,
    ScriptedProvider,
    StepType,
    ToolCall,
)
from antiloop.agent import ModelReply, ReplyEnd, _core
from antiloop.exceptions import ProviderError
from antiloop.loop_detection import ChantDetector

SEARCH = ToolCall("search", {"query": "cats"}, "1")


def search(query: str) -> str:
    """Search."""
    return "Nothing."


class Model:
    """Repeats a call for as long as it may call, and then says its last words."""

    def __init__(self, last="I found nothing; the index may be empty.", name=""):
        self.last = last
        self.requests = []
        self.name = name

    def complete(self, request):
        self.requests.append(request)
        if request.may_call:
            return ModelReply("", (SEARCH,))
        if isinstance(self.last, Exception):
            raise self.last
        return self.last if isinstance(self.last, ModelReply) else ModelReply(self.last)

    async def acomplete(self, request):
        return self.complete(request)

    def stream(self, request):
        reply = self.complete(request)
        yield from reply.text.split(" ")
        yield reply

    async def astream(self, request):
        for item in self.stream(request):
            yield item


async def _streamed(agent):
    return [event async for event in agent.astream("Go")][-1].result


WAYS = {
    "run": lambda agent: agent.run("Go"),
    "stream": lambda agent: list(agent.stream("Go"))[-1].result,
    "arun": lambda agent: asyncio.run(agent.arun("Go")),
    "astream": lambda agent: asyncio.run(_streamed(agent)),
}


def agent_over(model, ladder, **options):
    detector = LoopDetector([RepeatDetector(3)], ladder, **options)
    return Agent([search], model, AgentConfig(loop_detector=detector))


@pytest.mark.parametrize("way", WAYS)
def test_the_model_has_the_last_word_without_its_tools(way):
    model = Model()
    result = WAYS[way](agent_over(model, Escalation(("notify", "conclude"))))
    assert (result.status, result.text) == (RunStatus.LOOP_DETECTED, model.last)
    assert result.detection.detector_name == "repeat"
    *before, last = model.requests
    assert [request.may_call for request in before] == [True] * 4
    assert last.tools == before[0].tools
    asked = last.messages[-1].content
    assert asked.startswith("[antiloop] Notice: Tool 'search'") or "search" in asked
    assert "what is still missing" in asked
    assert result.messages[-1].content == model.last
    actions = [step.data["action"] for step in result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)]
    assert actions == ["notify", "conclude"]
    assert len(result.tool_calls) == 4


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_calls_all_the_same_is_not_heard(way):
    model = Model(ModelReply("Once more.", (SEARCH,)))
    result = WAYS[way](agent_over(model, Escalation(("conclude",))))
    assert (result.text, len(result.tool_calls)) == ("Once more.", 3)
    assert result.messages[-1].tool_calls == ()


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_cannot_be_asked_ends_the_run_all_the_same(way, caplog):
    model = Model(ProviderError("status 503"))
    result = WAYS[way](agent_over(model, Escalation(("conclude",))))
    assert (result.status, result.text) == (RunStatus.LOOP_DETECTED, "")
    assert [step.summary for step in result.trace.of_type(StepType.ERROR)] == [
        "ProviderError: status 503"
    ]
    assert "last words" in caplog.text


def test_last_words_that_were_cut_off_say_so():
    model = Model(ModelReply("I found", end=ReplyEnd.LENGTH, end_detail="cut off at 3 tokens"))
    result = agent_over(model, Escalation(("conclude",))).run("Go")
    assert (result.status, result.text, result.error) == (
        RunStatus.LOOP_DETECTED,
        "I found",
        "cut off at 3 tokens",
    )


def test_last_words_need_no_form():
    model = Model()
    agent = agent_over(model, Escalation(("conclude",)))
    result = agent.run("Go", response_format={"type": "object"})
    assert (result.text, result.output) == (model.last, None)
    assert model.requests[-1].response_schema is None


@pytest.mark.parametrize("way", WAYS)
def test_a_model_that_repeats_its_words_has_the_last_word_too(way):
    chant = "I should look at the file again before I go on. " * 60

    def reply(request):
        return ModelReply(chant, (SEARCH,)) if request.may_call else "It is not there."

    detector = LoopDetector([ChantDetector()], Escalation(("conclude",)))
    script = ScriptedProvider([reply], repeat_last=True)
    result = WAYS[way](Agent([search], script, AgentConfig(loop_detector=detector)))
    assert (result.status, result.text) == (RunStatus.LOOP_DETECTED, "It is not there.")


def test_observers_hear_of_the_last_request():
    class Observer(AgentObserver):
        def __init__(self):
            self.asked, self.ended = [], []

        def on_model_start(self, run_id, request):
            self.asked.append(request.may_call)

        def on_model_end(self, run_id, reply):
            self.ended.append(reply.text)

    observer = Observer()
    detector = LoopDetector([RepeatDetector(3)], Escalation(("conclude",)))
    config = AgentConfig(loop_detector=detector, observers=[observer])
    Agent([search], Model("Sorry."), config).run("Go")
    assert observer.asked == [True, True, True, False]
    assert observer.ended[-1] == "Sorry."


def advises(verdict):
    return f"Ask a colleague ({verdict.action.value})."


async def advises_later(verdict):
    await asyncio.sleep(0)
    return advises(verdict)


class Advisor:
    async def __call__(self, verdict):
        return advises(verdict)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("on_notice", [advises, advises_later, Advisor()])
def test_advice_follows_the_notice(way, on_notice):
    model = Model()
    result = WAYS[way](agent_over(model, Escalation(("notify", "stop"), on_notice=on_notice)))
    notice, advice = model.requests[-1].messages[-2:]
    assert notice.content.startswith("[antiloop] Notice:")
    assert advice.content == "Ask a colleague (notify)."
    assert result.status is RunStatus.LOOP_DETECTED


@pytest.mark.parametrize("way", WAYS)
def test_another_model_may_answer_the_next_request(way):
    weak = Model()
    strong = ScriptedProvider(["It is empty."] * 9, repeat_last=True)
    ladder = Escalation(("notify", "stop"), on_notice=lambda _: strong)
    result = WAYS[way](agent_over(weak, ladder))
    assert (result.status, result.text) == (RunStatus.COMPLETED, "It is empty.")
    assert len(weak.requests) == 3


def test_the_other_model_answers_one_request():
    weak = Model()
    strong = Model(name="strong")
    agent_over(weak, Escalation(("notify", "stop"), on_notice=lambda _: strong), tools={}).run("Go")
    assert [len(weak.requests), len(strong.requests)] == [3, 1]


def raises(verdict):
    raise KeyError("no")


async def raises_later(verdict):
    raise KeyError("no")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("on_notice", "logged"),
    [
        (raises, "on_notice raised"),
        (raises_later, "on_notice raised"),
        (lambda _: 5, "on_notice returned"),
        (lambda _: ScriptedProvider, "on_notice returned"),
    ],
)
def test_a_function_that_fails_is_logged_and_the_run_goes_on(way, on_notice, logged, caplog):
    model = Model()
    result = WAYS[way](agent_over(model, Escalation(("notify", "stop"), on_notice=on_notice)))
    assert result.status is RunStatus.LOOP_DETECTED
    assert len(model.requests) == 4
    assert logged in caplog.text


class Waiting:
    """Answers no other way than in `Agent.run`."""

    def complete(self, request):
        return ModelReply("It is empty.")


@pytest.mark.parametrize("way", WAYS)
def test_another_model_that_cannot_be_asked_in_this_way_is_ignored(way, caplog):
    model = Model()
    ladder = Escalation(("notify", "stop"), on_notice=lambda _: Waiting())
    result = WAYS[way](agent_over(model, ladder))
    is_asked = way == "run"
    assert result.status is (RunStatus.COMPLETED if is_asked else RunStatus.LOOP_DETECTED)
    assert (f"has no method {METHODS[way]}, which Agent.{way} asks" in caplog.text) is not is_asked


METHODS = {"run": "complete", "stream": "stream", "arun": "acomplete", "astream": "astream"}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_hangs_does_not_hold_up_the_run(way, monkeypatch, caplog):
    monkeypatch.setattr(_core, "NOTICE_TIMEOUT_S", 0.01)
    is_over = threading.Event()
    ladder = Escalation(("notify", "stop"), on_notice=lambda _: is_over.wait(60))
    result = WAYS[way](agent_over(Model(), ladder))
    is_over.set()
    assert result.status is RunStatus.LOOP_DETECTED
    assert "on_notice took longer" in caplog.text


def test_a_detectors_own_ladder_has_a_function_of_its_own():
    heard = []
    ladders = {"repeat": Escalation(("notify", "stop"), on_notice=heard.append)}
    agent_over(Model(), Escalation(("notify", "stop")), escalations=ladders).run("Go")
    assert [verdict.action for verdict in heard] == [LoopAction.NOTIFY]
