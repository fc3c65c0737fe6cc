"""Observers hear the same of a bare monitor, of an `Agent`, and of every `LoopGuard`."""

import logging
from threading import Event, Thread

import pytest

from antiloop import (
    Agent,
    AgentConfig,
    AgentObserver,
    Escalation,
    LoggingObserver,
    LoopAction,
    LoopDetectedError,
    LoopDetector,
    RepeatDetector,
    ScriptedProvider,
    ToolCall,
    ToolResult,
)
from antiloop.agent import ModelReply
from antiloop.formats import History, TextMessage
from antiloop.integrations import functions
from antiloop.integrations._guard import Guard
from antiloop.integrations._loop_metrics import LoopMetrics
from antiloop.integrations.webhook import Webhook
from antiloop.loop_detection import Opinion, SecondOpinion
from antiloop.loop_detection._run.listeners import EVENTS
from antiloop.traces import RunRecorder, read_runs, replay
from antiloop.types import Role

ROUNDS = 5
WATCHED = [event for event in EVENTS if event != "on_decision_time"]


class Heard(AgentObserver):
    """Keeps every event that a host without a model of its own can know of."""

    def __init__(self):
        self.events = []
        self.seconds = []

    def on_decision_time(self, seconds):
        self.seconds.append(seconds)


def _keeping(event):
    def hear(self, *arguments):
        self.events.append((event, *arguments))

    return hear


for _event in WATCHED:
    setattr(Heard, _event, _keeping(_event))


class Counted(LoopMetrics):
    def __init__(self):
        super().__init__("mine")
        self.counts = {}

    def count(self, name, amount, labels):
        key = (name, *sorted(labels.items()))
        self.counts[key] = self.counts.get(key, 0) + amount

    def suspicion(self, value, labels):
        self.counts["suspicion", value] = self.counts.get(("suspicion", value), 0) + 1

    def on_decision_time(self, seconds):
        self.counts["timed"] = True


def detector(**options):
    ladder = Escalation(("notify", "stop"))
    return LoopDetector([RepeatDetector(3)], ladder, **options)


def bare_monitor(observers, found, run_id="r1"):
    """A loop of one's own."""
    monitor = found.monitor(run_id=run_id, observers=observers)
    monitor.user_message("Find the cats.")
    for at in range(ROUNDS):
        monitor.said(f"Let me look, {at}.")
        call = ToolCall("look", {"at": "cats"}, f"id-{at}")
        if monitor.before(call).action.value == "block":
            break
        verdict = monitor.after([call], [ToolResult("nothing")])
        if verdict.case is not None:
            verdict = monitor.answer(found.second_opinion.judge(verdict.case))
        if verdict.action.ends_run:
            break
    return run_id


def agent(observers, found):
    """An agent of this library."""

    def look(at: str) -> str:
        return "nothing"

    replies = [
        ModelReply(f"Let me look, {at}.", (ToolCall("look", {"at": "cats"}, f"id-{at}"),))
        for at in range(ROUNDS)
    ]
    config = AgentConfig(observers=observers, loop_detector=found)
    result = Agent([look], ScriptedProvider([*replies, "Done."]), config).run("Find the cats.")
    return result.run_id


def messages_guard(observers, found, run_id="r1"):
    """An adapter that sees a conversation."""
    guard = Guard(found, observers=observers)
    calls, results, messages = [], [], [TextMessage(Role.USER, "Find the cats.", 0)]
    for at in range(ROUNDS):
        messages.append(TextMessage(Role.ASSISTANT, f"Let me look, {at}.", at))
        calls.append(ToolCall("look", {"at": "cats"}, f"id-{at}", round=at))
        results.append(ToolResult("nothing"))
        verdict = guard.judge(
            History(tuple(calls), tuple(results), (0,), messages=tuple(messages)), run_id
        )
        if verdict.action.ends_run:
            break
    return run_id


def calls_guard(observers, found, run_id="r1"):
    """An adapter that sees single calls."""
    guard = functions.LoopGuard(found, observers=observers, run_id=run_id)
    guard.run.user_message("Find the cats.")
    for at in range(ROUNDS):
        guard.run.said(f"Let me look, {at}.")
        call = ToolCall("look", {"at": "cats"}, f"id-{at}")
        guard.begin(call)
        try:
            guard.end(call, ToolResult("nothing"))
        except LoopDetectedError:
            break
        if guard.verdict.action is LoopAction.STOP:
            break
    return run_id


HOSTS = [bare_monitor, agent, messages_guard, calls_guard]
every_host = pytest.mark.parametrize("host", HOSTS, ids=lambda each: each.__name__)


def words_of(events):
    """Yield each event without what differs between hosts."""
    for event, run_id, *given in events:
        if event == "on_round":
            calls, results = given
            asked = [(each.tool_name, dict(each.arguments), each.id) for each in calls]
            yield event, run_id, asked, [(each.text, each.is_error) for each in results]
        elif event == "on_verdict":
            yield event, run_id, given[0].action.value, given[0].suspicion == 1
        elif event == "on_second_opinion":
            yield event, run_id, given[0].step, given[1].stuck
        elif event == "on_tool_loop_detected":
            yield event, run_id, given[0], given[1]["tool"], given[1]["count"]
        else:
            yield (event, run_id, *given)


