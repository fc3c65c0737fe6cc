"""OpenTelemetry traces: which spans make one run, and what else is known of it."""

import base64
import gzip
import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.exceptions import TraceUnreadable
from antiloop.formats._spans.agent_span import AgentSpan
from antiloop.formats._spans.span import Span
from antiloop.traces import read_runs, replay
from antiloop.traces._files.otlp_binary import is_otlp
from antiloop.traces._files.source import open_lines
from antiloop.traces._readers.otlp import SpanArchive

FIXTURES = Path(__file__).parent / "fixtures" / "otlp"
TRACE = "854fe0ff75e30564fbfc3777b9ec1f40"


def exported(id_, start=0, trace=TRACE, parent=None, error=None, **told):
    """Make a line with one span; ``__`` stands for the dot in names of attributes."""
    span = {
        "traceId": trace,
        "spanId": f"{id_:016x}",
        "parentSpanId": "" if parent is None else f"{parent:016x}",
        "startTimeUnixNano": str(start * 10**6),
        "endTimeUnixNano": str((start + 2) * 10**6),
        "status": {} if error is None else {"code": 2, "message": error},
        "attributes": [
            {"key": key.replace("__", "."), "value": {"stringValue": value}}
            for key, value in told.items()
        ],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def tool(id_, start=0, **options):
    told = {"gen_ai__tool__name": "ls", "gen_ai__tool__call__arguments": "{}", **options}
    return exported(id_, start, **told)


def test_a_trace_is_a_run_unless_it_belongs_to_a_conversation(read):
    other, third = "a" * 32, "b" * 32
    runs = read(
        tool(1),
        tool(2, trace=other, gen_ai__conversation__id="c"),
        tool(3, trace=third, gen_ai__conversation__id="c"),
    )
    assert [(run.run_id, len(run), run.turn_starts) for run in runs] == [
        (TRACE, 1, ()),
        ("c", 2, (1,)),
    ]


def test_the_conversation_is_that_of_the_nearest_span_around(read):
    runs = read(
        tool(9, parent=5),
        exported(5, parent=3),
        exported(3, gen_ai__conversation__id="inner", parent=1),
        exported(1, gen_ai__conversation__id="outer"),
        tool(8),
    )
    assert {run.run_id: len(run) for run in runs} == {"inner": 2, "outer": 0}


def test_spans_in_a_circle_end(read):
    (run,) = read(tool(1, parent=2), tool(2, parent=1, gen_ai__tool__name="cd"))
    assert len(run) == 2


class Counted(dict):
    """Counts how often an entry is looked up."""

    asked = 0

    def __getitem__(self, key):
        self.asked += 1
        return super().__getitem__(key)


@given(st.lists(st.integers(0, 30), min_size=30, max_size=30))
@example([0, *range(29)])
@example(list(range(30)))
@example([*range(1, 30), 0])
def test_looking_for_conversations_asks_each_span_once_for_what_is_around_it(parents):
    archive = SpanArchive(parents=Counted())
    for number, parent in enumerate(parents):
        span = Span("t", str(number), str(parent), 0, 0, {})
        archive.add(1, span, AgentSpan(span, "tool"))
    assert archive.runs()["t"][1] == [found for _, found in archive.spans]
    assert archive.parents.asked <= len(parents)


def test_calls_and_replies_are_events(read):
    model = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "m"}
    usage = {"gen_ai__usage__input_tokens": "5", "gen_ai__usage__output_tokens": "2"}
    agent = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "support"}
    (run,) = read(
        exported(1, 1, **agent),
        exported(2, 2, parent=1, **model, **usage),
        tool(3, 4, parent=1, error="no such file"),
        exported(4, 6, parent=1, **model),
    )
    assert [(event.type, event.step, event.latency_ms) for event in run.events] == [
        ("llm_call_completed", 0, 2.0),
        ("tool_call_completed", 0, 2.0),
        ("llm_call_completed", 1, 2.0),
    ]
    assert run.events[0].tokens == 7
    assert run.events[1].error == "no such file"
    assert (run.agent, run.model) == ("support", "m")
    assert (run.input_tokens, run.output_tokens, run.cost, run.failed) == (5, 2, None, False)


