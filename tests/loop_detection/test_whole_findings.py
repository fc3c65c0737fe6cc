"""What each detector tells in full: words, data, calls, waste, and what a block refuses."""

import pytest
from runs import failed, features_of, in_a_row, in_rounds, step

from antiloop import PingPongDetector, RepeatDetector, StallDetector, ToolCall, ToolResult
from antiloop.loop_detection import (
    CallLimitDetector,
    ChantDetector,
    FailureStreakDetector,
    MonologueDetector,
    NearRepeatDetector,
    NoEffectDetector,
    PersistentFailureDetector,
    RecurrenceDetector,
    RepeatedFinishDetector,
    StagnationDetector,
    StandstillDetector,
    UnknownToolDetector,
)
from antiloop.loop_detection._evidence.refusal import EVERY_TOOL, near_key, tool_key

LOOK, READ = step("look", "closed", at="door"), step("read", "the text", path="a.py")
GATE = step("look", "open", at="gate")
CAPTCHA = "Please wait\nand prove you are human"


def missing(number):
    return failed("get", f"Error: {number} not found", id=number)


def turned_away(why, number):
    return failed("frob", why, n=number)


def found_nothing(*words):
    return in_a_row(*(step("find", "none", q=word) for word in words))


LOOKED = {"tool": "look", "arguments": '{"at":"door"}'}
WAS_READ = {"tool": "read", "arguments": '{"path":"a.py"}'}

