"""What a span processor of the real SDK sees of runs, and what an observer writes into traces."""

import asyncio
import json
import logging
import threading
from contextlib import contextmanager

import pytest
from contract import Contract, Hearer, detector
from hand_loop import carry_out
from metered import PRICES, agent_of

pytest.importorskip("opentelemetry.sdk", reason="needs the extra 'otel'")

from opentelemetry import context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import INVALID_SPAN, Status, StatusCode, set_span_in_context

from antiloop import BaseDetector, LoopDetector, LoopPolicy, health
from antiloop.formats import from_otlp
from antiloop.health import HealthStatus, HealthWatch
from antiloop.integrations.otel import LoopSpanProcessor, OtelObserver
from antiloop.integrations.otel_metrics import OtelMetrics
from antiloop.loop_detection import Opinion, PingPongDetector, RepeatDetector
from antiloop.traces import read_runs

STOP = detector(LoopPolicy.STOP)


class Traced:
    """A tracer whose spans are watched, and what was heard of them."""

    def __init__(self, **options):
        self.hearer = Hearer()
        options.setdefault("detector", STOP)
        options["observers"] = [*options.get("observers", ()), self.hearer]
        self.processor = LoopSpanProcessor(**options)
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(self.processor)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("tests")

    @property
    def heard(self):
        return self.hearer.heard

    @contextmanager
    def agent(self, conversation=None, **attributes):
        named = {"gen_ai.conversation.id": conversation} if conversation else {}
        told = {"gen_ai.operation.name": "invoke_agent", **named, **attributes}
        with self.tracer.start_as_current_span("invoke_agent", attributes=told) as span:
            yield span

    def chat(self, **attributes):
        told = {"gen_ai.operation.name": "chat", **attributes}
        with self.tracer.start_as_current_span("chat", attributes=told):
            pass

    @contextmanager
    def tool(self, name="search", arguments='{"query": "a"}', result="nothing found", **attributes):
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.arguments": arguments,
            "gen_ai.tool.call.result": result,
            **attributes,
        }
        told = {key: value for key, value in told.items() if value is not None}
        with self.tracer.start_as_current_span(f"execute_tool {name}", attributes=told) as span:
            yield span

    def call(self, *args, **attributes):
        with self.tool(*args, **attributes):
            pass

    def step(self, *args, **attributes):
        """Make one reply of a model and the call that it asks for."""
        self.chat()
        self.call(*args, **attributes)


@pytest.fixture(autouse=True)
def _nothing_is_left_out(caplog):
    """Processors swallow their own bugs, so look for them in the log."""
    yield
    said = [record.getMessage() for record in caplog.records]
    assert [text for text in said if "it is ignored" in text and "on purpose" not in text] == []


def sync_tools(traced, script, ran):
    def use_tools(calls):
        traced.chat()
        return [used(traced, script, ran, *call) for call in calls]

    return use_tools


def used(traced, script, ran, name, arguments):
    with traced.tool(name, json.dumps(arguments), None) as span:
        text = ran.answer(script, name)
        span.set_attribute("gen_ai.tool.call.result", text)
    return text


def async_tools(traced, script, ran):
    async def one(name, arguments):
        await asyncio.sleep(0)
        return used(traced, script, ran, name, arguments)

    async def use_tools(calls):
        traced.chat()
        return await asyncio.gather(*(one(*call) for call in calls))

    return use_tools


class TestOtel(Contract):
    name = "otel"
    verdicts = ("stop",)
    tells_rounds = False
    users = ()

    def carry_out(self, mode, script, ran, **options):
        traced = Traced(**options)
        with traced.agent("conversation-1"):
            tools = {"sync": sync_tools, "async": async_tools}[mode]
            carry_out(script, ran, tools(traced, script, ran))


def test_a_loop_is_logged_once(caplog):
    traced = Traced()
    with traced.agent("c-1"):
        for _ in range(6):
            traced.step()
    told = "run c-1: Tool 'search' was called 3 times in a row with the same arguments."
    assert caplog.messages == [told]
    assert traced.heard == ["repeat"]


def test_a_loop_that_comes_back_in_a_later_turn_is_told_again():
    traced = Traced()
    for _ in range(2):
        with traced.agent("c-1"):
            for _ in range(4):
                traced.step()
    assert traced.heard == ["repeat"] * 2


def test_each_action_of_a_ladder_is_told_once():
    traced = Traced(detector=LoopDetector.escalating())
    with traced.agent():
        for _ in range(9):
            traced.step()
    assert traced.heard == ["repeat"] * 3


