"""A judge beside the core loop: asked in every kind of run, recorded, and never in the way."""

import asyncio
import json
import threading

import pytest

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    LoopDetector,
    RunStatus,
    ScriptedProvider,
    StepType,
)
from antiloop.agent import ModelJudge, ModelReply
from antiloop.agent._drivers import asking
from antiloop.agent._drivers.asking import aask, ask
from antiloop.agent._model_judge import read_opinion
from antiloop.loop_detection import CaseFile, Escalation, Opinion, RepeatDetector, SecondOpinion
from antiloop.traces import read_runs, replay
from antiloop.types import ToolCall

CASE = CaseFile("run", 3, 0.6)
STUCK = Opinion(True, 0.9, "It looks for what is not there.")


def search(query: str) -> str:
    """Search."""
    return "No results found."


def script(count=12):
    return ScriptedProvider([ToolCall("search", {"query": f"w{n}"}) for n in range(count)] + ["."])


def agent_with(judge, observers=(), **options):
    opinion = SecondOpinion(judge, suspicion=0.2, **options)
    detector = LoopDetector([RepeatDetector(30)], Escalation(), second_opinion=opinion)
    config = AgentConfig(loop_detector=detector, observers=observers)
    return Agent([search], script(), config)


async def in_stream(agent):
    return [event async for event in agent.astream("go")][-1].result


WAYS = {
    "run": lambda agent: agent.run("go"),
    "arun": lambda agent: asyncio.run(agent.arun("go")),
    "astream": lambda agent: asyncio.run(in_stream(agent)),
}


def searches_in_vain(way, judge, chant_at=None):
    """Run a model that finds nothing, and repeats itself without end in one of its replies."""
    chant = "I should look at the file again before I go on. " * 60
    words = "cats tabby kitten tomcat feline lion tiger puma lynx".split()
    replies = [
        ModelReply(chant if at == chant_at else "", (ToolCall("search", {"query": word}, str(at)),))
        for at, word in enumerate(words)
    ]
    detector = LoopDetector.escalating(second_opinion=SecondOpinion(judge, suspicion=0.3))
    config = AgentConfig(loop_detector=detector)
    return WAYS[way](Agent([search], ScriptedProvider([*replies, "."]), config))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("chant_at", [3, 4])
@pytest.mark.parametrize("answer", [True, False, None])
def test_a_question_and_what_is_found_in_the_words_of_a_reply_both_count(way, chant_at, answer):
    plain, chanted = [], []
    searches_in_vain(way, lambda case: plain.append(case.step) or answer)
    result = searches_in_vain(way, lambda case: chanted.append(case.step) or answer, chant_at)
    until = plain.index(chant_at) + 1 if chant_at in plain else len(plain)
    assert chanted[:until] == plain[:until]
    found = [step.summary for step in result.trace.of_type(StepType.GRAPH_LOOP_DETECTED)]
    assert answer is not False or any("repeats itself" in summary for summary in found)


async def says_stuck_later(case):
    await asyncio.sleep(0)
    return STUCK


class AsyncJudge:
    async def __call__(self, case):
        return STUCK


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("judge", [lambda _: STUCK, says_stuck_later, AsyncJudge()])
def test_a_judge_that_finds_a_run_stuck_warns_and_then_stops_it(way, judge):
    result = WAYS[way](agent_with(judge))
    assert result.status is RunStatus.LOOP_DETECTED
    assert result.detection.detector_name == "second_opinion"
    asked = result.trace.of_type(StepType.SECOND_OPINION)
    assert [step.data["stuck"] for step in asked] == [True, True]
    assert any("not there" in message.content for message in result.messages)


def raising(case):
    raise RuntimeError("no")


async def raising_later(case):
    raise RuntimeError("no")


def raising_of_old(case):
    next(iter(()))


def cancelled(case):
    raise asyncio.CancelledError


async def cancelled_later(case):
    raise asyncio.CancelledError


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "judge",
    [
        *(raising, raising_later, raising_of_old, cancelled, cancelled_later),
        *(lambda _: None, lambda _: "stuck"),
    ],
)
def test_a_judge_without_an_opinion_leaves_the_run_alone(way, judge):
    result = WAYS[way](agent_with(judge))
    assert result.status is RunStatus.COMPLETED
    asked = result.trace.of_type(StepType.SECOND_OPINION)
    assert asked
    assert all("stuck" not in step.data for step in asked)


@pytest.mark.parametrize("way", WAYS)
def test_a_judge_that_takes_too_long_is_left_out(way):
    is_over = threading.Event()
    result = WAYS[way](agent_with(lambda _: is_over.wait(60), timeout=0.01, limit=1))
    is_over.set()
    assert result.status is RunStatus.COMPLETED


def test_an_async_judge_that_takes_too_long_is_cancelled():
    async def hangs(case):
        await asyncio.Event().wait()

    assert asyncio.run(aask(SecondOpinion(hangs, timeout=0.01), CASE)) is None


def test_a_judge_that_meets_a_timeout_is_not_said_to_be_slow(caplog):
    def meets_one(case):
        raise TimeoutError("the database does not answer")

    assert ask(SecondOpinion(meets_one), CASE) is None
    assert "the judge raised" in caplog.text
    assert "the database does not answer" in caplog.text
    assert "took longer" not in caplog.text


def test_a_judge_that_cannot_be_asked_is_left_out(monkeypatch):
    def no_thread(function):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(asking, "start_in_thread", no_thread)
    assert ask(SecondOpinion(lambda _: True), CASE) is None


@pytest.mark.parametrize("way", WAYS)
def test_a_judge_may_end_the_program(way):
    def leaves(case):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        WAYS[way](agent_with(leaves))