def expected(run_id, actions):
    yield "on_user_message", run_id, "Find the cats."
    for at, action in enumerate(actions):
        yield "on_said", run_id, f"Let me look, {at}."
        yield "on_round", run_id, [("look", {"at": "cats"}, f"id-{at}")], [("nothing", False)]
        yield "on_verdict", run_id, action, action != "continue"
        if action != "continue":
            yield "on_tool_loop_detected", run_id, "repeat", "look", at + 1


@every_host
def test_every_host_tells_the_same(host):
    heard = Heard()
    run_id = host([heard], detector())
    actions = ["continue", "continue", "notify", "stop"]
    assert list(words_of(heard.events)) == list(expected(run_id, actions))
    assert len(heard.seconds) >= len(actions)


@every_host
def test_every_host_tells_of_opinions(host):
    heard = Heard()
    judge = SecondOpinion(lambda case: Opinion(True, 1.0, "It goes in circles."), confirm=True)
    run_id = host([heard], detector(second_opinion=judge))
    told = list(words_of(heard.events))
    opinion = ("on_second_opinion", run_id, 3, True)
    assert told.index(opinion) < told.index(("on_verdict", run_id, "stop", True))
    told.remove(opinion)  # an adapter may ask before it tells what led to the question
    actions = ["continue", "continue", "notify", "stop"]
    assert told == list(expected(run_id, actions))


@every_host
def test_every_host_counts_the_same(host):
    counted = Counted()
    host([counted], detector())
    own = ("preset", "mine")
    assert counted.counts["rounds", own] == 4
    assert counted.counts["runs", ("outcome", "begun"), own] == 1
    assert counted.counts["runs", ("outcome", "stop"), own] == 1
    loops = {dict(key[1:])["action"]: n for key, n in counted.counts.items() if key[0] == "loops"}
    assert loops == {"notify": 1, "stop": 1}
    assert counted.counts["timed"]


@every_host
def test_every_host_posts_and_logs_with_the_id_of_its_run(host, caplog):
    posted = []
    webhook = Webhook("http://127.0.0.1:9/", retries=0, timeout_s=0.2)
    webhook._template = lambda loop: posted.append(loop) or {}
    with caplog.at_level(logging.WARNING, "antiloop"):
        run_id = host([webhook, LoggingObserver()], detector())
        webhook.close()
    assert [(each["run_id"], each["action"]) for each in posted] == [
        (run_id, "notify"),
        (run_id, "stop"),
    ]
    logged = [
        each.getMessage() for each in caplog.records if "found by repeat" in each.getMessage()
    ]
    assert len(logged) == 2
    assert all(run_id in line for line in logged)


@every_host
@pytest.mark.parametrize("judged", [False, True], ids=["no judge", "a judge"])
def test_what_every_host_recorded_gives_its_verdicts_again(host, judged, tmp_path):
    path, heard = tmp_path / "runs.jsonl", Heard()
    judge = SecondOpinion(lambda case: Opinion(True, 1.0, "It goes in circles."), confirm=True)
    found = detector(second_opinion=judge) if judged else detector()
    with RunRecorder(path) as recorder:
        run_id = host([heard, recorder], found)
    (run,) = read_runs(path)
    assert run.run_id == run_id
    assert [each.arguments for each in run.calls] == [{"at": "cats"}] * 4
    assert [each.text for each in run.results] == ["nothing"] * 4
    texts = [(each.role.value, each.text) for each in run.messages]
    assert texts[:2] == [("user", "Find the cats."), ("assistant", "Let me look, 0.")]
    assert len(texts) == 5
    live = [given[1].action.value for event, *given in heard.events if event == "on_verdict"]
    assert [verdict.action.value for _, verdict in replay(run, found)] == [
        each for each in live if each != "continue"
    ]
    assert len(run.opinions) == judged


def test_one_recorder_serves_many_runs(tmp_path):
    path = tmp_path / "runs.jsonl"
    with RunRecorder(path, run_id="by hand") as recorder:
        for name in ("a", "b"):
            bare_monitor([recorder], detector(), name)
        recorder.tool_call("look", {}, "by hand")
        agent([recorder], detector())
    runs = {run.run_id: len(run) for run in read_runs(path)}
    assert len(runs) == 4
    assert (runs["a"], runs["b"], runs["by hand"]) == (4, 4, 1)


def test_a_run_of_an_agent_that_fails_is_recorded_as_failed(tmp_path):
    path = tmp_path / "runs.jsonl"
    with RunRecorder(path) as recorder:
        failing = ScriptedProvider([lambda request: crash()])
        made = Agent([], failing, AgentConfig(observers=[recorder]))
        with pytest.raises(OSError, match="gone"):
            made.run("Go")
    (run,) = read_runs(path)
    assert run.failed


def crash():
    raise OSError("gone")


def test_an_agent_without_a_detector_is_recorded_too(tmp_path):
    path = tmp_path / "runs.jsonl"
    with RunRecorder(path) as recorder:
        agent([recorder], None)
    (run,) = read_runs(path)
    assert len(run) == ROUNDS