# Version 1.20 writes times in a way that Python 3.12 warns of.
@pytest.mark.filterwarnings("ignore:datetime.datetime.utcfromtimestamp:DeprecationWarning")
def test_the_same_spans_recorded_give_the_same_calls():
    traced = Traced()
    with traced.agent("c-1"):
        for number in range(3):
            traced.chat()
            traced.call()
            traced.call("note", json.dumps({"text": f"line {number}"}), "ok")
    spans = [json.loads(span.to_json()) for span in traced.exporter.get_finished_spans()]
    history = from_otlp(spans)
    found = STOP.check(history.calls, history.results)
    assert (found.details["count"], traced.heard) == (3, ["repeat"])


def test_calls_between_two_replies_are_one_round():
    traced = Traced()
    with traced.agent():
        traced.chat()
        for _ in range(5):
            traced.call()
        assert traced.heard == []
        traced.step()
        traced.step()
    assert traced.heard == ["repeat"]


def test_calls_that_overlap_are_one_round_where_no_reply_is_recorded():
    traced, meet = Traced(), threading.Barrier(4)
    with traced.agent():
        here = context.get_current()

        def call():
            context.attach(here)
            with traced.tool():
                meet.wait()

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        traced.call()
        assert traced.heard == []
        traced.call()
    assert traced.heard == ["repeat"]


def test_conversations_are_told_apart_and_traces_without_one_too():
    traced = Traced()
    for conversation in ("a", "b", None, None):
        with traced.agent(conversation):
            for _ in range(2):
                traced.step()
    assert traced.heard == []


def test_the_span_nearest_around_a_call_says_whose_it_is():
    traced = Traced()
    with traced.agent("outer"):
        for name in ("inner-1", "inner-2"):
            with traced.agent(name), traced.tracer.start_as_current_span("running tools"):
                for _ in range(2):
                    traced.call()
        for _ in range(2):
            traced.step()
    assert traced.heard == []


def test_a_conversation_that_is_named_late_is_known_by_then():
    traced = Traced()
    with traced.agent() as span:
        span.set_attribute("gen_ai.conversation.id", "late")
        for _ in range(3):
            traced.step()
    assert [*traced.processor._runs] == ["late"]


def test_a_conversation_told_beside_a_call_is_that_of_the_trace():
    traced = Traced()
    with traced.tracer.start_as_current_span("GET /ask", attributes={"session.id": "browser"}):
        traced.chat(**{"gen_ai.conversation.id": "c-1"})
        traced.call()
    assert [*traced.processor._runs] == ["c-1"]


def test_a_further_trace_of_a_conversation_is_a_new_turn():
    traced = Traced()
    for _ in range(4):
        with traced.agent("c-1"):
            traced.step()
    assert traced.heard == []


def test_what_the_user_says_is_progress():
    traced = Traced()
    said = [{"role": "user", "parts": [{"type": "text", "content": "Again, please."}]}]
    with traced.agent():
        for _ in range(4):
            traced.chat(**{"gen_ai.input.messages": json.dumps(said)})
            traced.call()
    assert traced.heard == []


def test_calls_without_arguments_are_no_loop_and_that_is_said_once(caplog):
    traced = Traced(detector=LoopDetector([RepeatDetector(3), PingPongDetector()]))
    with traced.agent():
        for number in range(8):
            traced.step(arguments=None, result=f"page {number}")
    assert traced.heard == []
    (told,) = caplog.messages
    assert "tool 'search' do not record its arguments" in told
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in told


def test_messages_without_their_contents_are_no_loop():
    traced = Traced(detector=LoopDetector.escalating())
    part = {"type": "tool_call", "id": "a", "name": "search"}
    asked = json.dumps([{"role": "assistant", "parts": [part]}])
    answered = json.dumps([{"role": "tool", "parts": [{"type": "tool_call_response", "id": "a"}]}])
    with traced.agent():
        for _ in range(6):
            traced.chat(**{"gen_ai.input.messages": answered, "gen_ai.output.messages": asked})
            traced.call("search", None, None, **{"gen_ai.tool.call.id": "a"})
    assert traced.heard == []


