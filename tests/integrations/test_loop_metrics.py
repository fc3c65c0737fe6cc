"""Loops as metrics: of OpenTelemetry and of Prometheus, from an agent and from an adapter."""

import copy
import gc
import json
import logging
import re
import shutil
import subprocess
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metered import CALL, PRICES, agent_of, guarded_run

from antiloop import BaseDetector, LoopDetector, RepeatDetector, ToolResult
from antiloop._decision_time import measure_for
from antiloop.agent import AgentObserver
from antiloop.formats import History, from_openai_chat
from antiloop.integrations._guard import Guard
from antiloop.integrations._loop_metrics import OTHER, OUTCOMES, TOOLS, LoopMetrics
from antiloop.loop_detection import Escalation, LoopAction, LoopDetection, LoopVerdict, Opinion


class Kept(LoopMetrics):
    """Keeps what is counted, so that a test can look at it."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.counted, self.gauges, self.seconds = [], [], []

    def count(self, name, amount, labels):
        self.counted.append((name, amount, labels))

    def suspicion(self, value, labels):
        self.gauges.append((value, labels))

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
    assert {labels.get("shadow", "true") for _, _, labels in metrics.counted} == {"true"}


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


@pytest.mark.parametrize("same_session", [True, False])
def test_each_turn_and_each_run_of_an_id_counts_as_a_run(same_session):
    metrics = Kept("mine")
    guard = Guard(LoopDetector([RepeatDetector(3)], "stop"), observers=[metrics])
    told = [{"role": "user", "content": "Go"}]
    for turn in range(2):
        for number in range(3):
            called = {"id": f"c{turn}-{number}", "function": {"name": "search"}}
            told.append({"role": "assistant", "tool_calls": [called]})
            told.append({"role": "tool", "tool_call_id": called["id"], "content": "nothing"})
            guard.judge(from_openai_chat(told), "helper")
        told = [*(told if same_session else ()), {"role": "user", "content": "Again"}]
    outcomes = [each["outcome"] for name, n, each in metrics.counted if name == "runs" and n]
    assert outcomes.count("begun") == outcomes.count("stop") == 2


def test_every_round_tells_its_suspicion():
    metrics = Kept("mine")
    guarded_run(metrics, times=3)
    assert metrics.gauges[-1] == (1.0, {"preset": "mine"})
    assert metrics.gauges[0][0] < 1


def test_a_run_counts_once_for_each_thing_that_came():
    metrics = Kept("mine")
    for _ in range(2):
        agent_of(metrics).run("Go")
    outcomes = [labels["outcome"] for name, _, labels in metrics.counted if name == "runs"]
    assert sorted(outcomes) == sorted(["begun", "notify", "block", "stop"] * 2)
    assert metrics.sum("rounds") > len(outcomes)


def test_an_error_of_a_detector_is_counted_and_still_logged(caplog):
    class Broken(BaseDetector):
        name = "broken"

        def check(self, tool_calls, tool_results):
            raise RuntimeError("no idea")

    metrics = Kept("mine")
    metrics.begin()
    monitor = LoopDetector([Broken()]).monitor()
    monitor.record_call("look", {}, "x")
    assert metrics.sum("errors") == 1
    assert "no idea" in caplog.text


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_every_error_is_counted_by_all_metrics_there_are_and_heard_by_every_handler(stay):
    said, handler, logger = [], logging.Handler(), logging.getLogger("antiloop")
    handler.emit = said.append
    every = [Kept("mine") for _ in stay]
    for each in every:
        each.begin()
    logger.addHandler(handler)
    kept = [each for each, stays in zip(every, stay) if stays]
    del each, every
    gc.collect()
    for count in range(1, 3):
        try:
            raise RuntimeError("no idea")
        except RuntimeError:
            logger.exception("that failed")
        assert [each.sum("errors") for each in kept] == [count] * len(kept)
        assert len(said) == count
    logger.removeHandler(handler)


LOGGING = """
import logging
from antiloop.integrations._loop_metrics import LoopMetrics

class Counted(LoopMetrics):
    def count(self, name, amount, labels):
        pass

kept = [Counted() for _ in range({metrics})]
for each in kept:
    each.begin()
{handler}
for level in (10, 20, 30, 40, 50):
    logging.getLogger("antiloop.agent").log(level, "at %d", level)
