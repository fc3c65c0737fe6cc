"""Whoever passes something that cannot work reads where it is, what it is, and what to do."""

from typing import ClassVar

import pytest

from antiloop import (
    BaseDetector,
    LoopDetector,
    PingPongDetector,
    RepeatDetector,
    Role,
    StallDetector,
    ToolCall,
    presets,
)
from antiloop.exceptions import SnapshotError
from antiloop.loop_detection import (
    CallLimitDetector,
    ChantDetector,
    Escalation,
    FailureStreakDetector,
    LoopVerdict,
    MonologueDetector,
    NearRepeatDetector,
    NoEffectDetector,
    Opinion,
    PersistentFailureDetector,
    RecurrenceDetector,
    RepeatedFinishDetector,
    SecondOpinion,
    ToolPolicy,
    UnknownToolDetector,
)

ONE = [RepeatDetector(3)]
POLICIES = "raise, inject_message, block, stop"


def detector(**options):
    return lambda: LoopDetector(ONE, **options)


def config(**values):
    whole = {"version": 1, "detectors": [{"type": "repeat"}], **values}
    return lambda: LoopDetector.from_config(whole)


def monitor():
    return LoopDetector(ONE).monitor()


class Nameless(BaseDetector):
    def __init__(self, *names):
        for name in names:
            self.name = name

    def check(self, tool_calls, tool_results):
        return None


class Keyed(Nameless):
    keys: ClassVar = {"page": lambda call, result: "7"}


class Own(LoopDetector):
    def __init__(self, *args):
        super().__init__(*args, windo=3)


class Open(LoopDetector):
    def __init__(self, **options):
        super().__init__(ONE, **options)