def test_arguments_and_results_may_stand_with_the_model():
    traced = Traced()

    def part(**told):
        return json.dumps([{"role": "assistant", "parts": [told]}])

    with traced.agent():
        for number in range(4):
            answer = part(type="tool_call_response", id=f"id-{number - 1}", result="nothing")
            asked = part(type="tool_call", id=f"id-{number}", name="search", arguments={"q": "a"})
            traced.chat(**{"gen_ai.input.messages": answer, "gen_ai.output.messages": asked})
            traced.call("search", None, None, **{"gen_ai.tool.call.id": f"id-{number}"})
            assert traced.heard == (["repeat"] if number == 3 else [])


def test_calls_whose_result_nobody_tells_are_judged_with_the_next():
    traced = Traced(detector=LoopDetector([RepeatDetector(3)], LoopPolicy.STOP))
    with traced.agent():
        for _ in range(3):
            traced.call(result=None)
        assert traced.heard == []
    assert traced.heard == ["repeat"]


def test_failures_are_told_by_the_status():
    traced = Traced()
    with traced.agent():
        for _ in range(3):
            with pytest.raises(OSError, match="no route"), traced.tool(result=None):
                raise OSError("no route")
        with traced.tool(result=None) as span:
            span.set_status(Status(StatusCode.ERROR, "out of reach"))
    assert traced.heard == ["repeat"]


def test_openinference_spans_are_watched():
    traced = Traced()
    told = {"openinference.span.kind": "TOOL", "tool.name": "search", "session.id": "s-1"}
    told.update({"input.value": '{"query": "a"}', "output.value": "nothing found"})
    with traced.tracer.start_as_current_span("agent"):
        for _ in range(3):
            with traced.tracer.start_as_current_span("search", attributes=told):
                pass
    assert traced.heard == ["repeat"]


def test_a_call_that_two_instrumentations_tell_of_counts_once():
    traced = Traced()
    with traced.agent():
        for _ in range(2):
            traced.chat()
            with traced.tool():
                mcp = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "search"}
                with traced.tracer.start_as_current_span("tools/call search", attributes=mcp):
                    pass
    (run,) = traced.processor._runs.values()
    assert run._monitor.call_count == 2


def test_a_tool_within_another_counts():
    traced = Traced()
    with traced.agent(), traced.tool("delegate"):
        for _ in range(3):
            traced.step()
    assert traced.heard == ["repeat"]


def test_only_the_runs_heard_of_last_are_remembered():
    traced = Traced(runs=2)
    for conversation in "abcab":
        with traced.agent(conversation):
            traced.step()
    assert [*traced.processor._runs] == ["a", "b"]


def test_many_loops_and_traces_of_one_run_are_remembered_up_to_a_bound():
    traced = Traced(detector=detector(LoopPolicy.STOP, RepeatDetector(2)))
    with traced.agent():
        for number in range(102):
            for _ in range(2):
                traced.step(arguments=json.dumps({"number": number}))
    (run,) = traced.processor._runs.values()
    assert len(run._reported) == 100
    assert len(traced.heard) == 102


def test_spans_that_never_end_are_forgotten(monkeypatch):
    monkeypatch.setattr("antiloop.integrations.otel._OPEN_REMEMBERED", 3)
    traced = Traced()
    kept = [traced.tracer.start_span(f"{number}") for number in range(5)]
    assert [*traced.processor._open.values()] == kept[-3:]


def test_a_chain_of_spans_without_end_is_followed_so_far(monkeypatch):
    monkeypatch.setattr("antiloop.integrations.otel._DEPTH", 1)
    traced = Traced()
    with traced.agent("far"), traced.tracer.start_as_current_span("near"):
        traced.call()
        assert "far" not in traced.processor._runs


def test_what_cannot_be_read_harms_nothing(caplog):
    processor = LoopSpanProcessor()
    processor.on_start("on purpose")
    processor.on_end("on purpose")
    assert len(caplog.messages) == 2
    caplog.clear()


def test_a_log_that_makes_spans_of_its_own_stops_nothing(caplog):
    class Raising(BaseDetector):
        name = "raising"

        def check(self, tool_calls, tool_results):
            raise RuntimeError("a bug of a detector")

    class Sending(logging.Handler):
        def emit(self, record):
            with traced.tracer.start_as_current_span("POST /logs"):
                sent.append(record.levelname)

    sent, traced = [], Traced(detector=LoopDetector([Raising()]))
    logger, handler = logging.getLogger("antiloop"), Sending()
    logger.addHandler(handler)
    try:
        traced.step()
    finally:
        logger.removeHandler(handler)
    assert sent == ["ERROR"]
    caplog.clear()