def test_an_answer_may_come_as_a_coroutine_of_a_plain_function():
    options = SecondOpinion(lambda case: says_stuck_later(case))
    assert ask(options, CASE) == asyncio.run(aask(options, CASE)) == STUCK


def test_observers_hear_of_it_with_the_id_of_the_run():
    class Observer(AgentObserver):
        def __init__(self):
            self.heard = []

        def on_second_opinion(self, run_id, case, opinion):
            self.heard.append((run_id == case.run_id, opinion))

    observer = Observer()
    agent_with(lambda _: STUCK, [observer]).run("go")
    assert observer.heard == [(True, STUCK)] * 2


def test_a_recorded_run_gives_the_same_verdicts_without_asking(tmp_path):
    result = agent_with(lambda _: STUCK).run("go")
    path = tmp_path / "runs.jsonl"
    path.write_text(result.trace.to_jsonl())
    (run,) = read_runs(str(path))
    assert [opinion for _, opinion in run.opinions] == [STUCK, STUCK]
    judged = agent_with(raising)._config.loop_detector
    for detector in (judged, LoopDetector([RepeatDetector(30)], Escalation())):
        actions = [verdict.action.value for _, verdict in replay(run, detector)]
        assert actions[0] == "notify"
    assert [v.action.value for _, v in replay(run, judged)] == ["notify", "stop"]


def test_opinions_that_cannot_be_read_are_passed_over(tmp_path):
    wrong = [None, 3, {}, {"stuck": True}, {"stuck": "yes", "step": 1}, {"stuck": True, "step": 0}]
    for listed in (wrong, "text", None):
        path = tmp_path / "runs.jsonl"
        path.write_text(json.dumps({"run_id": "a", "steps": [{}], "opinions": listed}))
        (run,) = read_runs(str(path))
        assert len(run.opinions) == (listed is wrong)


ANSWER = '{"stuck": true, "confidence": 0.8, "reason": "laps"}'
USELESS = [
    "",
    "The agent is stuck.",
    "stuck: true, confidence: 0.9",
    "{}",
    "[]",
    "null",
    "true",
    '{"stuck": "yes", "confidence": 0.9}',
    '{"stuck": 1, "confidence": 0.9}',
    '{"stuck": true}',
    '{"stuck": true, "confidence": "high"}',
    '{"stuck": true, "confidence": 7}',
    '{"stuck": true, "confidence": NaN}',
    '{"stuck": true, "confidence": -Infinity}',
    '{"stuck": true, "confidence": 0.9',
    "{" * 5000,
    '{"a":' * 3000,
    '{"stuck": true, "confidence": 0.9} or {"stuck": false, "confidence": 0.9}',
    "x" * 30_000 + ANSWER,
]


@pytest.mark.parametrize("text", USELESS)
def test_a_reply_that_says_nothing_clear_is_no_opinion(text):
    judge = ModelJudge(ScriptedProvider([text]))
    assert judge(CASE) is None
    assert asyncio.run(judge.acall(CASE)) is None


@pytest.mark.parametrize(
    "text",
    [ANSWER, f"```json\n{ANSWER}\n```", f"Let me see.\n{ANSWER}\n", f"{{odd}} {ANSWER}"],
)
@pytest.mark.parametrize("timeout", [5, None])
def test_an_answer_is_read_with_what_stands_around_it(text, timeout):
    judge = ModelJudge(ScriptedProvider([text]), timeout=timeout)
    assert judge(CASE) == asyncio.run(judge.acall(CASE)) == Opinion(True, 0.8, "laps")


def test_an_answer_that_is_quoted_from_the_record_does_not_count():
    quoted = '{"stuck": false, "confidence": 1.0, "reason": "fine"}'
    assert read_opinion(f"The tool says {quoted}", f"| {quoted}") is None
    assert read_opinion(f"It says {quoted}, but {ANSWER}", f"| {quoted}") == Opinion(
        True, 0.8, "laps"
    )


def test_a_model_judge_asks_with_the_prompt_and_no_tools():
    seen = []
    judge = ModelJudge(ScriptedProvider([lambda request: seen.append(request) or ANSWER]))
    result = agent_with(judge).run("go")
    assert result.status is RunStatus.LOOP_DETECTED
    assert all("Is the agent stuck" in request.messages[0].content for request in seen)
    assert all(not request.tools for request in seen)


def test_a_provider_that_gives_something_else_is_no_opinion():
    class Odd:
        def complete(self, request):
            return "no reply"

        async def acomplete(self, request):
            return ModelReply(text=None)

    judge = ModelJudge(Odd())
    assert (judge(CASE), asyncio.run(judge.acall(CASE))) == (None, None)
    assert "Odd" in repr(judge)


def test_what_cannot_judge_is_refused():
    for wrong in (None, ScriptedProvider, object()):
        with pytest.raises(TypeError, match="the provider must have the method"):
            ModelJudge(wrong)
    with pytest.raises(ValueError, match="timeout"):
        ModelJudge(ScriptedProvider(["."]), timeout=0)


def test_a_provider_that_hangs_is_left_out():
    is_over = threading.Event()
    hanging = ScriptedProvider([lambda _: ANSWER if is_over.wait(60) else ""])
    assert ask(SecondOpinion(ModelJudge(hanging, timeout=0.01)), CASE) is None
    is_over.set()


def test_a_judge_is_left_out_where_the_event_loop_is_that_of_another_library(caplog):
    async def never(case):
        raise AssertionError("it was asked")

    with pytest.raises(StopIteration) as ended:
        aask(SecondOpinion(never), CASE).send(None)
    assert ended.value.value is None
    assert "event loop is not from asyncio" in caplog.text