"""


@pytest.mark.parametrize(
    "handler",
    [
        "",
        "logging.basicConfig()",
        "logging.getLogger('antiloop').addHandler(logging.NullHandler())",
    ],
)
def test_what_is_printed_is_the_same_with_metrics_and_without(handler):
    plain, *others = (
        subprocess.run(
            [sys.executable, "-c", LOGGING.format(metrics=metrics, handler=handler)],
            capture_output=True,
            text=True,
            check=True,
        ).stderr
        for metrics in range(3)
    )
    assert others == [plain] * 2
    assert ("at 30" in plain) == ("Null" not in handler)


def test_a_verdict_that_is_logged_is_no_error():
    metrics = Kept("mine")
    metrics.begin()
    monitor = LoopDetector([RepeatDetector(2)], "stop", log_verdicts=True).monitor()
    for _ in range(2):
        monitor.record_call("look", {}, "x")
    assert metrics.sum("errors") == 0


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
    assert measure_for([AgentObserver()]) is None


def test_a_timed_monitor_decides_as_any_other():
    detector = LoopDetector([RepeatDetector(3)], Escalation())
    plain, timed = detector.monitor(), detector.monitor(measure=measure_for([Kept()]))
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


NAMES = st.text(st.characters(exclude_categories=[]), max_size=200)
"""Of any characters, lone surrogates and control characters too."""


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_whatever_a_model_calls_its_tools_each_label_can_be_written(tools):
    metrics = Kept("mine")
    monitor = LoopDetector.escalating().monitor(run_id="r1")
    monitor.add_listener(metrics)
    for _ in range(6):
        for tool in tools:
            monitor.record_call(tool, {}, "nothing")
    for value in {value for _, _, labels in metrics.counted for value in labels.values()}:
        assert value.encode("utf-8").decode() == value
        assert len(value) <= 80
        assert not any(ord(sign) < 32 for sign in value)


def test_a_monitor_of_a_loop_of_its_own_is_counted_too():
    metrics = Kept("mine")
    monitor = LoopDetector.escalating().monitor(run_id="r1")
    monitor.add_listener(metrics)
    for _ in range(3):
        monitor.record_call("look", {}, "nothing")
    outcomes = [labels["outcome"] for name, _, labels in metrics.counted if name == "runs"]
    assert outcomes == ["begun", "notify"]
    assert (metrics.sum("rounds"), metrics.sum("loops")) == (3, 1)


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
        assert 'antiloop_suspicion_bucket{le="+Inf",preset="mine"}' in text
        assert 'antiloop_questions_total{opinion="none",preset="mine"} 1.0' in text
        for name in ("wasted_calls_total", "wasted_tokens_total", "wasted_cost_total"):
            assert f"antiloop_{name}{{" in text
        assert "antiloop_decision_seconds_count" in text

    def test_what_alerts_ask_for_is_there_before_the_first_run(self, prometheus):
        text = prometheus.text()
        for series in (
            *(f'runs_total{{outcome="{each}",preset="mine"}}' for each in OUTCOMES),
            *(f'{name}_total{{preset="mine"}}' for name in ("rounds", "errors", "webhook_dropped")),
            'questions_total{opinion="stuck",preset="mine"}',
            'suspicion_count{preset="mine"}',
        ):
            assert f"antiloop_{series} 0.0" in text

    def test_the_counts_of_all_processes_are_shown(self, tmp_path):
        script = f"""
import os
os.environ["PROMETHEUS_MULTIPROC_DIR"] = {str(tmp_path)!r}
from antiloop import LoopDetector
from antiloop.integrations.functions import LoopGuard
from antiloop.integrations.prometheus import PrometheusMetrics
metrics = PrometheusMetrics("mine")
guard = LoopGuard(LoopDetector.escalating(), observers=[metrics])
@guard
def look():
    return "nothing"
for _ in range(3):
    look()
print(metrics.text())
"""
        pytest.importorskip("prometheus_client")
        told = [
            subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=True
            ).stdout
            for _ in range(2)
        ]
        assert 'antiloop_runs_total{outcome="notify",preset="mine"} 1.0' in told[0]
        assert 'antiloop_runs_total{outcome="notify",preset="mine"} 2.0' in told[1]

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
    timed = LoopDetector([RepeatDetector(3)]).monitor(measure=measure_for([metrics]))
    for _ in range(2):
        timed.after([CALL], ["x"])
    other = copy.deepcopy(timed)
    assert other.after([CALL], ["x"]) == timed.after([CALL], ["x"])
    assert len(metrics.seconds) == 3


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_the_alerts_fire_at_the_first_stop():
    for command in (
        ["check", "rules", "prometheus-alerts.yml"],
        ["test", "rules", "prometheus-alerts-test.yml"],
    ):
        done = subprocess.run(
            ["promtool", *command], cwd=EXAMPLES, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["examples/prometheus-alerts.yml", "how-to/in-production.md"])
def test_alerts_know_every_action_that_ends_a_run(name):
    text = (EXAMPLES.parent / name).read_text("utf-8").replace("\\|", "|")
    (asked,) = re.findall(r'runs_total\{outcome=~"([a-z|]+)"\}', text)
    assert set(asked.split("|")) == {each.value for each in LoopAction if each.ends_run}


@pytest.mark.parametrize("name", ["prometheus-alerts.yml", "grafana-dashboard.json"])
def test_alerts_and_dashboard_ask_for_metrics_that_there_are(name):
    pytest.importorskip("prometheus_client", reason="needs prometheus-client")
    import prometheus_client

    from antiloop.integrations.prometheus import PrometheusMetrics

    metrics = PrometheusMetrics(registry=prometheus_client.CollectorRegistry())
    families = {line.split()[2] for line in metrics.text().splitlines() if line[:6] == "# TYPE"}
    text = (EXAMPLES / name).read_text("utf-8")
    if name.endswith(".json"):
        panels = json.loads(text)["panels"]
        text = " ".join(target["expr"] for panel in panels for target in panel["targets"])
    asked = {re.sub("_bucket$", "", each) for each in re.findall(r"\bantiloop_\w+", text)}
    assert asked
    assert asked <= families