def test_spans_of_anything_else_are_passed_by(caplog):
    traced = Traced()
    with traced.tracer.start_as_current_span("GET /", attributes={"http.route": "/"}):
        pass
    assert traced.processor._runs == {}


def test_spans_of_agents_that_are_no_calls_tell_the_conversation_only():
    traced = Traced()
    told = {"gen_ai.operation.name": "embeddings", "gen_ai.conversation.id": "c-1"}
    with traced.tracer.start_as_current_span("ask"):
        with traced.tracer.start_as_current_span("embeddings", attributes=told):
            pass
        assert traced.processor._runs == {}
        traced.call()
    assert [*traced.processor._runs] == ["c-1"]


def test_at_least_one_run_is_remembered():
    with pytest.raises(ValueError, match="runs must be a whole number, 1 or more, got 0"):
        LoopSpanProcessor(runs=0)


def test_it_is_a_processor_as_the_sdk_knows_it():
    traced = Traced()
    assert isinstance(traced.processor, SpanProcessor)
    assert traced.provider.force_flush()
    traced.provider.shutdown()


def metric_points(reader):
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    (metric,) = scope.metrics
    return (
        metric.name,
        metric.unit,
        [(dict(p.attributes), p.value) for p in metric.data.data_points],
    )


def test_the_observer_writes_a_loop_into_the_span_around_it_and_counts_it():
    reader = InMemoryMetricReader()
    observer = OtelObserver(MeterProvider([reader]))
    traced = Traced(observers=[observer])
    with traced.agent("c-1"):
        for _ in range(4):
            traced.step()
    *_, span = traced.exporter.get_finished_spans()
    assert span.attributes["antiloop.loop.detected"] is True
    assert span.attributes["antiloop.detector.name"] == "repeat"
    (event,) = span.events
    assert event.name == "antiloop.loop.detected"
    assert dict(event.attributes) == {
        "antiloop.detector.name": "repeat",
        "gen_ai.tool.name": "search",
        "antiloop.run.id": "c-1",
        "antiloop.loop.tools": ("search",),
        "antiloop.loop.calls": 3,
        "antiloop.loop.answer": "empty",
    }
    what = {"antiloop.detector.name": "repeat", "gen_ai.tool.name": "search"}
    assert metric_points(reader) == ("antiloop.loop.detections", "{detection}", [(what, 1)])


def test_the_observer_writes_into_the_span_around_also_where_none_is_current():
    traced = Traced(observers=[OtelObserver()])
    agent = traced.tracer.start_span("agent")
    around = set_span_in_context(agent)
    told = {"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": "a"}
    told["output.value"] = "nothing found"
    for _ in range(3):
        traced.tracer.start_span("search", around, attributes=told).end()
    agent.end()
    assert [event.name for event in agent.events] == ["antiloop.loop.detected"]


def test_the_observer_names_no_tool_of_a_cycle_as_the_one():
    reader = InMemoryMetricReader()
    observer = OtelObserver(MeterProvider([reader]))
    details = {"calls": [{"tool": "a", "arguments": "{}"}, {"tool": "b", "arguments": "{}"}]}
    observer.on_tool_loop_detected("", "ping_pong", details)
    assert metric_points(reader)[2] == [({"antiloop.detector.name": "ping_pong"}, 1)]


def test_names_of_tools_that_a_model_makes_up_make_few_series():
    reader = InMemoryMetricReader()
    observer = OtelObserver(MeterProvider([reader]))
    for number in range(300):
        calls = [{"tool": f"tool-{number}", "arguments": "{}"}]
        observer.on_tool_loop_detected("", "repeat", {"calls": calls})
    points = metric_points(reader)[2]
    assert len(points) == 101
    assert max(count for _, count in points) == 200


def test_a_run_id_that_no_text_can_be_is_written_as_one():
    traced = Traced(observers=[])
    with traced.agent() as around:
        OtelObserver().on_tool_loop_detected("a\ud800b" * 1_000, "repeat", {})
    (event,) = around.events
    assert len(event.attributes["antiloop.run.id"].encode()) < 1_000


def test_each_tool_without_arguments_is_told_once_however_many_there_are(caplog):
    traced = Traced(runs=5)
    with traced.agent("c-1"):
        for number in range(20):
            traced.call(f"tool-{number}", None)
    assert len(caplog.messages) == 20


