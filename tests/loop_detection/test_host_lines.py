"""What a host puts around every answer hides no loop, and makes none."""

import json
import random
from datetime import datetime, timedelta
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolResult
from antiloop.loop_detection._evidence.host_lines import HostLines

PRESETS = ["default", "escalating", "thorough"]
START = datetime(2026, 11, 2, 10)


def token(number):
    return f"{random.Random(str(number)).getrandbits(48):012x}"


HOSTS = {
    "an id before": lambda text, n: f"[call {token(-n)}]\n{text}",
    "two lines before": lambda text, n: f"Chunk: {token(-n)}\nWall time: 0.{n}1 seconds\n{text}",
    "the time before": lambda text, n: f"{START + timedelta(seconds=n)}\n{text}",
    "a time behind": lambda text, n: f"{text}\n\n(took {n}.5s at {START + timedelta(seconds=n)})\n",
    "both": lambda text, n: f"id: {token(-n)}\n{text}\n[done in {n} ms]",
    "four lines before": lambda text, n: (
        f"Chunk: {token(-n)}\nTime: 0.{n}1 seconds\nexited with 0\nOutput:\n{text}"
    ),
    "an id of letters and digits": lambda text, n: f"Result of call_{letters(n)}:\n{text}",
    "an element with an id": lambda text, n: f'<result id="{letters(n)}">\n{text}\n</result>',
    "its number on the first line": lambda text, n: f"OBSERVATION {letters(n)}: {text}",
    "its number behind a word": lambda text, n: f"Obs {n}> {text}",
    "its number and theirs": lambda text, n: f"[{n}/99] (of 99) {text} (is 5) of [7] it",
    "a time on the last line": lambda text, n: f"{text} (took {n}.53 s)",
    "an id on the last line": lambda text, n: f"{text} [id: {letters(n)}]",
    "the turns that are left": lambda text, n: f"{text}\nREMINDER: {99 - n} turns are left.",
    "the tokens so far": lambda text, n: f"{text}\n\n[tokens: {(n + 5) * 213:,} / 200,000]",
    "the cost so far": lambda text, n: f"{text}\nCost: ${n * 0.0137:.4f}",
    "an object with an id": lambda text, n: json.dumps({"id": letters(n), "output": text}),
    "an object with its number": lambda text, n: json.dumps({"step": n, "observation": text}),
    "a compact object": lambda text, n: compact({"result": text, "meta": {"tokens": n * 17}}),
}


def letters(number):
    """Make an id as providers do, which begins with a letter and holds a digit."""
    made = random.Random(number)
    return f"a{''.join(made.choices(ascii_letters, k=9))}{''.join(made.choices(digits, k=9))}"


def compact(value):
    return json.dumps(value, separators=(",", ":"))


def reads(count, seed=0):
    """Make calls that read different files."""
    texts = [
        " ".join(letters(10_000 + seed + 100 * at + part)[:9] for part in range(9))
        for at in range(count)
    ]
    return [
        ("read", {"path": f"{token(10_000 + seed + at)}.md"}, f"# {at}\n{text}\nend")
        for at, text in enumerate(texts)
    ]


def taken(monitor, steps, host=None, first=0):
    actions = []
    for number, (tool, arguments, text) in enumerate(steps, first):
        shown = text if host is None else host(text, number)
        verdict = monitor.after([ToolCall(tool, arguments)], [ToolResult(shown)])
        actions.append(verdict.action.value)
    return actions


@given(st.sampled_from(PRESETS), st.sampled_from(list(HOSTS)), st.integers(4, 9), st.integers(0, 9))
def test_a_loop_is_found_as_without_the_lines_of_a_host(preset, name, before, seed):
    host = HOSTS[name]
    repeated = [("search", {"q": "cats"}, "3 documents\nabout dogs and birds\nand no more")] * 5
    steps = [*reads(before, seed), *repeated]
    detector = getattr(LoopDetector, preset)()
    assert taken(detector.monitor(), steps, host) == taken(detector.monitor(), steps)


NUMBERED = ["its number behind a word", "its number and theirs", "the turns that are left"]


@given(st.sampled_from(PRESETS), st.sampled_from(NUMBERED), st.integers(4, 9), st.integers(0, 9))
def test_the_number_of_a_call_hides_no_loop_of_one_tool(preset, name, before, seed):
    repeated = [("read", {"path": "a.md"}, "3 documents\nabout dogs and birds\nand no more")] * 5
    steps = [*reads(before, seed), *repeated]
    detector = getattr(LoopDetector, preset)()
    assert taken(detector.monitor(), steps, HOSTS[name]) == taken(detector.monitor(), steps)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_loop_is_found_where_the_line_of_a_host_names_the_tool(preset):
    steps = [(f"read_{at % 3}", *step[1:]) for at, step in enumerate(reads(9))]
    steps += [("search", {"q": "cats"}, "3 documents\nabout dogs and birds\nand no more")] * 5
    named = [
        (tool, arguments, f"**Output of {tool}** ({37 * number % 91}.5 ms)\n\n{text}")
        for number, (tool, arguments, text) in enumerate(steps)
    ]
    detector = getattr(LoopDetector, preset)()
    assert taken(detector.monitor(), named) == taken(detector.monitor(), steps)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_work_is_not_told_for_the_lines_of_a_host(preset, host):
    monitor = getattr(LoopDetector, preset)().monitor()
    assert set(taken(monitor, reads(40), host)) == {"continue"}