# detector, run, message, what details add, calls shown, period, repetitions, indices, refused
FINDINGS = {
    "repeat": (
        RepeatDetector(3),
        in_a_row(LOOK, LOOK, LOOK),
        "Tool 'look' was called 3 times in a row with the same arguments.",
        {"tool": "look", "count": 3, "arguments": {"at": "door"}, "answer": "success"},
        [LOOKED],
        (1, 3, (0, 1, 2), None),
    ),
    "repeat of siblings": (
        RepeatDetector(2),
        in_rounds([LOOK, READ, GATE], [LOOK, READ, GATE]),
        "3 calls of 'look', 'read' came 2 times in a row with the same arguments.",
        {"tool": "look", "count": 2, "arguments": {"at": "door"}, "answer": "success"},
        [LOOKED, WAS_READ, {"tool": "look", "arguments": '{"at":"gate"}'}],
        (1, 2, (0, 1, 2, 3, 4, 5), None),
    ),
    "stall": (
        StallDetector(3),
        in_a_row(READ, *(step("get", "404", url=f"/{number}") for number in range(3))),
        "Tool 'get' returned the same result 3 times in a row.",
        {"tool": "get", "count": 3, "answer": "success"},
        [{"tool": "get", "arguments": '{"url":"/2"}'}],
        (1, 3, (1, 2, 3), (tool_key("get"),)),
    ),
    "ping-pong": (
        PingPongDetector(2, 2),
        in_a_row(LOOK, READ, LOOK, READ),
        "look -> read was repeated 2 times.",
        {
            "tool": "read",
            "cycle": ["look", "read"],
            "repetitions": 2,
            "count": 4,
            "answer": "success",
        },
        [LOOKED, WAS_READ],
        (2, 2, (0, 1, 2, 3), None),
    ),
    "ping-pong of one tool": (
        PingPongDetector(2, 2),
        in_a_row(LOOK, GATE, LOOK, GATE),
        'look {"at":"door"} -> look {"at":"gate"} was repeated 2 times.',
        {
            "tool": "look",
            "cycle": ["look", "look"],
            "repetitions": 2,
            "count": 4,
            "answer": "success",
        },
        [LOOKED, {"tool": "look", "arguments": '{"at":"gate"}'}],
        (2, 2, (0, 1, 2, 3), None),
    ),
    "ping-pong of names": (
        PingPongDetector(2, 2, match="tool_names"),
        in_a_row(*(step(tool, n=at) for at, tool in enumerate(["look", "peek", "look", "peek"]))),
        "look -> peek was repeated 2 times.",
        {
            "tool": "peek",
            "cycle": ["look", "peek"],
            "repetitions": 2,
            "count": 4,
            "answer": "unknown",
        },
        [{"tool": "look", "arguments": '{"n":2}'}, {"tool": "peek", "arguments": '{"n":3}'}],
        (2, 2, (0, 1, 2, 3), (tool_key("look"), tool_key("peek"))),
    ),
    "recurrence": (
        RecurrenceDetector(3),
        in_a_row(LOOK, READ, LOOK, READ, LOOK, READ),
        "Tool 'read' was called 3 times with the same arguments; nothing new came back.",
        {"tool": "read", "count": 3, "arguments": {"path": "a.py"}, "answer": "success"},
        [WAS_READ],
        (1, 3, (1, 3, 5), None),
    ),
    "failure streak": (
        FailureStreakDetector(3),
        in_a_row(missing(1000), missing(1001), missing(1002)),
        "Tool 'get' gave the same fruitless answer 3 times.",
        {"tool": "get", "count": 3, "answer": "failure"},
        [{"tool": "get", "arguments": '{"id":1002}'}],
        (1, 3, (0, 1, 2), (tool_key("get"),)),
    ),
    "failure streak of waiting": (
        FailureStreakDetector(3, patience=3),
        in_a_row(*(step("get", "503 rate limit exceeded, try again later", n=n) for n in "abc")),
        "Tool 'get' asked to come back later 3 times.",
        {"tool": "get", "count": 3, "answer": "waiting"},
        [{"tool": "get", "arguments": '{"n":"c"}'}],
        (1, 3, (0, 1, 2), (tool_key("get"),)),
    ),
    "failures of any tool": (
        FailureStreakDetector(4, in_a_row=3),
        in_a_row(
            failed("get", "Error: no such page", n=1),
            failed("put", "Error: read only", n=2),
            failed("look", "Error: it is dark", n=3),
        ),
        "The last 3 rounds failed, found nothing or repeated what was known.",
        {"tool": "look", "tools": ["get", "put", "look"], "count": 3, "answer": "failure"},
        [{"tool": "look", "arguments": '{"n":3}'}],
        (3, 3, (0, 1, 2), ()),
    ),
    "unknown tool": (
        UnknownToolDetector(2),
        in_a_row(*(turned_away("Error: unknown tool 'frob'", number) for number in (1, 2))),
        "2 times, a call of 'frob' was turned away before it could run.",
        {"tool": "frob", "count": 2, "answer": "invalid"},
        [{"tool": "frob", "arguments": '{"n":2}'}],
        (1, 2, (0, 1), (tool_key("frob"),)),
    ),
    "arguments that never fit": (
        UnknownToolDetector(2),
        in_a_row(*(turned_away("Error: invalid arguments for 'frob'", n) for n in (1, 2))),
        "2 times, a call of 'frob' was turned away before it could run.",
        {"tool": "frob", "count": 2, "answer": "invalid"},
        [{"tool": "frob", "arguments": '{"n":2}'}],
        (1, 2, (0, 1), ()),
    ),
    "budget of calls": (
        CallLimitDetector(2),
        in_a_row(LOOK, READ, LOOK),
        "3 calls were made; the budget is 2.",
        {"tool": "look", "count": 3, "limit": 2, "answer": "success"},
        [LOOKED],
        (1, 1, (2,), (EVERY_TOOL,)),
    ),
    "budget of a tool": (
        CallLimitDetector(per_tool={"look": 1}),
        in_a_row(LOOK, READ, LOOK),
        "Tool 'look' was called 2 times; the budget is 1.",
        {"tool": "look", "count": 2, "limit": 1, "answer": "success"},
        [LOOKED],
        (1, 1, (2,), (tool_key("look"),)),
    ),
    "the same edit": (
        NoEffectDetector(2),
        in_a_row(*[step("edit", "nothing was changed", path="a.py", old="x", new="y")] * 2),
        "Tool 'edit' applied the same change 2 times in a row.",
        {
            "tool": "edit",
            "count": 2,
            "answer": "success",
            "arguments": {"new": "y", "old": "x", "path": "a.py"},
        },
        [{"tool": "edit", "arguments": '{"new":"y","old":"x","path":"a.py"}'}],
        (1, 2, (0, 1), None),
    ),
    "the same failure after edits": (
        PersistentFailureDetector(2),
        in_a_row(
            failed("build", "Error: boom", target="all"),
            step("edit", "saved", text="new"),
            failed("build", "Error: boom", target="all"),
        ),
        "Tool 'build' was called 2 times with the same arguments and failed in the same way, "
        "whatever was changed in between.",
        {"tool": "build", "count": 2, "answer": "failure", "arguments": {"target": "all"}},
        [{"tool": "build", "arguments": '{"target":"all"}'}],
        (1, 2, (0, 2), None),
    ),
    "done again": (
        RepeatedFinishDetector(2),
        in_a_row(step("finish", "ok", text="a"), READ, step("finish", "ok", text="b")),
        "Tool 'finish' declared the run finished 2 times; nothing was edited since the first.",
        {"tool": "finish", "count": 2, "answer": "success"},
        [{"tool": "finish", "arguments": '{"text":"b"}'}],
        (1, 2, (0, 2), ()),
    ),
    "one call more than a budget that nobody named": (
        CallLimitDetector(1),
        in_a_row(LOOK, READ),
        "2 calls were made; the budget is 1.",
        {"tool": "read", "count": 2, "limit": 1, "answer": "success"},
        [WAS_READ],
        (1, 1, (1,), (EVERY_TOOL,)),
    ),
    "the same page": (
        FailureStreakDetector(4),
        in_a_row(*(step("click", f"Clicked {at}\n{CAPTCHA}", at=at) for at in "abcdef")),
        "6 different calls brought the same page or sentence.",
        {"tool": "click", "count": 6, "answer": "success"},
        [{"tool": "click", "arguments": '{"at":"f"}'}],
        (1, 6, (0, 1, 2, 3, 4, 5), ()),
    ),
    "nearly the same arguments": (
        NearRepeatDetector(3),
        found_nothing("cats and dogs", "dogs and cats", "dog and cat"),
        "Tool 'find' was called 3 times with nearly the same arguments.",
        {"tool": "find", "count": 3, "answer": "empty", "arguments": {"q": "dog and cat"}},
        [{"tool": "find", "arguments": '{"q":"dog and cat"}'}],
        (1, 3, (0, 1, 2), (near_key(features_of(ToolCall("find", {"q": "dog and cat"}), "none")),)),
    ),
    "much weak evidence": (
        StagnationDetector(),
        found_nothing(*"ant bee cat dog eel fox gnu".split()),
        "7 of the last 7 rounds failed, found nothing or repeated what was known.",
        {"tool": "find", "count": 7, "answer": "empty"},
        [{"tool": "find", "arguments": '{"q":"gnu"}'}],
        (7, 7, (0, 1, 2, 3, 4, 5, 6), ()),
    ),
    "standstill": (
        StandstillDetector(4),
        in_a_row(LOOK, READ, LOOK, READ),
        "4 rounds in a row brought nothing new.",
        {"tool": "read", "count": 4, "answer": "success"},
        [LOOKED, WAS_READ],
        (2, 2, (0, 1, 2, 3), None),
    ),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_tells_all_there_is_to_know(name):
    detector, run, message, details, shown, (period, repetitions, indices, refused) = FINDINGS[name]
    found = detector.check(*run)
    assert found.message == message
    told = {key: value for key, value in found.details.items() if key != "result_hash"}
    assert told == {**details, "indices": list(indices), "calls": shown}
    assert (found.period, found.repetitions, found.indices) == (period, repetitions, indices)
    assert found.refused == refused
    assert found.detector_name == detector.name
    assert found.identity.startswith(f"{detector.name}:")
    assert found.wasted_calls == len(indices) - len(found.details["calls"])
    assert found.is_lasting is (detector.name == "call_limit")


# is certain, may end a run, continues where an overlapping loop stood, rounds to the next rung
USUAL = (True, True, True, 1)
WEIGHT = {
    **dict.fromkeys(["failure streak", "failure streak of waiting"], (True, True, True, 2)),
    **dict.fromkeys(
        [
            *("recurrence", "the same failure after edits", "nearly the same arguments"),
        ],
        (False, True, True, 1),
    ),
    **dict.fromkeys(["arguments that never fit", "done again"], (False, True, False, 1)),
    "failures of any tool": (False, True, False, 2),
    "the same page": (False, False, True, 1),
    "much weak evidence": (False, False, False, 1),
}
WITH_RESULT = ("stall", "failure streak", "failure streak of waiting", "the same page")


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_weighs_as_much_as_its_evidence(name):
    detector, (calls, results), *_ = FINDINGS[name]
    found = detector.check(calls, results)
    weight = (found.is_certain, found.may_end_run, found.inherits, found.spacing)
    assert weight == WEIGHT.get(name, USUAL)
    keys = {features_of(calls[at], results[at]).call for at in found.indices}
    lent = {"failures of any tool": 2, "much weak evidence": 0}.get(name, len(keys))
    assert len(found.members) == lent
    assert keys.issuperset(found.members)
    hashed = {"result_hash": features_of(calls[-1], results[-1]).result}
    told = {key: value for key, value in found.details.items() if key == "result_hash"}
    assert told == (hashed if name in WITH_RESULT else {})


SUMMARIES = {
    "repeat": 'look "door" 3 times in a row: "closed"',
    "repeat of siblings": 'look "door" + read "a.py" + look "gate" 2 times in a row',
    "stall": 'get "/2", 3 calls in a row with the same result: "404"',
    "ping-pong": 'look "door" -> read "a.py" 2 times',
    "ping-pong of one tool": 'look "door" -> look "gate" 2 times',
    "ping-pong of names": "look -> peek 2 times",
    "recurrence": 'read "a.py" 3 times; nothing new came back: "the text"',
    "failure streak": (
        'get {"id":1002}, 3 calls with the same fruitless answer: "Error: 1002 not found"'
    ),
    "failure streak of waiting": (
        'get "c", the last of 3 calls that asked to come back later: "503 rate limit '
        'exceeded, try again later"'
    ),
    "failures of any tool": (
        'look {"n":3}, after 2 rounds that brought nothing either: "Error: it is dark"'
    ),
    "unknown tool": (
        'frob {"n":2}, the last of 2 calls that were turned away before they could run: '
        "\"Error: unknown tool 'frob'\""
    ),
    "arguments that never fit": (
        'frob {"n":2}, the last of 2 calls that were turned away before they could run: '
        "\"Error: invalid arguments for 'frob'\""
    ),
    "budget of calls": 'look "door", call 3; the budget is 2: "closed"',
    "budget of a tool": 'look "door", call 2; the budget is 1: "closed"',
    "the same edit": (
        'edit {"new":"y","old":"x","path":"a.py"} 2 times in a row, each the same change: '
        '"nothing was changed"'
    ),
    "the same failure after edits": (
        'build "all" 2 times, failing alike whatever was changed in between: "Error: boom"'
    ),
    "done again": (
        'finish "b", 2 times declared finished; nothing was edited since the first: "ok"'
    ),
    "one call more than a budget that nobody named": (
        'read "a.py", call 2; the budget is 1: "the text"'
    ),
    "the same page": (
        'click "f", the last of 6 calls that brought the same: "Clicked f '
        'Please wait and prove you are human"'
    ),
    "nearly the same arguments": 'find "dog and cat", 3 times with small changes: "none"',
    "much weak evidence": 'find "gnu", after 6 rounds that brought as little: "none"',
    "standstill": "4 rounds in a row brought nothing new.",
}


@pytest.mark.parametrize("name", FINDINGS)
def test_a_summary_names_what_repeated_and_what_came_back(name):
    detector, run, *_ = FINDINGS[name]
    assert detector.check(*run).summary == SUMMARIES[name]


@pytest.mark.parametrize("name", FINDINGS)
def test_the_calls_that_were_concerned_are_named_by_their_ids(name):
    detector, (calls, results), *_, (_, _, indices, _) = FINDINGS[name]
    named = [
        ToolCall(call.tool_name, call.arguments, f"id-{at}", call.round)
        for at, call in enumerate(calls)
    ]
    found = detector.check(named, results)
    last = len(found.details["calls"])
    assert found.call_ids == tuple(f"id-{index}" for index in indices[-last:])


def test_of_many_calls_at_once_the_last_five_are_shown():
    siblings = [step("look", "closed", at=number) for number in range(7)]
    calls, results = in_rounds(siblings, siblings)
    named = [
        ToolCall(call.tool_name, call.arguments, f"id-{at}", call.round)
        for at, call in enumerate(calls)
    ]
    found = RepeatDetector(2).check(named, results)
    assert found.call_ids == ("id-9", "id-10", "id-11", "id-12", "id-13")
    assert [call["arguments"] for call in found.details["calls"]] == [
        f'{{"at":{number}}}' for number in range(2, 7)
    ]
    assert found.message.startswith("7 calls of 'look' came")


def test_a_long_name_is_cut_wherever_it_is_shown():
    name = "x" * 500
    calls = [ToolCall(name, {"n": 1}), ToolCall("look"), ToolCall(name, {"n": 1}), ToolCall("look")]
    found = PingPongDetector(2, 2).check(calls, ["a", "b", "a", "b"])
    assert len(found.details["cycle"][0]) < 210
    assert found.details["cycle"][1] == "look"
    found = RepeatDetector(2).check([ToolCall(name)] * 2, [ToolResult("a"), ToolResult("a")])
    assert found.details["tool"] == found.details["calls"][0]["tool"]
    assert len(found.details["tool"]) < 210


def gone(tool, number):
    return failed(tool, f"Error: unknown tool {tool!r}", n=number)


def again(tool, word):
    return step(tool, "404", url=word)


# detector, and how one run of it looks with a tool and a word in the arguments
ONE_LOOP = {
    "stall": (StallDetector(2), lambda tool, word: [again(tool, word), again(tool, f"{word}2")]),
    "failure streak": (
        FailureStreakDetector(2, in_a_row=9),
        lambda tool, word: [failed(tool, "Error: boom", n=n) for n in (word, f"{word}2")],
    ),
    "waiting": (
        FailureStreakDetector(2, in_a_row=9, patience=2),
        lambda tool, word: [step(tool, "503 rate limit", n=n) for n in (word, f"{word}2")],
    ),
    "unknown tool": (
        UnknownToolDetector(2),
        lambda tool, word: [gone(tool, word), gone(tool, f"{word}2")],
    ),
    "budget of a tool": (
        CallLimitDetector(per_tool={"look": 1, "peek": 1}),
        lambda tool, word: [step(tool, "x", n=word), step(tool, "y", n=f"{word}2")],
    ),
}


@pytest.mark.parametrize("name", ONE_LOOP)
def test_it_is_the_same_loop_whatever_the_arguments_and_another_for_another_tool(name):
    detector, run = ONE_LOOP[name]
    one, same, other = (
        detector.check(*in_a_row(*run(tool, word)))
        for tool, word in (("look", "alpha"), ("look", "gamma"), ("peek", "alpha"))
    )
    assert one.identity == same.identity != other.identity


@pytest.mark.parametrize(
    ("detector", "one", "other"),
    [
        (CallLimitDetector(1), (LOOK, READ), (READ, LOOK)),
        (RepeatedFinishDetector(2), [step("finish", "", n=1)] * 2, [step("submit", "", n=2)] * 2),
        (
            FailureStreakDetector(9, in_a_row=2),
            (failed("get", "Error: boom"), failed("put", "Error: bang")),
            (failed("cut", "Error: bing"), failed("run", "Error: dong")),
        ),
    ],
)
def test_a_loop_of_no_call_is_always_the_same(detector, one, other):
    found = [detector.check(*in_a_row(*run)).identity for run in (one, other)]
    assert found[0] == found[1]
    name, _, key = found[0].partition(":")
    assert (name, len(key)) == (detector.name, 10)


def test_an_identity_is_the_tool_and_what_it_said():
    found = [
        StallDetector(2).check(*in_a_row(step("get", text, n=1), step("get", text, n=2)))
        for text in ("404", "405")
    ]
    assert found[0].identity != found[1].identity
    assert found[0].details["result_hash"] != found[1].details["result_hash"]
    assert len(found[0].details["result_hash"]) == 10


def test_words_are_told_in_full():
    found = MonologueDetector(2).check_replies(["I will  look.", "i will look."])
    assert found.message == (
        'The model gave the same reply 2 times in a row without calling a tool: "i will look."'
    )
    assert dict(found.details) == {"words": "i will look.", "count": 2}
    assert (found.detector_name, found.repetitions, found.refused) == ("monologue", 2, ())
    assert (found.period, found.indices, found.call_ids, found.members) == (1, (), (), ())
    other = MonologueDetector(2).check_replies(["I will wait."] * 2)
    assert found.identity.partition(":")[0] == "monologue"
    assert len(found.identity) == len("monologue:") + 10
    assert found.identity != other.identity
    chant = ChantDetector(3, 100).check_replies(["I will look again. " * 60])
    assert chant.message.startswith("One text of the model repeats itself ")
    assert chant.message == (
        f'One text of the model repeats itself {chant.repetitions} times: "I will look again."'
    )
    assert dict(chant.details) == {"words": "I will look again.", "count": chant.repetitions}
    assert (chant.detector_name, chant.refused) == ("chant", ())


LONG_NAME = "x" * 300


@pytest.mark.parametrize("field", ["tool", "tools", "cycle"])
def test_names_in_details_are_shortened_and_other_texts_are_not(field):
    calls = [failed(f"{LONG_NAME}{n}", "Error: boom", text=LONG_NAME) for n in (1, 2)]
    found = {
        "tool": lambda: RepeatDetector(2).check(*in_a_row(calls[0], calls[0])),
        "tools": lambda: FailureStreakDetector(9, in_a_row=2).check(*in_a_row(*calls)),
        "cycle": lambda: PingPongDetector(2, 2).check(*in_a_row(*calls, *calls)),
    }[field]()
    names = (
        found.details[field] if isinstance(found.details[field], list) else [found.details[field]]
    )
    assert all(len(name) <= 200 for name in names)
    assert len(found.message) <= 600


def test_a_message_is_cut_in_the_middle():
    calls = [failed("y" * 128 + f"{n}", "Error: boom", text=n) for n in range(6)]
    found = PingPongDetector(6, 2).check(*in_a_row(*calls, *calls))
    assert len(found.message) <= 600
    assert found.message.endswith("(6 rounds) was repeated 2 times.")


def test_the_names_of_siblings_in_a_cycle_are_shortened():
    names = [letter * 66 for letter in "abc"]
    siblings, wide = ([step(f"{name}{end}") for name in names] for end in ("", "x"))
    found = PingPongDetector(2, 2).check(*in_rounds(siblings, wide, siblings, wide))
    whole, cut = found.details["cycle"]
    assert whole == "+".join(names)
    joined = "+".join(f"{name}x" for name in names)
    assert cut == f"{joined[:98]}...{joined[-98:]}"
    assert (len(whole), len(cut)) == (200, 199)
