"""Loops as metrics: of OpenTelemetry and of Prometheus, from an agent and from an adapter."""

import copy
import sys
import urllib.request
from dataclasses import replace

import pytest
from metered import CALL, PRICES, agent_of, guarded_run

from antiloop import LoopDetector, RepeatDetector, ToolResult
from antiloop.agent import AgentObserver
from antiloop.agent.timed_monitor import TimedMonitor
from antiloop.formats import History
from antiloop.integrations.guard import Guard
from antiloop.integrations.shared.loop_metrics import OTHER, TOOLS, LoopMetrics
from antiloop.loop_detection import Escalation, LoopAction, LoopDetection, LoopVerdict, Opinion


class Kept(LoopMetrics):
    """Keeps what is counted, so that a test can look at it."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.counted, self.gauges, self.seconds = [], [], []

    def count(self, name, amount, labels):
        self.counted.append((name, amount, labels))

    def gauge(self, suspicion, labels):
        self.gauges.append((suspicion, labels))

    def on_decision_time(self, seconds):
        self.seconds.append(seconds)

    def sum(self, name):
        return sum(amount for each, amount, _ in self.counted if each == name)


def test_each_action_is_a_loop_with_its_labels():
    metrics = Kept("mine")
    agent_of(metrics).run("Go")
    found = [labels for name, _, labels in metrics.counted if name == "loops"]
    assert [labels["action"] for labels in found] == ["notify", "block", "stop"]
    assert found[0] == {
        "detector": "repeat",
        "tool": "look",
        "action": "notify",
        "preset": "mine",
        "shadow": "false",
    }


def test_details_of_a_custom_detector_may_be_anything():
    metrics = Kept("mine")
    found = LoopDetection("mine", "It goes on.", {"calls": 3, "tool": "look"})
    metrics.on_verdict("r", LoopVerdict(LoopAction.STOP, found))
    (labels,) = (labels for name, _, labels in metrics.counted if name == "loops")
    assert (labels["detector"], labels["tool"]) == ("mine", "look")


def test_calls_tokens_and_money_are_wasted_once():
    metrics = Kept(prices=PRICES, model="small")
    agent_of(metrics, shadow=True).run("Go")
    assert metrics.sum("wasted_calls") == 5
    assert metrics.sum("wasted_tokens") == 5 * 95_000
    assert metrics.sum("wasted_cost") == pytest.approx(5)
    assert {labels["shadow"] for _, _, labels in metrics.counted} == {"true"}


def test_runs_are_counted_apart():
    metrics = Kept()
    for _ in range(2):
        agent_of(metrics, shadow=True).run("Go")
    assert metrics.sum("wasted_calls") == 10


@pytest.mark.parametrize("same_session", [True, False])
def test_each_turn_and_each_run_of_an_id_is_counted(same_session):
    metrics = Kept()
    guard = Guard(observers=[metrics])
    calls, starts = [], []
    for turn in range(3):
        starts.append(len(calls))
        for number in range(5):
            calls.append(replace(CALL, round=5 * turn + number))
            told = calls if same_session else calls[starts[-1] :]
            results = (ToolResult("nothing"),) * len(told)
            turns = tuple(starts) if same_session else (0,)
            guard.judge(History(tuple(told), results, turns), "helper")
    assert metrics.sum("loops") == 3 * 3
    assert metrics.sum("wasted_calls") == 3 * 4


def test_the_gauge_follows_the_suspicion():
    metrics = Kept("mine")
    guarded_run(metrics, times=3)
    assert metrics.gauges[-1] == (1.0, {"preset": "mine"})
    assert metrics.gauges[0][0] < 1


def test_questions_are_counted_by_what_was_said():
    metrics = Kept()
    for opinion in (None, Opinion(True), Opinion(False)):
        metrics.on_second_opinion("r", None, opinion)
    assert [labels["opinion"] for _, _, labels in metrics.counted] == ["none", "stuck", "not_stuck"]


@pytest.mark.parametrize("run", [lambda each: agent_of(each).run("Go"), guarded_run])
def test_the_time_of_every_decision_is_told(run):
    metrics = Kept()
    run(metrics)
    assert len(metrics.seconds) >= 6
    assert all(seconds > 0 for seconds in metrics.seconds)


def test_without_somebody_to_hear_of_times_the_monitor_is_as_ever():
    monitor = LoopDetector.default().monitor()
    assert TimedMonitor.of(monitor, [AgentObserver()]) is monitor


def test_a_timed_monitor_decides_as_any_other():
    detector = LoopDetector([RepeatDetector(3)], Escalation())
    plain, timed = detector.monitor(), TimedMonitor.of(detector.monitor(), [Kept()])
    for _ in range(5):
        assert timed.before(CALL).action is plain.before(CALL).action
        assert timed.after([CALL], ["x"]) == plain.after([CALL], ["x"])
    assert timed.snapshot() == plain.snapshot()


def test_who_hears_of_times_may_raise(caplog):
    class Clumsy(Kept):
        def on_decision_time(self, seconds):
            raise RuntimeError("dropped it")

    guarded_run(Clumsy())
    assert "dropped it" in caplog.text


def test_names_of_tools_without_end_become_one():
    metrics = Kept()
    detector = LoopDetector([RepeatDetector(2)], Escalation(("notify",)))
    for number in range(TOOLS + 5):
        monitor = detector.monitor()
        for _ in range(2):
            verdict = monitor.record_call(f"made_up_{number}", {}, "no")
        metrics.on_verdict(str(number), verdict)
    tools = [labels["tool"] for name, _, labels in metrics.counted if name == "loops"]
    assert len(set(tools)) == TOOLS + 1
    assert tools.count(OTHER) == 5


class TestPrometheus:
    @pytest.fixture
    def prometheus(self):
        client = pytest.importorskip("prometheus_client", reason="needs prometheus-client")
        from antiloop.integrations.prometheus import PrometheusMetrics

        return PrometheusMetrics(
            "mine", registry=client.CollectorRegistry(), prices=PRICES, model="small"
        )

    def test_the_text_shows_every_metric(self, prometheus):
        agent_of(prometheus).run("Go")
        prometheus.on_second_opinion("r", None, None)
        text = prometheus.text()
        labels = 'action="stop",detector="repeat",preset="mine",shadow="false",tool="look"'
        assert f"antiloop_loops_total{{{labels}}} 1.0" in text
        assert 'antiloop_suspicion{preset="mine"} 1.0' in text
        assert 'antiloop_questions_total{opinion="none",preset="mine"} 1.0' in text
        for name in ("wasted_calls_total", "wasted_tokens_total", "wasted_cost_total"):
            assert f"antiloop_{name}{{" in text
        assert "antiloop_decision_seconds_count" in text

    def test_the_endpoint_serves_it(self, prometheus):
        guarded_run(prometheus)
        server, thread = prometheus.serve(0)
        try:
            address = f"http://127.0.0.1:{server.server_port}/metrics"
            with urllib.request.urlopen(address) as answer:
                assert answer.headers["Content-Type"].startswith("text/plain")
                assert "antiloop_loops_total{" in answer.read().decode()
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


@pytest.mark.parametrize(
    ("module", "framework", "extra"),
    [("otel_metrics", "opentelemetry", "otel"), ("prometheus", "prometheus_client", "prometheus")],
)
def test_a_missing_client_is_named_with_its_remedy(module, framework, extra, monkeypatch):
    import importlib

    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"antiloop.integrations.{module}", raising=False)
    with pytest.raises(ImportError, match=rf'pip install "antiloop\[{extra}\]"'):
        importlib.import_module(f"antiloop.integrations.{module}")


def test_a_copy_of_a_timed_run_decides_alike_and_tells_nobody():
    metrics = Kept()
    timed = TimedMonitor.of(LoopDetector([RepeatDetector(3)]).monitor(), [metrics])
    for _ in range(2):
        timed.after([CALL], ["x"])
    other = copy.deepcopy(timed)
    assert other.after([CALL], ["x"]) == timed.after([CALL], ["x"])
    assert len(metrics.seconds) == 3
