"""Why, when or as which call a model calls hides no loop, and what it asks is no comment."""

import json
import random
from uuid import NAMESPACE_URL, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolPolicy
from antiloop.loop_detection._evidence.comments import Comments

PRESETS = ["default", "escalating", "thorough"]
TOOLS = ("read", "list", "grep")
WORDS = "the file may hold what the user wants so look there first and then go on".split()
AGAIN = ("search", {"q": "cats"}, "3 documents\nabout dogs and birds\nand no more")


def sentence(number):
    return " ".join(random.Random(number).sample(WORDS, 6))


def work(count, tools=3):
    """Make calls of some tools, each about another thing."""
    return [
        (TOOLS[at % tools], {"path": f"{at:x}.md"}, f"{sentence(1000 + at)}\n{sentence(at)}\nend")
        for at in range(count)
    ]


COMMENTS = {
    "why": lambda number: sentence(-number),
    "思考": lambda number: sentence(-number),
    "request_id": lambda number: str(uuid5(NAMESPACE_URL, str(number))),
    "at": lambda number: f"2026-05-03 10:{number // 60:02}:{number % 60:02}",
    "ts": lambda number: 1_767_000_000_000 + 7_919 * number,
    "step": lambda number: number + 1,
    "budget": lambda number: f"{100 - number}",
    "left": lambda number: 100 - number,
}
MARKS = sorted(set(COMMENTS) - {"why", "思考"})


def actions(monitor, steps, name=None, first=0):
    taken = []
    for number, (tool, arguments, answer) in enumerate(steps, first):
        given = arguments if name is None else {**arguments, name: COMMENTS[name](number)}
        taken.append(monitor.after([ToolCall(tool, given)], [answer]).action.value)
    return taken


@given(st.sampled_from(PRESETS), st.sampled_from(sorted(COMMENTS)), st.integers(8, 14))
def test_a_loop_is_found_as_without_comments(preset, name, before):
    steps = [*work(before), *[AGAIN] * 6]
    detector = getattr(LoopDetector, preset)()
    bare, told = actions(detector.monitor(), steps), actions(detector.monitor(), steps, name)
    assert bare == told
    assert bare[-1] != "continue"


@given(st.sampled_from(PRESETS), st.sampled_from(MARKS), st.integers(8, 14), st.integers(1, 2))
def test_an_id_a_time_or_a_number_hides_no_loop_of_few_tools(preset, name, before, tools):
    steps = [*work(before, tools), *[(TOOLS[0], *AGAIN[1:])] * 6]
    detector = getattr(LoopDetector, preset)()
    assert actions(detector.monitor(), steps) == actions(detector.monitor(), steps, name)


@pytest.mark.parametrize("tools", [1, 3])
@pytest.mark.parametrize("name", COMMENTS)
@pytest.mark.parametrize("preset", PRESETS)
def test_work_is_not_told_for_its_comments(preset, name, tools):
    monitor = getattr(LoopDetector, preset)().monitor()
    assert set(actions(monitor, work(40, tools), name)) == {"continue"}


@pytest.mark.parametrize("name", COMMENTS)
def test_a_loop_from_the_start_is_found_once_the_comments_are_known(name):
    steps = [*[AGAIN] * 4, *work(9), *[AGAIN] * 3]
    assert actions(LoopDetector.default().monitor(), steps, name)[-1] == "raise"


@given(st.integers(0, 18), st.sampled_from(["why", "step"]))
def test_a_resumed_run_knows_its_comments(cut, name):
    steps = [*work(10), *[AGAIN] * 9]
    live, first = LoopDetector.escalating().monitor(), LoopDetector.escalating().monitor()
    before = actions(first, steps[:cut], name)
    resumed = LoopDetector.escalating().monitor()
    resumed.restore(json.loads(json.dumps(first.snapshot())))
    assert before + actions(resumed, steps[cut:], name, cut) == actions(live, steps, name)


@given(st.randoms())
def test_the_order_of_parallel_calls_does_not_matter(chance):
    asked = [*work(7), AGAIN, ("ls", {"path": "src"}, "a\nb")]
    rounds = [chance.sample(asked, 3) for _ in range(12)]
    taken = []
    for order in (list, lambda steps: chance.sample(steps, 3)):
        monitor = LoopDetector.escalating().monitor()
        taken.append([])
        for number, steps in enumerate(rounds):
            made = [
                (ToolCall(tool, {**arguments, "why": sentence(3 * number + at)}), answer)
                for at, (tool, arguments, answer) in enumerate(steps)
            ]
            calls, answers = zip(*order(made))
            taken[-1].append(monitor.after(calls, answers).action)
    assert taken[0] == taken[1]