def test_a_run_failed_if_its_outermost_agent_did(read):
    agent = {"gen_ai__operation__name": "invoke_agent"}
    inner = exported(2, parent=1, error="x", **agent)
    assert not read(exported(1, **agent), inner)[0].failed
    assert read(exported(1, error="x", **agent), inner)[0].failed


def test_missing_arguments_are_told_once_for_each_run(read):
    line = exported(1, gen_ai__tool__name="ls")
    read(line)
    assert read.trouble[0].endswith(
        f":1: 1 call of run '{TRACE}' has no arguments (recording them is opt-in),"
        " so it cannot be compared; skipped"
    )
    read(line, exported(2, gen_ai__tool__name="ls"))
    assert len(read.trouble) == 1
    assert ":1: 2 calls of run" in read.trouble[0]
    assert "so they cannot be compared" in read.trouble[0]


def test_a_file_without_agents_says_so(read):
    assert read(exported(1, http__method="GET")) == []
    assert "no spans of agents here" in read.trouble[0]


def test_lines_of_something_else_are_told(read):
    assert len(read(tool(1), {"other": 1})) == 1
    assert "f:2: expected OpenTelemetry spans as JSON" in read.trouble[0]


def test_spans_without_a_trace_are_read(read):
    assert [run.run_id for run in read(tool(1, trace=""))] == ["trace"]


@pytest.mark.parametrize("name", ["gen-ai", "openinference", "messages"])
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(random=st.randoms())
def test_neither_the_order_of_spans_nor_a_second_export_changes_anything(tmp_path, name, random):
    written = (FIXTURES / f"stuck-{name}.jsonl").read_text().splitlines()
    path = tmp_path / "f"

    def told(lines):
        path.write_text("\n".join(lines))
        return [(run.run_id, run.calls, run.results, run.events) for run in read_runs(str(path))]

    expected = told(written)
    lines = written + random.sample(written, 3)
    random.shuffle(lines)
    assert told(lines) == expected


@pytest.mark.parametrize(
    ("told", "tokens"),
    [
        ({"total": "70"}, 70),
        ({"prompt": "50", "completion": "20"}, 70),
        ({"prompt": "50", "completion": "20", "total": "75"}, 75),
        ({"prompt": "50"}, 50),
        ({}, None),
    ],
)
def test_the_tokens_of_a_reply_are_its_total_or_the_sum_of_its_parts(read, told, tokens):
    counts = {f"llm__token_count__{name}": value for name, value in told.items()}
    kind = "openinference__span__kind"
    reply = exported(1, **{kind: "LLM"}, **counts)
    (run,) = read(reply, exported(2, 5, **{kind: "TOOL", "tool__name": "ls"}))
    assert run.events[0].tokens == tokens


def named(id_, start, agent, **options):
    told = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": agent, **options}
    return exported(id_, start, **told)


def test_agents_that_take_turns_hand_over(read):
    (run,) = read(
        named(1, 0, "triage"),
        tool(2, 5, parent=1),
        named(3, 10, "billing"),
        named(4, 20, "billing"),
        named(5, 30, "triage"),
    )
    handoffs = [each for each in run.events if each.type == "handoff_started"]
    assert [(each.step, each.agent, each.to_agent) for each in handoffs] == [
        (1, "triage", "billing"),
        (1, "billing", "triage"),
    ]


def test_agents_without_names_hand_nothing_over(read):
    unnamed = exported(1, 0, gen_ai__operation__name="invoke_agent")
    (run,) = read(named(2, 5, "a"), unnamed, tool(3, 9), named(4, 12, "a"))
    assert [each.type for each in run.events] == ["tool_call_completed"]


def gen_ai_messages(*texts, role="user"):
    told = [{"role": role, "parts": [{"type": "text", "content": text}]} for text in texts]
    return json.dumps(told)