@pytest.mark.parametrize("details", [{}, {"calls": 3, "indices": 3}, {"calls": ["look"]}])
def test_the_observer_needs_no_sdk_that_is_set_up(details):
    OtelObserver().on_tool_loop_detected("", "mine", details)
    assert not INVALID_SPAN.is_recording()


@pytest.mark.parametrize("arguments", ["{}", None])
def test_no_secret_in_a_name_of_a_tool_is_written_or_logged(arguments, caplog):
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz123456"
    traced = Traced(observers=[OtelObserver()])
    with traced.agent() as around:
        for _ in range(4):
            traced.call(secret, arguments)
    written = [dict(each.attributes) for each in around.events]
    assert bool(written) == (arguments is not None)
    assert caplog.messages
    assert secret not in f"{written} {caplog.messages}"


def test_health_is_known_while_the_run_goes_on():
    watch = HealthWatch()
    traced = Traced(health=watch)
    with traced.agent("parcel-1"):
        for count in range(1, 5):
            traced.chat(**{"gen_ai.usage.input_tokens": 30})
            traced.call()
            assert watch.report("parcel-1").calls == count
    report = watch.report("parcel-1")
    assert report.status is HealthStatus.LIKELY_STUCK
    assert "loop_repeat" in [each.name for each in report.warnings]
    assert (report.wasted_calls, report.wasted_tokens) == (3, 90)


def test_agents_that_take_turns_bounce_while_the_run_goes_on():
    watch = HealthWatch()
    traced = Traced(health=watch)
    for agent in ("triage", "billing", "triage", "billing"):
        with traced.agent("parcel-1", **{"gen_ai.agent.name": agent}):
            pass
    (bounce,) = watch.report("parcel-1").warnings
    assert bounce.message == "Control went 'triage', 'billing', 'triage', 'billing'."


# Older SDKs write times in a way that Python 3.12 deprecates.
@pytest.mark.filterwarnings(r"ignore:datetime\.datetime\.utcfromtimestamp:DeprecationWarning")
@pytest.mark.parametrize("turns", [1, 3])
def test_live_health_is_that_of_the_recorded_spans(turns, tmp_path):
    watch = HealthWatch()
    traced = Traced(health=watch)
    for _ in range(turns):
        with traced.agent("parcel-1"):
            for _ in range(4):
                traced.step(result=None)
                traced.step()
    path = tmp_path / "spans.jsonl"
    spans = [span.to_json(indent=None) for span in traced.exporter.get_finished_spans()]
    path.write_text("\n".join(spans))
    (run,) = read_runs(str(path))
    recorded, live = health.evaluate(run), watch.report("parcel-1")
    assert (live.score, live.calls) == (recorded.score, recorded.calls)
    assert [(each.name, each.steps) for each in live.warnings] == [
        (each.name, each.steps) for each in recorded.warnings
    ]


@pytest.fixture
def metered():
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])

    def read():
        (resource,) = reader.get_metrics_data().resource_metrics
        (scope,) = resource.scope_metrics
        return {each.name: (each.unit, list(each.data.data_points)) for each in scope.metrics}

    yield OtelMetrics("mine", meter_provider=provider, prices=PRICES, model="small"), read
    provider.shutdown()


def test_metrics_have_their_units_and_attributes(metered):
    metrics, read = metered
    agent_of(metrics).run("Go")
    metrics.on_second_opinion("r", None, Opinion(True))
    found = read()
    assert {name: unit for name, (unit, _) in found.items()} == {
        "antiloop.loops": "{loop}",
        "antiloop.wasted_calls": "{call}",
        "antiloop.wasted_tokens": "{token}",
        "antiloop.wasted_cost": "{currency}",
        "antiloop.questions": "{question}",
        "antiloop.errors": "{error}",
        "antiloop.rounds": "{round}",
        "antiloop.runs": "{run}",
        "antiloop.webhook_dropped": "{loop}",
        "antiloop.suspicion": "1",
        "antiloop.decision.duration": "s",
    }
    stopped = [
        point for point in found["antiloop.loops"][1] if point.attributes["action"] == "stop"
    ]
    assert [(point.value, dict(point.attributes)) for point in stopped] == [
        (
            1,
            {
                "detector": "repeat",
                "tool": "look",
                "action": "stop",
                "preset": "mine",
                "shadow": "false",
            },
        )
    ]
    (suspicion,) = found["antiloop.suspicion"][1]
    assert (suspicion.max, dict(suspicion.attributes)) == (1.0, {"preset": "mine"})
    assert found["antiloop.decision.duration"][1][0].count >= 9