def test_times_of_a_loop_of_ones_own_are_recorded(tmp_path):
    path = tmp_path / "runs.jsonl"
    with RunRecorder(path) as recorder:
        monitor = detector().monitor(run_id="r1", observers=[recorder])
        monitor.record_call("look", {}, "a", started_at=1_700_000_000.0, duration_s=2.5)
        monitor.record_call("look", {}, None, started_at=1_700_000_100.0)
        call = ToolCall("look", {}, started_at=1_700_000_200.0)
        monitor.after([call], [ToolResult("b", duration_s=0.5)])
    (run,) = read_runs(path)
    timed = [each for each in run.events if each.type == "tool_call_completed"]
    assert [each.time_s for each in timed] == [1_700_000_000.0, 1_700_000_100.0, 1_700_000_200.0]
    assert [timed[0].latency_s, timed[2].latency_s] == [2.5, 0.5]
    assert [each and each.text for each in run.results] == ["a", None, "b"]
    assert run.calls[0].started_at == 1_700_000_000.0


def test_calls_that_come_one_by_one_are_recorded_as_the_round_that_they_name(tmp_path):
    path = tmp_path / "runs.jsonl"
    with RunRecorder(path) as recorder:
        monitor = detector().monitor(run_id="r1", observers=[recorder])
        for number in (1, 2):
            for name in ("read", "look"):
                monitor.after([ToolCall(name, round=number)], ["same"])
    (run,) = read_runs(path)
    rounds = [each.round for each in run.calls]
    assert rounds[0] == rounds[1] != rounds[2] == rounds[3]


def test_a_verdict_on_words_is_heard_without_a_call():
    heard = Heard()
    monitor = LoopDetector.escalating().monitor(run_id="r1", observers=[heard])
    for _ in range(3):
        monitor.said("I will now look at the refunds.")
    told = [event for event, *_ in heard.events]
    assert told == ["on_said"] * 3 + ["on_verdict", "on_tool_loop_detected"]


def test_a_question_that_got_no_answer_is_told_of_before_the_next_round():
    heard = Heard()
    judge = SecondOpinion(lambda case: True, confirm=True)
    monitor = detector(second_opinion=judge).monitor(run_id="r1", observers=[heard])
    for _ in range(5):
        monitor.record_call("look", {}, "same")
    told = [event for event, *_ in heard.events]
    assert told.count("on_round") == told.count("on_verdict") == 5
    assert "on_second_opinion" not in told


def test_observers_that_are_no_list_are_refused():
    with pytest.raises(TypeError, match="observers must be a list of observers, got 3"):
        detector().monitor(observers=3)
    with pytest.raises(TypeError, match="a listener must be a function"):
        detector().monitor(observers=[3])


def test_a_function_is_a_listener_among_observers():
    heard = []
    bare_monitor([lambda verdict: heard.append(verdict.action.value)], detector())
    assert heard == ["notify", "stop"]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("event", ["on_said", "on_round", "on_verdict", "on_tool_loop_detected"])
def test_an_observer_that_hangs_holds_up_its_own_run_and_no_other(host, event):
    is_hanging, may_go_on, found = Event(), Event(), detector()

    class Hanging(Heard):
        def hang(self, *arguments):
            is_hanging.set()
            may_go_on.wait(30)

    setattr(Hanging, event, Hanging.hang)
    held_up = Thread(target=host, args=([Hanging()], found), daemon=True)
    held_up.start()
    assert is_hanging.wait(10)
    heard = Heard()
    host([heard], found)
    assert heard.events[-1][0] in ("on_tool_loop_detected", "on_verdict")
    assert held_up.is_alive()
    may_go_on.set()
    held_up.join(10)
    assert not held_up.is_alive()


async def hear_later(*arguments):
    raise AssertionError("nobody awaits it")


class HearsLater:
    async def __call__(self, verdict):
        raise AssertionError("nobody awaits it")


@pytest.mark.parametrize(
    "observer",
    [
        hear_later,
        HearsLater(),
        *(type("Later", (AgentObserver,), {event: hear_later})() for event in WATCHED),
    ],
)
def test_what_only_an_agent_can_await_is_refused_by_everything_else(observer):
    monitor = detector().monitor()
    with pytest.raises(TypeError, match="is async, and only an agent awaits its observers"):
        monitor.add_listener(observer)
    if isinstance(observer, AgentObserver):
        with pytest.raises(TypeError, match="is async, and only an agent awaits its observers"):
            Guard(observers=[observer])
        AgentConfig(observers=[observer])


def test_words_that_are_not_known_are_empty_for_everyone():
    told = []
    for words in (None, ""):
        heard = Heard()
        judge = SecondOpinion(lambda case: None)
        monitor = detector(second_opinion=judge).monitor(observers=[heard])
        monitor.user_message(words)
        monitor.said(words)
        monitor.record_call("look", {}, "nothing")
        told.append((heard.events, monitor.snapshot()))
    assert told[0] == told[1]
    assert told[0][0][:2] == [("on_user_message", "", ""), ("on_said", "", "")]