def gen_ai_reply(id_, start, asked, said):
    told = {"input": gen_ai_messages(*asked), "output": gen_ai_messages(*said, role="assistant")}
    named = {f"gen_ai__{side}__messages": text for side, text in told.items()}
    return exported(id_, start, gen_ai__operation__name="chat", **named)


def openinference_reply(id_, start, asked, said, part="content"):
    told = {"openinference__span__kind": "LLM"}
    for side, role, texts in (("input", "user", asked), ("output", "assistant", said)):
        for index, text in enumerate(texts):
            told[f"llm.{side}_messages.{index}.message.role"] = role
            told[f"llm.{side}_messages.{index}.message.{part}"] = text
    return exported(id_, start, **told)


def openinference_parts(*given):
    return openinference_reply(*given, part="contents.0.message_content.text")


REPLIES = pytest.mark.parametrize("reply", [gen_ai_reply, openinference_reply, openinference_parts])


@REPLIES
def test_what_was_said_is_kept_before_the_calls_of_the_same_reply(read, reply):
    (run,) = read(
        reply(1, 1, ["Find the rules."], ["Let me look."]),
        tool(2, 3),
        reply(3, 6, ["And the fees?"], ["Let me look", "there."]),
    )
    assert [(each.role.value, each.text, each.position) for each in run.messages] == [
        ("user", "Find the rules.", 0),
        ("assistant", "Let me look.", 0),
        ("user", "And the fees?", 1),
        ("assistant", "Let me look\nthere.", 1),
    ]
    assert run.turn_starts == (0, 1)


@pytest.mark.parametrize("kind", ["reasoning", "thinking"])
def test_thoughts_are_kept_before_the_reply(read, kind):
    parts = [{"type": kind, "content": "hm"}, {"type": "text", "content": "Let me look."}]
    output = json.dumps([{"role": "assistant", "parts": parts}, {"role": "assistant"}])
    told = {"gen_ai__operation__name": "chat", "gen_ai__output__messages": output}
    (run,) = read(exported(1, 1, gen_ai__input__messages=gen_ai_messages("Go"), **told))
    assert [(each.text, each.is_thought) for each in run.messages] == [
        ("Go", False),
        ("hm", True),
        ("Let me look.", False),
    ]
    assert read(tool(2), exported(1, 1, **told))[0].messages == ()


@REPLIES
def test_a_reply_that_repeats_itself_is_found_in_a_trace(read, reply):
    chant = "I should look at the file again before I go on. " * 60
    (run,) = read(reply(1, 1, ["Go."], [chant]), tool(2, 3))
    found = [
        verdict.detection.detector_name for _, verdict in replay(run, LoopDetector.escalating())
    ]
    assert found == ["chant"]


@REPLIES
def test_equal_answers_to_ever_new_questions_are_no_monologue(read, reply):
    spans = [reply(n + 1, 5 * n, [f"Is {n} a prime?"], ["Yes, it is."]) for n in range(6)]
    (run,) = read(*spans)
    assert (len(run.messages), list(replay(run, LoopDetector.escalating()))) == (12, [])


@REPLIES
def test_words_are_left_out_where_nobody_knows_what_was_asked(read, reply):
    (run,) = read(*(reply(n + 1, 5 * n, [], ["Yes, it is."]) for n in range(6)))
    assert run.messages == ()


def of_service(line, name):
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]}
    (spans,) = line["resourceSpans"]
    return {"resourceSpans": [{**spans, "resource": resource}]}


def test_a_run_without_the_span_of_its_agent_is_named_after_the_program(read):
    (run,) = read(of_service(tool(1, parent=9), "helpdesk"), of_service(tool(2, 5), "helpdesk"))
    assert run.agent == "helpdesk"


def test_an_agent_that_has_a_name_keeps_it(read):
    root = named(1, 0, "writer")
    assert [run.agent for run in read(of_service(root, "helpdesk"), tool(2, 5))] == ["writer"]