@given(st.sampled_from(PRESETS), st.sampled_from(list(HOSTS)), st.randoms())
def test_the_order_of_parallel_answers_does_not_matter(preset, name, chance):
    asked = [*reads(6), ("search", {"q": "cats"}, "3 documents\nabout dogs"), ("list", {}, "a\nb")]
    rounds = [[(step, HOSTS[name]) for step in chance.sample(asked, 3)] for _ in range(12)]
    taken_in_order, taken_otherwise = [], []
    for taken, order in ((taken_in_order, list), (taken_otherwise, shuffled(chance))):
        monitor = getattr(LoopDetector, preset)().monitor()
        for number, steps in enumerate(rounds):
            answers = order(
                [
                    (t, a, host(text, 3 * number + at))
                    for at, ((t, a, text), host) in enumerate(steps)
                ]
            )
            calls = [ToolCall(tool, arguments) for tool, arguments, _ in answers]
            results = [ToolResult(text) for *_, text in answers]
            taken.append(monitor.after(calls, results).action)
    assert taken_in_order == taken_otherwise


def shuffled(chance):
    return lambda items: chance.sample(items, len(items))


@given(st.integers(0, 12))
def test_a_resumed_run_knows_the_lines_of_its_host(cut):
    host = HOSTS["both"]
    steps = [*reads(6), *[("search", {"q": "cats"}, "3 documents\nabout dogs")] * 7]
    live, first = LoopDetector.escalating().monitor(), LoopDetector.escalating().monitor()
    before = taken(first, steps[:cut], host)
    resumed = LoopDetector.escalating().monitor()
    resumed.restore(json.loads(json.dumps(first.snapshot())))
    assert before + taken(resumed, steps[cut:], host, cut) == taken(live, steps, host)


def shown(lines, texts, arguments=None):
    asked = [(f"tool {at % 2}", token(at), arguments or {"n": at}) for at in range(len(texts))]
    return [lines.without(text, *each) for text, each in zip(texts, asked)]


@pytest.mark.parametrize(
    "texts",
    [
        [f"{41 - at} passed\nin all\n" for at in range(6)],  # nothing else is ever said
        [f"Row {'ab'[at // 5]} was added\nRows: {at // 2}" for at in range(9)],  # it may stay
        [f"part {token(at)[:3]}\nread\nLines left: {31 * at % 97}" for at in range(9)],
        [f'{{"is": "{"abcdef"[at]}", "v": "v{11 + at % 2}"}}' for at in range(6)],  # some again
        [f'{{"step": {at}, "a": {"bcdefg"[at]}}}' for at in range(6)],  # not an object
        [f"{'a' * 121} {token(at)}\nread\nend" for at in range(6)],  # a line of the answer
        [f"[{token(at)}]" for at in range(6)],  # all that is said
        [f"id {token(at)}\ntook {at} s" for at in range(6)],
        [f"web@{token(7)}:~$\n{at}\nend" for at in range(6)],  # the same each time
        [f"Day 2026-11-0{at + 1}\nno time is free" for at in range(6)],  # a day is what was asked
    ],
)
def test_a_line_that_may_say_something_stays(texts):
    assert shown(HostLines(), texts) == texts


def test_a_line_that_was_asked_for_stays():
    texts = [f"SKU {token(at)}:\nin stock, {'many few'.split()[at % 2]}" for at in range(7)]
    lines = HostLines()
    assert [lines.without(text, "stock", text, {"sku": text[4:16]}) for text in texts] == texts
    assert shown(lines, texts)[1:] == [text.split("\n")[1] for text in texts[1:]]


def test_a_number_that_falls_among_those_that_rise_begins_anew():
    texts = [f"{token(at)[-2:]} is read\nStep {at % 3} of 9" for at in range(9)]
    assert shown(HostLines(), texts) == texts


@pytest.mark.parametrize("arguments", [{"to": "north"}, {"command": "walk north"}])
def test_a_number_of_one_tool_counts_what_is_done(arguments):
    texts = [f"a {'field tree river hill'.split()[at % 4]}\nScore: {5 * at}" for at in range(9)]
    lines = HostLines()
    left = [lines.without(text, "walk", token(at), arguments) for at, text in enumerate(texts)]
    assert (left == texts) == ("to" in arguments)  # each command is a tool by itself


def test_lines_are_seen_at_both_ends_of_a_long_answer():
    texts = ["\n".join(["a", *"bcdefg"[at] * 900, "z"]) for at in range(6)]
    hosted = [f"call {token(at)}:\n{text}\ntook {at} s" for at, text in enumerate(texts)]
    assert shown(HostLines(), hosted)[-1] == texts[-1]


def test_of_an_object_the_other_fields_are_left():
    texts = [
        json.dumps({"step": at, "a": "uvwxyz"[at], "b": {"c": 'd, "e": 1'}}) for at in range(6)
    ]
    kept = [json.loads(text) for text in shown(HostLines(), texts)]
    assert kept[-1] == {"a": "z", "b": {"c": 'd, "e": 1'}}


def test_one_call_again_and_again_shows_no_host():
    lines = HostLines()
    texts = [f"ticket {token(at)}\nfrom ada\nopen" for at in range(9)]
    assert [lines.without(text, "next", "next", {}) for text in texts] == texts


def test_a_failure_in_an_object_of_the_host_is_one():
    host = HOSTS["an object with its number"]
    failed = json.dumps({"stdout": "", "stderr": "bash: xxd: command not found", "returncode": 127})
    monitor = LoopDetector.escalating().monitor()
    for number, (tool, arguments, text) in enumerate([*reads(6), ("run", {"x": 1}, failed)]):
        monitor.after([ToolCall(tool, arguments)], [ToolResult(host(text, number))])
    assert monitor.window.rounds[-1].evidence[0].features.outcome.is_failure


def test_few_lines_are_remembered():
    lines = HostLines()
    for at in range(400):
        lines.without(f"{'x' * (at % 100)} {token(at)}\ntext {at}\nend", "look", token(at), {})
    assert len(lines.to_text()) < 900
