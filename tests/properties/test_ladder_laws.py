"""What holds for every ladder, whatever detectors stand beside each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_laws import batches, in_calls, runs

from antiloop import (
    LoopDetector,
    PingPongDetector,
    RepeatDetector,
    StallDetector,
    ToolCall,
    ToolResult,
)
from antiloop.loop_detection import (
    CallLimitDetector,
    Escalation,
    FailureStreakDetector,
    LoopAction,
    NearRepeatDetector,
    NoEffectDetector,
    RecurrenceDetector,
    UnknownToolDetector,
    presets,
)
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER

RANK = {action: rank for rank, action in enumerate(LoopAction)}
DETECTORS = {
    "repeat": lambda: RepeatDetector(3),
    "same_result": lambda: RepeatDetector(2, require_same_result=True, name="same_result"),
    "stall": lambda: StallDetector(3),
    "ping_pong": lambda: PingPongDetector(3, 2),
    "names": lambda: PingPongDetector(2, 2, match="tool_names", name="names"),
    "near_repeat": lambda: NearRepeatDetector(3),
    "no_effect": lambda: NoEffectDetector(2),
    "recurrence": lambda: RecurrenceDetector(3),
    "failure_streak": lambda: FailureStreakDetector(3, in_a_row=4),
    "unknown_tool": lambda: UnknownToolDetector(2),
    "call_limit": lambda: CallLimitDetector(9, per_tool={"look": 3}),
}
LADDERS = (
    Escalation(),
    Escalation(("notify",)),
    Escalation(("stop",)),
    Escalation(("block", "raise")),
    Escalation(("notify", "block"), every=2),
    Escalation(("notify", "notify", "stop"), per_lap=True),
    Escalation(("notify", "block"), resumes=False),
)
choices = st.dictionaries(
    st.sampled_from(sorted(DETECTORS)), st.none() | st.sampled_from(LADDERS), min_size=1
)


def judged(run, chosen, policy):
    """Return the action after each round of a run."""
    detector = LoopDetector(
        [DETECTORS[name]() for name in chosen],
        policy,
        escalations={name: ladder for name, ladder in chosen.items() if ladder is not None},
    )
    monitor = detector.monitor()
    calls, results = in_calls(run)
    return [monitor.after(*batch).action for batch in batches(run, calls, results)]


def until_over(actions):
    """Return the actions up to the first that ends the run: nothing is asked of it afterwards."""
    ends = (at for at, action in enumerate(actions, 1) if action.ends_run)
    return actions[: next(ends, len(actions))]


@given(run=runs(), chosen=choices, more=choices, policy=st.sampled_from(LADDERS))
def test_another_detector_never_weakens_an_action(run, chosen, more, policy):
    alone = judged(run, chosen, policy)
    together = until_over(judged(run, {**more, **chosen}, policy))
    assert all(RANK[one] <= RANK[other] for one, other in zip(alone, together))


@pytest.mark.parametrize("name", DETECTORS)
@given(rounds=st.lists(st.permutations("abc"), min_size=3, max_size=6))
def test_the_calls_of_a_loop_are_named_oldest_first(name, rounds):
    monitor = LoopDetector([DETECTORS[name]()], Escalation()).monitor()
    for each in rounds:
        calls = [ToolCall("update", {"page": page}) for page in each]
        found = monitor.after(calls, ["No such page."] * 3).detection
        if found is not None:
            assert list(found.indices) == sorted(found.indices) == found.details["indices"]


@given(run=runs(), chosen=choices, policy=st.sampled_from(LADDERS), data=st.data())
def test_the_order_of_detectors_changes_no_action(run, chosen, policy, data):
    names = data.draw(st.permutations(sorted(chosen)))
    assert judged(run, chosen, policy) == judged(run, {n: chosen[n] for n in names}, policy)


@given(run=runs(), chosen=choices, policy=st.sampled_from(LADDERS), data=st.data())
def test_the_order_inside_a_round_changes_no_action(run, chosen, policy, data):
    run = [
        list({(tool, str(given)): (tool, given, r) for tool, given, r in each}.values())
        for each in run
    ]
    shuffled = [data.draw(st.permutations(each)) for each in run]
    assert judged(run, chosen, policy) == judged(shuffled, chosen, policy)


IN_TURN = st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=3, max_size=8)


@given(rounds=IN_TURN, policy=st.sampled_from(LADDERS), data=st.data())
def test_the_order_inside_a_round_changes_no_rung(rounds, policy, data):
    run = [[("write", {"page": page}, f"page {page}") for page in sorted(each)] for each in rounds]
    shuffled = [data.draw(st.permutations(each)) for each in run]
    chosen = {"no_effect": None, "near_repeat": None}
    assert judged(run, chosen, policy) == judged(shuffled, chosen, policy)


def actions_said(monitor, rounds):
    """Play rounds, refusing what is refused; give what was more than to go on."""
    said = []
    for calls, results in rounds:
        given_results = []
        for call, result in zip(calls, results):
            verdict = monitor.before(call)
            refused = verdict.action is LoopAction.BLOCK
            given_results.append(ToolResult(verdict.message, True) if refused else result)
        verdict = monitor.after(calls, given_results)
        if verdict.action is not LoopAction.CONTINUE:
            said.append(verdict.action)
        if verdict.action.ends_run:
            break
    return said


ANSWERS = st.sampled_from(
    [
        *("No results.", "", "Error: no such page", "Unknown tool: look", "status: running"),
        *("10 cats", "503", "12 failed", "rate limit exceeded"),
    ]
)
FAILURES = st.builds(ToolResult, st.sampled_from(["no cats", "no dogs", "not now"]), st.just(True))


@pytest.mark.parametrize("preset", presets.PRESETS)
@given(
    st.lists(FAILURES, min_size=40, max_size=40)
    | (ANSWERS | FAILURES).map(lambda each: [each] * 40)
)
def test_a_ladder_never_climbs_down_while_the_same_calls_bring_nothing_new(preset, answers):
    call = ToolCall("look", {"at": "a"})
    said = actions_said(presets.PRESETS[preset]().monitor(), [([call], [each]) for each in answers])
    ranks = [RANK[action] for action in said]
    assert ranks == sorted(ranks)


def looks(lengths, first=0):
    """Return looks at one place, which shows each picture so many times."""
    shown = [place for place, length in enumerate(lengths, first) for _ in range(length)]
    return [([ToolCall("look", {"at": "a"})], [f"There are {'crow' * each}s."]) for each in shown]


@pytest.mark.parametrize("ladder", LADDERS)
@given(st.lists(st.integers(3, 6), min_size=1, max_size=4), st.integers(1, 6), st.booleans())
def test_a_call_with_another_answer_begins_at_the_first_rung(ladder, before, last, is_resumed):
    detector = LoopDetector.escalating(policy=ladder)
    monitor, alone = detector.monitor(), detector.monitor()
    for calls, results in looks(before):
        monitor.after(calls, results)
    if is_resumed:
        state, monitor = monitor.snapshot(), detector.monitor()
        monitor.restore(state)
    for calls, results in looks([last], first=len(before)):
        assert monitor.after(calls, results).action is alone.after(calls, results).action


@pytest.mark.parametrize("preset", presets.PRESETS)
@given(lap=st.lists(st.tuples(st.sampled_from("abc"), ANSWERS), min_size=2, max_size=6))
def test_a_ladder_never_climbs_down_while_the_same_calls_go_round(preset, lap):
    rounds = [
        ([ToolCall(f"look_{tool}", {"at": place})], [answer])
        for place, (tool, answer) in enumerate(lap)
    ]
    said = actions_said(presets.PRESETS[preset]().monitor(), rounds * (50 // len(lap)))
    ranks = [RANK[action] for action in said]
    assert ranks == sorted(ranks)


def test_a_loop_that_begins_after_another_was_found_climbs_alone():
    monitor = LoopDetector.escalating().monitor()
    rounds = [([ToolCall("look", {"at": at})], ["same"]) for at in "aaabbb"]
    assert actions_said(monitor, rounds) == [LoopAction.NOTIFY, LoopAction.NOTIFY]


@given(loops=st.integers(1, 60), length=st.integers(3, 5))
def test_loops_in_rotation_come_to_an_end(loops, length):
    monitor = LoopDetector.escalating().monitor()
    lap = [
        ([ToolCall("bash", {"command": f"touchy{number}"})], [""])
        for number in range(loops)
        for _ in range(length)
    ]
    assert actions_said(monitor, lap * 3)[-1] is LoopAction.STOP


# Whatever a block is about is refused, or the ladder goes on.

BLOCKS = {
    "the same call": lambda n: (ToolCall("look", {"at": "a"}), "same"),
    "two calls in turn": lambda n: (ToolCall("look", {"at": "ab"[n % 2]}), "same"),
    "a tool that does not exist": lambda n: (
        ToolCall("serch", {"q": f"word{n}"}),
        ToolResult("Unknown tool: serch", True),
    ),
    "nearly the same call": lambda n: (
        ToolCall("search", {"q": ("cats dogs", "dog, cat")[n % 2], "request_id": n}),
        "No results.",
    ),
    "the same failure": lambda n: (
        ToolCall("get", {"id": 1000 + n}),
        ToolResult(f"Error: no ticket {1000 + n}", True),
    ),
    "the same failure of a shell": lambda n: (
        ToolCall("bash", {"command": f"frob{n}"}),
        ToolResult(f"frob{n}: permission denied", True),
    ),
    "arguments that never fit": lambda n: (
        ToolCall("search", {"word": f"word{n}"}),
        ToolResult("missing required argument 'q'", True),
    ),
    "nothing found, whatever is asked": lambda n: (
        ToolCall(f"find_{n}", {"q": f"word{n}"}),
        "No results.",
    ),
}


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_block_refuses_the_next_call_of_its_loop(kind):
    monitor = LoopDetector.escalating().monitor()
    for number in range(40):
        call, result = BLOCKS[kind](number)
        verdict = monitor.after([call], [result])
        if verdict.action is LoopAction.BLOCK:
            following, _ = BLOCKS[kind](number + 1)
            assert monitor.before(following).action is LoopAction.BLOCK
            assert monitor.before(ToolCall("write", {"text": "done"})).action is LoopAction.CONTINUE
            break
        if verdict.action is LoopAction.STOP:
            assert verdict.detection.refused == ()
            break
    else:
        pytest.fail("the loop was not found")


def test_names_in_turn_are_refused_by_name():
    monitor = presets.budgeted().monitor()
    for number in range(6):
        verdict = monitor.record_call("ab"[number % 2], {"n": number}, f"page {'x' * number}")
    assert verdict.action is LoopAction.BLOCK
    asked = [monitor.before(ToolCall(name, {"n": 9})).action.value for name in "abc"]
    assert asked == ["block", "block", "continue"]


def test_a_shell_is_not_refused_for_what_some_commands_gave():
    monitor = LoopDetector.escalating().monitor()
    said = []
    for number in range(9):
        call, result = BLOCKS["the same failure of a shell"](number)
        said.append(monitor.after([call], [result]).action.value)
        assert monitor.before(ToolCall("bash", {"command": "make"})).action.value == "continue"
    assert "block" not in said
    assert "stop" in said


# Unknown results beside others

FRESH = st.lists(st.text("abcdefgh", min_size=3, max_size=9), min_size=12, max_size=12, unique=True)


WORK = {
    "a new answer": lambda n, text: (ToolCall("note", {"text": text}), f"page {text}"),
    "a change": lambda n, text: (ToolCall("edit_file", {"path": f"{text}.py"}), "ok"),
    "a silent command": lambda n, text: (ToolCall("bash", {"command": f"mv {text} done"}), ""),
    "fewer failures": lambda n, text: (ToolCall("run_tests", {}), f"{40 - n} failed"),
    "a job that goes on": lambda n, text: (ToolCall("job_status", {"id": 1}), f"{2 * n} % done"),
}


@pytest.mark.parametrize("make", [LoopDetector.default, LoopDetector.escalating])
@pytest.mark.parametrize("kind", WORK)
@given(texts=FRESH, hidden_first=st.booleans())
def test_results_that_nobody_sees_are_no_evidence_beside_progress(make, kind, texts, hidden_first):
    monitor = make().monitor()
    for number, text in enumerate(texts):
        hidden = (ToolCall("web_search", {"query": "x"}, id=f"w{number}"), None)
        shown = WORK[kind](number, text)
        calls, results = zip(*([hidden, shown] if hidden_first else [shown, hidden]))
        assert monitor.after(calls, results).action is LoopAction.CONTINUE


@pytest.mark.parametrize("make", [LoopDetector.default, LoopDetector.escalating])
def test_calls_alone_decide_where_no_result_is_seen(make):
    monitor = make().monitor()
    said = [monitor.record_call("web_search", {"query": "x"}).action for _ in range(3)]
    assert said[-1] is not LoopAction.CONTINUE


@given(run=runs(), chosen=choices, policy=st.sampled_from(LADDERS))
def test_a_shadow_detector_tells_what_a_replay_gives_and_does_nothing(run, chosen, policy):
    detector = LoopDetector([DETECTORS[name]() for name in chosen], policy, shadow=True)
    shadow, replayed, heard = detector.monitor(), detector.monitor(live=False), []
    shadow.add_listener(lambda verdict: heard.append(verdict.action))
    told = []
    for calls, results in batches(run, *in_calls(run)):
        assert {shadow.before(call).action for call in calls} == {LoopAction.CONTINUE}
        verdict = shadow.after(calls, results)
        assert verdict.action is LoopAction.CONTINUE
        assert verdict.decision.action is replayed.after(calls, results).action
        told += [verdict.decision.action] * (verdict.would_be is not None)
    assert heard == told
    assert shadow.snapshot() == replayed.snapshot()


# A refusal is ours only where we refuse: any tool may say the same words.

PREFIXES = st.sampled_from(["", "PreToolUse:Bash hook error: "])
SAYINGS = st.sampled_from(["page", "this call was not run. Part", "the request of Anna, part"])


@pytest.mark.parametrize("preset", ["default", "escalating"])
@given(
    prefix=PREFIXES,
    saying=SAYINGS,
    is_numbered=st.booleans(),
    before=st.sampled_from(["nothing", "a loop of another call", "a loop of this call"]),
)
def test_pages_that_begin_like_a_refusal_are_pages(preset, prefix, saying, is_numbered, before):
    monitor = presets.PRESETS[preset]().monitor()
    if before != "nothing":
        look = ToolCall("read" if before.endswith("this call") else "look", {})
        actions_said(monitor, [([look], ["No results."])] * 2)
        monitor.user_message()
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    pages = [
        ([ToolCall("read", {"page": at} if is_numbered else {})], [f"{text} {name}"])
        for at, name in enumerate(names)
        for text in [f"{prefix}{REFUSED_MARKER} {saying}"]
    ]
    assert actions_said(monitor, pages) == []
