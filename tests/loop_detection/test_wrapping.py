"""An answer compares alike whatever a host puts around it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection._evidence.wrapping import is_object, unwrapped

PLAIN = st.lists(
    st.sampled_from("the three files were not found in no time ok 404 7 über 无 x=1".split()),
    min_size=2,
    max_size=12,
).map(" ".join)
WRAPPINGS = {
    "mcp": lambda text: json.dumps({"content": [{"type": "text", "text": text}], "isError": False}),
    "blocks": lambda text: json.dumps([{"type": "text", "text": text}]),
    "verdict": lambda text: json.dumps({"status": "success", "data": text}),
    "flag": lambda text: json.dumps({"success": True, "error": None, "message": text}),
    "id": lambda text: json.dumps({"tool_call_id": "call_9f27ab", "output": text}),
    "shell": lambda text: json.dumps({"stdout": text, "stderr": "", "exit_code": 0, "took_ms": 8}),
    "element": lambda text: f"<tool_result>\n<output>\n{text}\n</output>\n</tool_result>",
    "attributes": lambda text: f'<result tool="read" call="9f27ab" ms="83">{text}</result>',
    "fence": lambda text: f"```text\n{text}\n```",
    "colors": lambda text: f"\x1b[1;32m{text}\x1b[0m",
    "clock": lambda text: f"[2026-11-28 10:00:07] {text}",
    "remark": lambda text: f"{text}\n\n[completed in 0.83s]",
    "aside": lambda text: f"{text}\n<system_warning>Token usage: 41/200; 159 left</system_warning>",
    "stamp": lambda text: f"2026-11-28T10:00:07.123456Z {text}",
    "progress": lambda text: f"\r10 %\r\x1b[32m50 %\r{text}",
    "object": lambda text: json.dumps({"status": "success", "result": {"output": text}}),
    "two": lambda text: f"```\n{json.dumps({'ok': True, 'result': text})}\n```",
}
KEPT = [
    '{"status": "running", "log": "step 3 of 9"}',
    '{"status": "success", "data": "9f27ab"}',
    '{"success": false, "message": "it went wrong"}',
    '{"exit_code": 1, "stdout": "two words"}',
    '{"content": [], "isError": false}',
    '{"a": "two words", "b": "two words"}',
    '{"ids": ["two words"]}',
    '{"title": "two words"}',
    "{two words}",
    '{"result": {"title": "two words"}}',
    '{"result": {"output": "two words", "state": "new"}}',
    '{"data": {"data": {"data": {"data": {"data": {"data": "two words"}}}}}}',
    "<status>running</status>",
    '<result status="running">two words</result>',
    '<result id="9f27ab" exit_code="1">two words</result>',
    "<a>one two</a>\n<a>three four</a>",
    "<li>one two</li><p>three</p>",
    "```\none two\n```\nand\n```\nthree four\n```",
    "one two (3 failed)",
    "[completed in 0.83s]",
    "one two\n<system>three</system> four <b>",
    "one two\n<progress>4 of 9</progress>",
    "(see above)",
    "2026-11-28 10:00:07",
    "10:00:07 one two\nthree four",
    "one two\r\nthree\r\n",
    "\x1b[7mone two\x1b[0m\nthree\x1b[0m",
    "\x1b[32mone two",
    "one \x1b[32mtwo\x1b[0m",
]


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=list(WRAPPINGS))
@given(PLAIN)
def test_what_is_put_around_an_answer_is_taken_off(wrap, text):
    assert unwrapped(wrap(text)) == text == unwrapped(text)


@pytest.mark.parametrize("clock", ["{}", "[{}]", "2026-11-28 {},123", "2026-11-28T{}.5Z", "({}):"])
@given(st.lists(PLAIN, min_size=1, max_size=6))
def test_clocks_before_all_lines_are_taken_off(clock, lines):
    stamped = [f"{clock.format(f'10:00:{at:02}')} {line}" for at, line in enumerate(lines)]
    assert unwrapped("\n".join(stamped)) == "\n".join(lines)


@pytest.mark.parametrize("text", KEPT)
def test_what_may_be_part_of_an_answer_stays(text):
    assert unwrapped(text) == text


@pytest.mark.parametrize("data", ['{"id":7}', "[]", '["a"]'])
def test_data_is_taken_out_though_it_is_a_single_word(data):
    assert unwrapped(json.dumps({"status": "success", "data": data})) == data
    assert unwrapped(f"<output>{data}</output>") == data


@pytest.mark.parametrize("holder", ["content", "data", "text", "message", "output", "Result"])
def test_a_text_that_is_alone_in_an_object_is_taken_out(holder):
    assert unwrapped(json.dumps({holder: "one two"})) == "one two"


def test_blocks_of_text_are_lines():
    blocks = [{"type": "text", "text": text} for text in ("one two", "three")]
    assert unwrapped(json.dumps(blocks)) == "one two\nthree"


@pytest.mark.parametrize("layers", [4, 5])
def test_four_layers_are_opened(layers):
    text = "one two"
    for _ in range(layers):
        text = WRAPPINGS["mcp"](text)
    assert (unwrapped(text) == "one two") == (layers == 4)


def test_layers_without_end_are_left():
    text = "one two"
    for _ in range(6):
        text = WRAPPINGS["mcp"](text)
    assert unwrapped(unwrapped(text)) == "one two" != unwrapped(text)


def told(steps):
    monitor = LoopDetector.escalating().monitor()
    return [monitor.after([ToolCall(*call)], [answer]).action.value for *call, answer in steps]


ASKED = [("look", {"at": n}) for n in range(4)]
WENT_WELL = PLAIN.filter(lambda text: "not" not in text.split())
RUNS = st.lists(
    st.tuples(st.sampled_from(ASKED), WENT_WELL | st.just("No files found")), max_size=8
)


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=list(WRAPPINGS))
@given(RUNS, st.integers(1, 3))
def test_a_run_is_judged_alike_whatever_is_around_its_answers(wrap, run, times):
    plain = [(*call, answer) for call, answer in run * times]
    assert told([(*call, wrap(answer)) for *call, answer in plain]) == told(plain)


def test_a_choice_that_only_a_color_marks_moves_on():
    lines = [f"entry {number}" for number in range(7)]
    screens = [
        "\n".join(
            f"\x1b[7m{line}\x1b[0m" if at == chosen else line for at, line in enumerate(lines)
        )
        for chosen in range(7)
    ]
    steps = [("terminal", {"keys": "Down"}, screen) for screen in screens]
    assert set(told(steps)) == {"continue"}


def test_an_id_and_a_time_around_an_answer_are_no_news():
    page = "\n".join(f"line {n} of the page" for n in range(400))
    for wrap in (
        lambda n: json.dumps({"tool_call_id": f"call_{n:024x}", "output": page}),
        lambda n: f"{page}\n[completed in {n}.{n}s]",
        lambda n: f"{page}\n<system-note>{n} of 9 calls are left</system-note>\n",
    ):
        actions = told([("get_page", {"id": 7}, wrap(n)) for n in range(4)])
        assert actions == ["continue", "continue", "notify", "block"]


def test_what_went_well_did_not_fail_whatever_it_says():
    answer = '{"success": true, "message": "%s was not found before and is there now"}'
    steps = [("add", {"name": f"n{n}"}, answer % f"n{n}") for n in range(8)]
    assert set(told(steps)) == {"continue"}


def test_a_wait_whose_end_stands_beside_its_text_is_over():
    answer = '{"output": "all is built", "exit_code": 0}'
    assert told([("wait_agent", {"id": "a"}, answer)] * 3)[-1] == "notify"


ACTS = st.sampled_from("process_item assign dispatch handle label tag enqueue pick score".split())
DONE = st.sampled_from(
    ["The item was handled.", "done and saved", "gespeichert und fertig", "已 处理"]
)


@pytest.mark.parametrize("wrap", ["verdict", "flag", "id", "shell", "message", "item"])
@given(ACTS, DONE)
def test_an_object_may_acknowledge_each_of_many_acts(wrap, tool, said):
    wrappings = {
        **WRAPPINGS,
        "message": lambda text: json.dumps({"message": text}),
        "item": lambda text: json.dumps([{"message": text}]),
    }
    answer = wrappings[wrap](said)
    acts = [(tool, {"id": n, "note": f"note {7 * n}"}, answer) for n in range(14)]
    assert set(told(acts)) == {"continue"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"success": true, "message": "it is done"}', True),
        ('\n{"message": "it is done"}', True),
        ('{"content": "it is done"}', True),
        ('{"content": [], "isError": false}', False),
        ('[{"success": true}]', False),
        ('{"success": true', False),
        ("it is done", False),
    ],
)
def test_the_content_of_mcp_is_no_object_of_the_tool(text, expected):
    assert is_object(text) is expected