def test_the_name_that_an_sdk_makes_up_is_none(read):
    assert [run.agent for run in read(of_service(tool(1), "unknown_service:python"))] == [None]


def test_a_printed_span_names_the_program_too(read):
    context = {"trace_id": "0x" + TRACE, "span_id": "0x" + "1" * 16}
    told = {"gen_ai.tool.name": "ls", "gen_ai.tool.call.arguments": "{}"}
    resource = {"attributes": {"service.name": "helpdesk"}, "schema_url": ""}
    (run,) = read({"context": context, "attributes": told, "resource": resource})
    assert (run.agent, len(run)) == ("helpdesk", 1)


class TestBinary:
    """What exporters send as application/x-protobuf."""

    @pytest.fixture
    def message(self):
        trace = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
        from google.protobuf.json_format import ParseDict

        def make(*lines):
            spans = [json.loads(json.dumps(line)) for line in lines]
            for line in spans:
                (span,) = line["resourceSpans"][0]["scopeSpans"][0]["spans"]
                for name in ("traceId", "spanId", "parentSpanId"):
                    span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
            whole = {"resourceSpans": [each for line in spans for each in line["resourceSpans"]]}
            return ParseDict(whole, trace.TracesData()).SerializeToString()

        return make

    LINES = tuple(of_service(tool(number, number * 10), "helpdesk") for number in range(1, 5))

    @pytest.fixture
    def expected(self, read):
        return [(run.run_id, run.calls, run.results, run.agent) for run in read(*self.LINES)]

    @pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
    def test_one_message_is_read_as_its_json(self, message, expected, tmp_path, pack):
        path = tmp_path / "traces.bin"
        path.write_bytes(pack(message(*self.LINES)))
        assert told(path) == expected

    def test_messages_behind_their_lengths_are_read(self, message, expected, tmp_path):
        path = tmp_path / "traces.bin"
        messages = [message(line) for line in self.LINES]
        path.write_bytes(b"".join(len(each).to_bytes(4, "big") + each for each in messages))
        assert told(path) == expected

    def test_a_file_that_ends_within_a_message_gives_what_came_before(self, message, tmp_path):
        path = tmp_path / "traces.bin"
        whole = message(self.LINES[0])
        framed = len(whole).to_bytes(4, "big") + whole
        path.write_bytes(framed + framed[:-3])
        runs = read_runs(path)
        assert len(next(runs)) == 1
        with pytest.raises(TraceUnreadable, match="the file ends within a message"):
            next(runs)

    def test_a_damaged_message_is_named(self, message, tmp_path):
        path = tmp_path / "traces.bin"
        path.write_bytes(message(*self.LINES)[:-3])
        with pytest.raises(TraceUnreadable, match=r"message 1 is damaged"):
            list(read_runs(path))

    def test_a_message_that_is_too_long_is_not_read(self, message, tmp_path):
        path = tmp_path / "traces.bin"
        path.write_bytes(message(*self.LINES))
        with (
            pytest.raises(TraceUnreadable, match="longer than 100 bytes"),
            open_lines(str(path), 100) as (_, lines),
        ):
            list(lines)

    def test_the_package_that_is_missing_is_named(self, message, tmp_path, monkeypatch):
        path = tmp_path / "traces.bin"
        path.write_bytes(message(*self.LINES))
        monkeypatch.setitem(sys.modules, "opentelemetry.proto.trace.v1.trace_pb2", None)
        with pytest.raises(TraceUnreadable, match=r'pip install "antiloop\[otel\]"'):
            list(read_runs(path))

    @pytest.mark.parametrize("text", ["\n\n\n{}", "\n", '\n{"a": 1}\n', "\n\t\r\n"])
    def test_text_that_begins_with_an_empty_line_is_text(self, text):
        assert not is_otlp(text.encode())


def told(path):
    return [(run.run_id, run.calls, run.results, run.agent) for run in read_runs(path)]