def test_a_call_that_is_reported_again_counts_once():
    monitor = LoopDetector.escalating().monitor()
    calls = [
        ToolCall(tool, {**arguments, "why": sentence(at)}, id=f"call {at}")
        for at, (tool, arguments, _) in enumerate(work(12))
    ]
    for upto in range(1, len(calls) + 1):  # a host reports the whole history each time
        monitor.after(calls[:upto], ["read"] * upto)
    assert monitor.call_count == len(calls)


def left(calls):
    comments = Comments()
    return [
        (comments.learn(tool, arguments), comments.without(arguments))[1]
        for tool, arguments in calls
    ]


def test_an_argument_is_a_comment_from_the_calls_on_that_show_it():
    calls = [(tool, {**arguments, "why": sentence(0)}) for tool, arguments, _ in work(9)]
    assert ["why" in arguments for arguments in left(calls)] == [True] * 6 + [False] * 3


def test_a_call_that_is_made_again_for_another_reason_shows_comments_too():
    calls = [(tool, {**arguments, "why": sentence(0)}) for tool, arguments, _ in work(9)]
    again = [
        (tool, {**arguments, "why": sentence(at)}) for at, (tool, arguments) in enumerate(calls)
    ]
    told = left([each for pair in zip(calls[:4], again[:4]) for each in pair] + calls[4:])
    assert "why" not in told[-1]


@pytest.mark.parametrize(
    "calls",
    [
        # a question to several tools, each with its own options
        [(TOOLS[at % 3], {"limit": at % 3, "query": sentence(at)}) for at in range(40)],
        [("search", {"page": at % 5, "query": sentence(at)}) for at in range(40)],  # of one tool
        [(TOOLS[at % 2], {"page": at % 5, "query": sentence(at)}) for at in range(40)],  # of two
        [(TOOLS[at % 3], {"query": sentence(at)}) for at in range(40)],  # all that is asked
        [(TOOLS[at % 3], {"n": at, "tag": "cats and dogs"}) for at in range(40)],  # too short
        [(TOOLS[at % 3], {"n": at % 5, "text": f"{sentence(at)}\nend"}) for at in range(40)],
        [(TOOLS[at % 3], {"n": at % 5, "x" * 101: sentence(at)}) for at in range(40)],
        [(TOOLS[at % 3], sentence(at)) for at in range(40)],  # no object
        # two sentences, of which either may be what is asked
        [
            (TOOLS[at % 3], {"limit": 9, "query": sentence(at), "why": sentence(99 + at)})
            for at in range(40)
        ],
        # a number that comes again tells calls apart, as well as one of two that do not
        [(TOOLS[at % 3], {"path": f"{at} of all", "page": at % 4}) for at in range(40)],
        [(TOOLS[at % 3], {"x": 7 * at % 41, "y": at}) for at in range(40)],
        # lines that are read here and there
        [(TOOLS[at % 2], {"path": f"{at}.md", "line": 7 * at % 41}) for at in range(40)],
        [(TOOLS[at % 2], {"path": f"{at}.md", "line": 10**20 + at}) for at in range(40)],
        [(TOOLS[at % 3], {"n": at, "deep": True}) for at in range(40)],
        [  # half of the calls do without
            (TOOLS[at % 3], {"n": at, **({"text": sentence(at)} if at % 2 else {})})
            for at in range(40)
        ],
    ],
)
def test_what_may_be_asked_stays(calls):
    assert left(calls) == [arguments for _, arguments in calls]


def test_a_question_beside_a_comment_stays():
    asked = [{"query": sentence(-at), "why": sentence(at)} for at in range(20)]
    calls = [(tool, {**arguments, "why": sentence(0)}) for tool, arguments, _ in work(9)]
    for at, arguments in enumerate(asked):
        calls += [(("search", "find", "news")[at % 3], arguments), *calls[at % 9 : at % 9 + 1]]
    told = [arguments for arguments in left(calls) if "query" in arguments]
    assert told == [{"query": arguments["query"]} for arguments in asked]


def test_what_is_all_of_a_call_stays():
    calls = [(tool, {**arguments, "why": sentence(0)}) for tool, arguments, _ in work(9)]
    assert left([*calls, ("think", {"why": sentence(1)})])[-1] == {"why": sentence(1)}


def test_the_key_of_a_user_is_the_last_word():
    policies = {"search": ToolPolicy(key=["why"])}
    detector = LoopDetector.default(tools=policies)
    assert actions(detector.monitor(), [*work(9), *[AGAIN] * 6], "why")[-1] == "continue"


def test_few_arguments_are_remembered():
    comments = Comments()
    for at in range(4000):
        arguments = {"n": at, **{f"{name}{at % 500}": sentence(at) for name in "abcdefghij"}}
        comments.learn(TOOLS[at % 3], arguments)
    assert len(comments.to_text()) < 4000