MISTAKES = {
    # options that there are not
    "a misspelt option": (
        lambda: LoopDetector(ONE, windo=3),
        TypeError("LoopDetector: unknown option 'windo'; did you mean 'window'?"),
    ),
    "an option of nothing": (
        lambda: RepeatDetector(speed=3),
        TypeError(
            "RepeatDetector: unknown option 'speed'; there are threshold, require_same_result,"
            " patience, patience_s, name"
        ),
    ),
    "an option of a detector of words": (
        lambda: ChantDetector(repetition=3),
        TypeError("ChantDetector: unknown option 'repetition'; did you mean 'repetitions'?"),
    ),
    "a misspelt option in a class of one's own": (
        lambda: Own(ONE),
        TypeError("Own: unknown option 'windo'; did you mean 'window'?"),
    ),
    "a misspelt option through a class of one's own": (
        lambda: Open(shadw=True),
        TypeError("Open: unknown option 'shadw'; did you mean 'shadow'?"),
    ),
    "no detectors at all": (
        lambda: LoopDetector(),
        TypeError("LoopDetector: missing a required argument: 'detectors'"),
    ),
    "too much in a row": (
        lambda: LoopDetector(ONE, "stop", {}),
        TypeError("LoopDetector: too many positional arguments"),
    ),
    # names and words
    "a name that is a number": (
        lambda: RepeatDetector(name=7),
        TypeError("name must be a text, got 7"),
    ),
    "a blank name": (
        lambda: PingPongDetector(name=" "),
        ValueError("name must not be blank, got ' '"),
    ),
    "a tool without a name": (
        lambda: CallLimitDetector(per_tool={7: 3}),
        TypeError("per_tool must be a mapping of names, got 7 as a name"),
    ),
    "words that are a number": (
        lambda: monitor().said(7),
        TypeError("said takes a text or None, got 7"),
    ),
    # the list of detectors
    "no list": (
        lambda: LoopDetector("repeat"),
        TypeError("detectors must be a list, got 'repeat'; pass [RepeatDetector(3)]"),
    ),
    "a mapping": (
        lambda: LoopDetector({}),
        TypeError("detectors must be a list, got {}; pass [RepeatDetector(3)]"),
    ),
    "a bare detector": (
        lambda: LoopDetector(7),
        TypeError("detectors must be a list, got 7; pass [RepeatDetector(3)]"),
    ),
    "a class in the list": (
        lambda: LoopDetector([*ONE, StallDetector]),
        TypeError("detectors[1] is a class; pass an instance: StallDetector()"),
    ),
    "no detector in the list": (
        lambda: LoopDetector([*ONE, 7]),
        TypeError("detectors[1] must be a BaseDetector, got 7; subclass it"),
    ),
    "a detector that declares keys and is given no window": (
        lambda: LoopDetector([*ONE, Keyed("keyed")]),
        TypeError(
            "detectors[1] declares keys, which only a WindowDetector compares; make it the base of"
            " Keyed, and write find instead of check"
        ),
    ),
    "a detector without a name": (
        lambda: LoopDetector([*ONE, Nameless()]),
        ValueError("detectors[1] has no name; write name = ... in the class Nameless"),
    ),
    "a detector with a number for a name": (
        lambda: LoopDetector([Nameless(7)]),
        TypeError("the name of detectors[0] must be a text, got 7"),
    ),
    "two kinds of detectors with one name": (
        lambda: LoopDetector([*ONE, Nameless("repeat")]),
        ValueError(
            "detectors[1] has the name 'repeat' of a RepeatDetector before it;"
            " give Nameless another name"
        ),
    ),
    "an empty list": (
        lambda: LoopDetector([]),
        ValueError("detectors must name at least one detector, got none"),
    ),
    # the other arguments of a detector
    "a policy": (
        detector(policy="shout"),
        ValueError(f"unknown policy 'shout'; choose from {POLICIES}, or pass an Escalation"),
    ),
    "a role": (
        detector(notice_role="king"),
        ValueError("unknown notice_role 'king'; choose from system, user"),
    ),
    "the role of the model": (
        detector(notice_role=Role.ASSISTANT),
        ValueError(f"unknown notice_role {Role.ASSISTANT!r}; choose from system, user"),
    ),
    "a call as a name": (
        lambda: LoopDetector(ONE).monitor().record_call(ToolCall("look")),
        TypeError(
            f"record_call takes a tool name, got {ToolCall('look')!r}; pass after([call], [result])"
        ),
    ),
    "a number as a listener": (
        lambda: LoopDetector(ONE).monitor().add_listener(3),
        TypeError(
            "a listener must be a function, or an object with methods such as on_verdict, got 3"
        ),
    ),
    "a window": (detector(window=1), ValueError("window must be a whole number, 2 or more, got 1")),
    "too small a window": (
        detector(window=2),
        ValueError("repeat looks at 3 rounds, but the window holds 2 calls; set window=3 or more"),
    ),
    "ladders": (
        detector(escalations=[1]),
        TypeError("escalations must be a mapping of names, got [1]"),
    ),
    "a ladder": (
        detector(escalations={"repeat": 3}),
        TypeError("escalations: repeat: must be an Escalation or a LoopPolicy, got 3"),
    ),
    "a ladder by a wrong name": (
        detector(escalations={"repeat": "stopp"}),
        ValueError(
            "unknown escalations: repeat 'stopp'; choose from raise, inject_message, block, stop"
        ),
    ),
    "a ladder of another": (
        detector(escalations={"stall": Escalation()}),
        ValueError("escalations names 'stall'; there are repeat"),
    ),
    "a ladder with a budget": (
        detector(escalations={"repeat": Escalation(max_interventions=3)}),
        ValueError(
            "escalations: repeat: max_interventions is a budget of the whole run;"
            " give it with policy=Escalation(...)"
        ),
    ),
    "tools": (detector(tools="look"), TypeError("tools must be a mapping of names, got 'look'")),
    "a tool": (
        detector(tools={"look": {}}),
        TypeError("tools: look: must be a ToolPolicy, got {}; pass ToolPolicy(...)"),
    ),
    "a threshold of another": (
        detector(tools={"look": ToolPolicy(thresholds={"stall": 3})}),
        ValueError("tools: look: no detector 'stall'; there are repeat"),
    ),
    "a threshold beyond the window": (
        detector(tools={"look": ToolPolicy(thresholds={"repeat": 51})}),
        ValueError(
            "tools: look: threshold 51 of repeat is more than the window holds;"
            " set window=51 or more"
        ),
    ),
    "words": (
        detector(inject_message=7),
        TypeError("inject_message must be a text, a function or None, got 7"),
    ),
    **{
        f"{name} in words": (
            lambda name=name: LoopDetector(ONE, **{name: "no"}),
            TypeError(f"{name} must be True or False, got 'no'"),
        )
        for name in ("shadow", "log_verdicts")
    },
    **{
        f"{name} of a tool": (
            lambda name=name: ToolPolicy(**{name: "no"}),
            TypeError(f"{name} must be True or False, got 'no'"),
        )
        for name in ("poll", "exempt", "mutates", "idempotent")
    },
    "a list of thresholds": (
        lambda: ToolPolicy(thresholds=["repeat"]),
        TypeError("thresholds must be a mapping of names, got ['repeat']"),
    ),
    "limits in a list": (
        lambda: CallLimitDetector(per_tool=["look"]),
        TypeError("per_tool must be a mapping of names, got ['look']"),
    ),
    "no actions": (
        lambda: Escalation(None),
        TypeError("actions must be a list of actions, got None"),
    ),
    # the arguments of a monitor
    "no call": (
        lambda: monitor().before("look"),
        TypeError("before takes a ToolCall, got 'look'; pass ToolCall(name, arguments)"),
    ),
    "a call that is not in a list": (
        lambda: monitor().after(ToolCall("look"), ["a"]),
        TypeError("after takes a list of calls, got ToolCall('look'); pass [call]"),
    ),
    "a result that is not in a list": (
        lambda: monitor().after([ToolCall("look")], "a"),
        TypeError("after takes a list of results, got 'a'; pass [result]"),
    ),
    "no list of results": (
        lambda: monitor().after([ToolCall("look")], None),
        TypeError("after takes a list of results, got None; pass [result]"),
    ),
    "a name in the list of calls": (
        lambda: monitor().after(["look"], ["a"]),
        TypeError(
            "after takes a list of ToolCall, got 'look' as tool_calls[0];"
            " pass ToolCall(name, arguments)"
        ),
    ),
    "a check of one call": (
        lambda: LoopDetector(ONE).check(ToolCall("look"), ["a"]),
        TypeError("check takes a list of calls, got ToolCall('look'); pass [call]"),
    ),
    "a check without results": (
        lambda: LoopDetector(ONE).check([ToolCall("look")], None),
        TypeError("check takes a list of results, got None; pass [result]"),
    ),
    "a check of names": (
        lambda: LoopDetector(ONE).check([ToolCall("look"), "look"], ["a", "a"]),
        TypeError(
            "check takes a list of ToolCall, got 'look' as tool_calls[1];"
            " pass ToolCall(name, arguments)"
        ),
    ),
    "a check of nothing by a bare detector": (
        lambda: RepeatDetector(3).check([None], []),
        TypeError(
            "check takes a list of ToolCall, got None as tool_calls[0];"
            " pass ToolCall(name, arguments)"
        ),
    ),
    "a check of one call by a bare detector": (
        lambda: RepeatDetector(3).check(ToolCall("look"), []),
        TypeError("check takes a list of calls, got ToolCall('look'); pass [call]"),
    ),
    "a check without results by a bare detector": (
        lambda: RepeatDetector(3).check([ToolCall("look")], None),
        TypeError("check takes a list of results, got None; pass [result]"),
    ),
    "a call as a mapping": (
        lambda: monitor().after({"name": "look"}, ["a"]),
        TypeError("after takes a list of calls, got {'name': 'look'}; pass [ToolCall(...)]"),
    ),
    "results as a mapping": (
        lambda: monitor().after([ToolCall("look")], {"call-1": "a"}),
        TypeError("after takes a list of results, got {'call-1': 'a'}; pass [result]"),
    ),
    "calls as a series": (
        lambda: monitor().after({7: "look"}.keys(), ["a"]),
        TypeError("after takes a list of calls, got dict_keys([7]); pass list(calls)"),
    ),
    "results as a series": (
        lambda: monitor().after([ToolCall("look")], {7: "look"}.values()),
        TypeError("after takes a list of results, got dict_values(['look']); pass list(results)"),
    ),
    "one lap": (
        lambda: presets.cycles(laps=1),
        ValueError("laps must be a whole number, 2 or more, got 1"),
    ),
    "a preset that no file names": (
        lambda: LoopDetector.from_file(preset="strict"),
        ValueError(
            "unknown preset 'strict';"
            " choose from default, escalating, thorough, literal, patient, cycles, budgeted"
        ),
    ),
    "the id of a run in the place of its policies": (
        lambda: LoopDetector(ONE).monitor("run-1"),
        TypeError("monitor takes policies of tools, got 'run-1'; pass run_id='run-1'"),
    ),
    "a policy of a run": (
        lambda: LoopDetector(ONE).monitor({"look": 7}),
        TypeError("tools: look: must be a ToolPolicy, got 7; pass ToolPolicy(...)"),
    ),
    "too many results": (
        lambda: monitor().after([ToolCall("look")], ["a", "b"]),
        ValueError(
            "after takes at most one result for each call, got 2 results for 1 calls;"
            " tool_results[i] belongs to tool_calls[i]"
        ),
    ),
    **{
        f"a {type(given).__name__} as a snapshot": (
            lambda given=given: monitor().restore(given),
            SnapshotError(
                "restore takes a mapping as LoopMonitor.snapshot() returns, got a"
                f" {type(given).__name__}; pass a text through json.loads first"
            ),
        )
        for given in ("{}", b"{}", None, [])
    },
    "no snapshot": (
        lambda: monitor().restore({"version": 1}),
        SnapshotError(
            "expected a snapshot of version 10, got version 1;"
            " take one with LoopMonitor.snapshot() of this version of antiloop"
        ),
    ),
    "a damaged snapshot": (
        lambda: monitor().restore({"version": 10}),
        SnapshotError("the snapshot is damaged: KeyError('ladder')"),
    ),
    "no loop": (
        LoopVerdict().as_error,
        ValueError("no loop was found: the action is continue"),
    ),
    # a configuration
    "an unknown part": (
        config(color=1),
        ValueError(
            "unknown 'color'; a configuration holds detectors, policy, escalations,"
            " inject_message, window, tools, notice_role, mask, log_verdicts, shadow"
        ),
    ),
    "two unknown parts": (
        config(zebra=1, color=1),
        ValueError(
            "unknown 'color'; a configuration holds detectors, policy, escalations,"
            " inject_message, window, tools, notice_role, mask, log_verdicts, shadow"
        ),
    ),
    "no configuration": (
        lambda: LoopDetector.from_config([]),
        ValueError("a configuration: must be an object, got list"),
    ),
    "another version": (
        config(version=2),
        ValueError(
            "version must be 1, got 2;"
            " LoopDetector.to_config() of this version of antiloop writes a configuration"
        ),
    ),
    "no detectors": (
        lambda: LoopDetector.from_config({"version": 1}),
        ValueError(
            "no 'detectors'; a configuration holds detectors, policy, escalations,"
            " inject_message, window, tools, notice_role, mask, log_verdicts, shadow"
        ),
    ),
    "a configured policy": (
        config(policy="shout"),
        ValueError(f"policy: unknown policy 'shout'; choose from {POLICIES}, or an object"),
    ),
    "an option of a policy": (
        config(policy={"speed": 1}),
        ValueError(
            "policy: unknown option 'speed'; there are actions, every, per_lap, resumes,"
            " max_interventions, on_notice"
        ),
    ),
    "a configured role": (
        config(notice_role="king"),
        ValueError("notice_role: unknown role 'king'; choose from system, user"),
    ),
    "a configured mask": (
        config(mask="all"),
        ValueError("mask: unknown mask 'all'; choose from secrets, arguments"),
    ),
    "a switch": (config(shadow=1), ValueError("shadow: must be true or false, got 1")),
    "another switch": (
        config(log_verdicts="no"),
        ValueError("log_verdicts: must be true or false, got 'no'"),
    ),
    "a detector without a type": (
        config(detectors=[{"type": "repeat"}, {}]),
        ValueError(
            "detectors: number 2: unknown type None; choose from call_limit, chant,"
            " failure_streak, monologue, near_repeat, no_effect, persistent_failure, ping_pong,"
            " recurrence, repeat, repeated_finish, stagnation, stall, standstill, unknown_tool"
        ),
    ),
    "a name": (
        config(detectors=[{"type": "repeat", "name": 7}]),
        ValueError("detectors: number 1: name must be a text, got 7"),
    ),
    "an option of a detector": (
        config(detectors=[{"type": "repeat", "speed": 1}]),
        ValueError(
            "detectors: number 1: unknown option 'speed'; there are threshold,"
            " require_same_result, patience, patience_s, name"
        ),
    ),
    "detectors in one word": (
        config(detectors="repeat"),
        ValueError("detectors: must be a list, got str"),
    ),
    # the arguments of each detector
    "no limit": (CallLimitDetector, ValueError("give limit, per_tool or both")),
    "a limit": (
        lambda: CallLimitDetector(0),
        ValueError("limit must be a whole number, 1 or more, got 0"),
    ),
    "a limit of a tool": (
        lambda: CallLimitDetector(per_tool={"look": 0}),
        ValueError("limit of 'look' must be a whole number, 1 or more, got 0"),
    ),
    "repetitions of a chant": (
        lambda: ChantDetector(2),
        ValueError("repetitions must be a whole number, 3 or more, got 2"),
    ),
    "length of a chant": (
        lambda: ChantDetector(length=99),
        ValueError("length must be a whole number, 100 or more, got 99"),
    ),
    "rounds in a row": (
        lambda: FailureStreakDetector(in_a_row=1),
        ValueError("in_a_row must be a whole number, 2 or more, got 1"),
    ),
    "repeats": (
        lambda: FailureStreakDetector(repeats=-1),
        ValueError("repeats must be a whole number, 0 or more, got -1"),
    ),
    "patience of a failure streak": (
        lambda: FailureStreakDetector(5, patience=4),
        ValueError("patience must be a whole number, 5 or more, got 4"),
    ),
    "patience of near repeats": (
        lambda: NearRepeatDetector(5, patience=4),
        ValueError("patience must be a whole number, 5 or more, got 4"),
    ),
    "seconds of patience": (
        lambda: RecurrenceDetector(5, patience_s=0),
        ValueError("patience_s must be a whole number, 1 or more, got 0"),
    ),
    "patience of recurrence": (
        lambda: RecurrenceDetector(5, patience=4),
        ValueError("patience must be a whole number, 5 or more, got 4"),
    ),
    "a way to match": (
        lambda: PingPongDetector(match="names"),
        ValueError("match must be one of content, calls, tool_names, got 'names'"),
    ),
    "varied": (
        lambda: StallDetector(4, varied=3),
        ValueError("varied must be a whole number, 4 or more, got 3"),
    ),
    **{
        f"threshold of {kind.name}": (
            lambda kind=kind: kind(1),
            ValueError("threshold must be a whole number, 2 or more, got 1"),
        )
        for kind in (
            FailureStreakDetector,
            MonologueDetector,
            NearRepeatDetector,
            NoEffectDetector,
            PersistentFailureDetector,
            RecurrenceDetector,
            RepeatedFinishDetector,
            StallDetector,
            UnknownToolDetector,
        )
    },
    # a judge and its opinion
    "a judge": (
        lambda: SecondOpinion("me"),
        TypeError("the judge must be a function of a CaseFile, got 'me'"),
    ),
    "suspicion": (
        lambda: SecondOpinion(print, suspicion=1.1),
        ValueError("suspicion must be above 0 and at most 1, got 1.1"),
    ),
    "a gap": (
        lambda: SecondOpinion(print, gap=0),
        ValueError("gap must be a whole number, 1 or more, got 0"),
    ),
    "a limit of questions": (
        lambda: SecondOpinion(print, limit=0),
        ValueError("limit must be a whole number, 1 or more, got 0"),
    ),
    "a timeout": (
        lambda: SecondOpinion(print, timeout=0),
        ValueError("timeout must be a finite number above 0, or None, got 0"),
    ),
    "an endless timeout": (
        lambda: SecondOpinion(print, timeout=float("inf")),
        ValueError("timeout must be a finite number above 0, or None, got inf"),
    ),
    "stuck": (lambda: Opinion("yes"), TypeError("stuck must be True or False, got 'yes'")),
    "confidence": (
        lambda: Opinion(True, "0.9"),
        TypeError("confidence must be a number, got '0.9'"),
    ),
    "too much confidence": (
        lambda: Opinion(True, 1.01),
        ValueError("confidence must be between 0 and 1, got 1.01"),
    ),
    "a judge as JSON": (
        lambda: LoopDetector(ONE, second_opinion=print).to_config(),
        ValueError("second_opinion: a judge is code, which cannot be written as JSON"),
    ),
    "a function as JSON": (
        lambda: LoopDetector(ONE, inject_message=str).to_config(),
        ValueError("inject_message: a function cannot be written as JSON"),
    ),
    "a mask as JSON": (
        lambda: LoopDetector(ONE, mask=str).to_config(),
        ValueError("mask: a function cannot be written as JSON"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_in_full(name):
    make, expected = MISTAKES[name]
    with pytest.raises(type(expected)) as raised:
        make()
    assert type(raised.value) is type(expected)
    assert str(raised.value) == str(expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CallLimitDetector(1, per_tool={"look": 1}),
        lambda: ChantDetector(3, 100),
        lambda: FailureStreakDetector(2, in_a_row=2, repeats=0, patience=2),
        lambda: NearRepeatDetector(2, patience=2),
        lambda: RecurrenceDetector(2, patience=2),
        lambda: PingPongDetector(2, 2, patience=2),
        lambda: StallDetector(2, varied=2),
        lambda: LoopDetector([RepeatDetector(2)], window=2),
        lambda: LoopDetector([CallLimitDetector(9), CallLimitDetector(5, per_turn=True)]),
        lambda: LoopDetector(ONE, tools={"look": ToolPolicy(thresholds={"repeat": 50})}),
        lambda: SecondOpinion(print, suspicion=1, gap=1, limit=1, timeout=0.001),
        lambda: SecondOpinion(print, timeout=None),
        lambda: Opinion(True, 0),
        lambda: Opinion(False, 1),
    ],
)
def test_the_smallest_and_largest_that_can_work_are_taken(make):
    make()


@pytest.mark.parametrize("keys", [{}, {"a": 1}, [len], len, "ab"])
def test_a_detector_that_is_given_no_window_may_have_keys_of_its_own(keys):
    own = Nameless("own")
    own.keys = keys
    assert LoopDetector([own]).detectors == (own,)
