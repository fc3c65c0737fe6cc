"""A wait and an act are judged by what they lead to, not by their own constant answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolPolicy, ToolResult
from antiloop.loop_detection import RecurrenceDetector, RepeatDetector
from antiloop.loop_detection._evidence.effect import changes_midway, seems_to_type
from antiloop.loop_detection._evidence.waiting import has_ended, seems_to_wait, waited_for

PRESETS = [LoopDetector.default, LoopDetector.escalating]
STOPS = {"block", "stop", "raise"}
NOTHING_YET = [
    *("", "(no output yet)", "Script running with cell ID 18", "running", "等待中"),
    '{"status": {"a": "running"}, "n": 7}',
]
ENDED = [
    "Process exited with code 0",
    "<status>completed</status>\nok",
    '{"status": "succeeded", "id": 7}',
    "No such process",
    "exit status 1",
    "Task b1 finished: 3 files changed",
    "The process has ended.",
    '{"status": {"a": {"completed": "All tests pass."}}, "timed_out": false}',
    '{"status": {"a": "not_found"}}',
]
WAITS = [
    ("wait", {"cell_id": "18", "yield_time_ms": 1000}),
    ("wait_agent", {"targets": ["a"]}),
    ("TaskOutput", {"task_id": "b1", "block": True}),
    ("get_terminal_output", {"id": "t1"}),
    ("write_stdin", {"session_id": 7, "chars": ""}),
    ("execute_bash", {"command": ""}),
    ("Bash", {"command": "sleep 60 && gh pr checks 12"}),
    ("Bash", {"command": "sleep 60", "description": "look again later"}),
    ("Bash", {"command": "ls out | wc -l; sleep 20"}),
    ("Bash", {"command": "gh pr checks 12 && sleep 2m\n"}),
    ("powershell", {"command": "Start-Sleep -Seconds 45; Get-Job"}),
    ("powershell", {"command": "Get-Job; start-sleep -s 30"}),
    ("exec", {"raw": 'await tools.write_stdin({session_id: 7, chars: "", max: 9})'}),
    ("exec", {"raw": 'return tools.write_stdin({session_id: 7, chars: ""})'}),
    ("exec", "const r = await tools.wait({cell_id: '3'})"),
    ("computer", {"action": "wait", "seconds": 3}),
    ("WAIT", {}),
]
NO_WAITS = [
    ("write_stdin", {"session_id": 7, "chars": "y\n"}),
    ("write_file", {"path": "a.py", "text": ""}),
    ("Bash", {"command": "make && sleep 1"}),
    ("Bash", {"command": "make && sleep 9s"}),
    ("Bash", {"command": "echo sleep 30"}),
    ("Bash", {"command": "make; sleep 30 && curl localhost"}),
    ("get_page", {"id": "7"}),
    ("search", {"query": "wait for it"}),
    ("exec", "print('wait')"),
    ("waiter", {}),
    ("Bash", {"run_in_background": True, "command": "sleep 5; make"}),
    ("Bash", {"command": "sleep 5; make", "run_in_background": True}),
    ("send", {"data": {}, "text": ""}),
]


def verdicts(monitor, *rounds):
    """Return the actions after rounds of ``(tool, arguments, result)``."""
    actions = []
    for each in rounds:
        calls = [ToolCall(tool, arguments) for tool, arguments, _ in each]
        results = [None if text is None else ToolResult(text) for _, _, text in each]
        actions.append(monitor.after(calls, results).action.value)
    return actions


def named(call):
    """Return an id that stays the same where pytest collects a second time, as in mutmut."""
    return str(call).replace("\\", "/")


@pytest.mark.parametrize("call", WAITS, ids=named)
def test_a_wait_is_told_by_what_it_asks(call):
    assert seems_to_wait(*call)


@pytest.mark.parametrize("call", NO_WAITS, ids=named)
def test_what_has_something_to_say_is_not_a_wait(call):
    assert not seems_to_wait(*call)


@pytest.mark.parametrize("line", ["sleep {}; ls", "ls ; sleep {}", "ls\nsleep {}\n"])
@given(st.integers(10, 10_000), st.integers(10, 10_000))
def test_a_longer_sleep_is_no_other_wait(line, one, other):
    assert waited_for(line.format(one)) == waited_for(line.format(other))
    assert waited_for(line.format(one)) != waited_for(line.format(one).replace("ls", "ps"))


@given(st.integers(0, 9999), st.integers(0, 9999), st.integers(0, 9999))
def test_how_much_is_shown_makes_no_other_wait(most, length, handle):
    asked = {"session_id": handle, "chars": "", "max_output_tokens": most, "max_chars": length}
    assert waited_for(asked) == {"session_id": handle, "chars": ""}


@pytest.mark.parametrize("text", ENDED)
def test_an_answer_says_that_the_work_has_ended(text):
    assert has_ended(text)


@pytest.mark.parametrize("text", [*NOTHING_YET, "Task b1 has not finished", "Job not done"])
def test_other_answers_do_not(text):
    assert not has_ended(text)


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(WAITS), st.sampled_from(NOTHING_YET))
def test_a_wait_is_no_evidence_for_a_dozen_rounds(preset, call, answer):
    monitor = preset().monitor()
    wait = [(*call, answer)]
    assert verdicts(monitor, *[wait] * 11) == ["continue"] * 11
    assert verdicts(monitor, wait) != ["continue"]


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(WAITS), st.integers(3, 11))
def test_a_wait_starts_anew_when_anything_came(preset, call, before):
    rounds = [[(*call, "")]] * before + [[(*call, "2 files compiled")]] + [[(*call, "")]] * 11
    assert set(verdicts(preset().monitor(), *rounds)) == {"continue"}


POLLS = [
    ("get_job", {"id": 7}, '{"id": 7, "state": "running"}'),
    ("bash", {"command": "kubectl get pods"}, "NAME   READY   STATUS\nweb-1  0/1     Pending"),
    ("bash", {"command": "aws cloudformation describe-stacks"}, "CREATE_IN_PROGRESS"),
    (
        "bash",
        {"command": "squeue -j 9"},
        "JOBID NAME  ST  TIME  NODES\n    9 train  R  1:00      1",
    ),
    ("look", {"process": 7}, "(no output yet)"),
    ("bash", {"command": "tail -1 apply.log"}, "db.main: Still creating... [10m0s elapsed]"),
]
# What is under way may say so in a long answer.
POLLS += [(tool, asked, f"{text}\n{'0 done ' * 80}") for tool, asked, text in POLLS[1:2]]


@pytest.mark.parametrize("preset", [*PRESETS, LoopDetector.thorough])
@given(st.sampled_from(POLLS), st.lists(st.integers(1, 11), min_size=1, max_size=6))
def test_an_unchanged_poll_starts_anew_when_anything_came(preset, poll, lengths):
    *call, text = poll
    rounds = []
    for place, length in enumerate(lengths):
        rounds += [[poll]] * length + [[(*call, f"{text}\n{'more ' * place}arrived")]]
    assert set(verdicts(preset().monitor(), *rounds)) == {"continue"}


@pytest.mark.parametrize("preset", [*PRESETS, LoopDetector.thorough])
@given(st.sampled_from(POLLS), st.integers(1, 50))
def test_an_unchanged_poll_is_measured_by_the_clock_where_there_is_one(preset, poll, gap):
    monitor, (*call, text) = preset().monitor(), poll
    for number in range(min(49, 600 // gap)):  # one more ends after ten minutes
        timed = ToolCall(*call, started_at=1e9 + number * gap)
        assert monitor.after([timed], [text]).action.value == "continue"


UNDER_WAY = [
    '{"status": "running", "uptime_seconds": %d}',
    "The task is still running after %ds",
    "NAME  READY   STATUS    AGE\nweb-1  0/1     Pending   %ds",
    "Build in progress. %d seconds so far",
]


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(UNDER_WAY), st.integers(1, 40), st.integers(0, 500))
def test_time_that_passes_is_no_news_of_the_work_that_takes_it(preset, text, pace, begun):
    asked = ("get_build", {"id": 7})
    rounds = [[(*asked, text % (begun + pace * at))] for at in range(12)]
    said = verdicts(preset().monitor(), *rounds)
    assert said[:11] == ["continue"] * 11
    assert said[11] != "continue"


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(UNDER_WAY[1:]), st.integers(1, 40))
def test_a_time_that_falls_is_news(preset, text, pace):
    rounds = [[("get_build", {"id": 7}, text % (pace * at))] for at in range(30, 0, -1)]
    assert set(verdicts(preset().monitor(), *rounds)) == {"continue"}


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(WAITS[:5]), st.sampled_from(ENDED))
def test_to_wait_for_what_has_ended_is_a_repetition(preset, call, answer):
    actions = verdicts(preset().monitor(), *[[(*call, answer)]] * 4)
    assert actions[:2] == ["continue"] * 2
    assert actions[3] != "continue"


SLEEPERS = [
    ("bash", {"command": "sleep 30 && tail -1 build.log"}),
    ("bash", {"command": "sleep 60", "timeout": 90_000}),
    ("exec_command", {"cmd": "tail -1 build.log; sleep 30", "yield_time_ms": 40_000}),
    ("exec", "sleep 30; tail -1 build.log"),
]
HOSTS = [
    "{0}\n[exit code: 0]",
    "Exit code: 0\nWall time: 30.1 seconds\nOutput:\n{0}",
    "Chunk ID: a1b2c3\nProcess exited with code 0\nOutput:\n{0}",
    "<returncode>0</returncode>\n<output>\n{0}\n</output>",
    '{{"stdout": "{0}", "exit_code": 0}}',
]
TIMERS = [
    ("sleep", {"seconds": 30}),
    ("wait", {"minutes": 5, "reason": "the build takes long"}),
    ("computer", {"action": "wait", "duration": 3}),
    ("browser_wait_for", {"time": 30}),
]


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(SLEEPERS), st.sampled_from(HOSTS), st.sampled_from(["[12/40] a.c", "slow"]))
def test_the_exit_code_of_a_sleep_is_not_the_end_of_the_work(preset, call, host, said):
    look = [(*call, host.format(said))]
    assert verdicts(preset().monitor(), *[look] * 11) == ["continue"] * 11


@given(st.sampled_from(SLEEPERS), st.sampled_from(ENDED[1:4]))
def test_a_line_that_sleeps_may_show_that_the_work_has_ended(call, answer):
    assert has_ended(answer, call[1])


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(TIMERS), st.sampled_from(["Done.", "finished waiting", *ENDED[:3]]))
def test_a_timer_that_is_over_ends_no_wait(preset, timer, answer):
    look = [("get_state", {"id": "door"}, '{"state": "shut", "battery": 81}')]
    rounds = [[(*timer, answer)], look] * 8
    assert set(verdicts(preset().monitor(), *rounds)) == {"continue"}


@pytest.mark.parametrize(
    "arguments",
    [{}, {"timeout_ms": 9000}, {"job": "build-7", "seconds": 60}, {"id": 7, "seconds": 60}],
)
def test_what_waits_for_something_is_no_timer(arguments):
    assert has_ended("Done.", arguments)


@pytest.mark.parametrize("answer", ENDED[:3])
def test_a_declared_poll_of_what_has_ended_is_a_repetition(answer):
    polls = {"look": ToolPolicy(poll=True)}
    monitor = LoopDetector.default(tools=polls).monitor()
    assert verdicts(monitor, *[[("look", {}, answer)]] * 3)[-1] == "raise"


def timed(preset, gap, rounds, took=None, tools=None, call=WAITS[1]):
    """Return the actions after unchanged waits; half of the run goes on in another process."""
    monitor, made = preset(tools=tools).monitor(), []
    for n in range(rounds):
        if n == rounds // 2:
            other = preset(tools=tools).monitor()
            other.restore(monitor.snapshot())
            monitor = other
        began = None if gap is None else 1e9 + n * gap
        result = ToolResult("nothing yet", duration_s=took)
        made.append(monitor.after([ToolCall(*call, started_at=began)], [result]).action.value)
    return made


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(WAITS), st.integers(1, 50), st.booleans())
def test_a_wait_is_measured_by_the_clock_where_there_is_one(preset, call, gap, only_durations):
    rounds = min(49, 600 // gap)  # one more ends after ten minutes
    times = {"gap": None, "took": gap} if only_durations else {"gap": gap}
    assert set(timed(preset, rounds=rounds, call=call, **times)) == {"continue"}


@given(st.integers(50, 900), st.booleans())
def test_after_ten_minutes_a_wait_is_noticed_and_ends_only_after_a_dozen(gap, only_durations):
    times = {"gap": None, "took": gap} if only_durations else {"gap": gap}
    actions = timed(LoopDetector.escalating, rounds=14, **times)
    first = max(3, -(-600 // gap) + 1)
    assert actions.index("notify") + 1 == min(first, 13)
    assert not {"block", "stop"} & set(actions[:11])
    assert "stop" in actions or gap < 60
    assert set(timed(LoopDetector.default, rounds=11, **times)) == {"continue"}


def test_a_declared_threshold_comes_before_the_clock():
    declared = {"wait_agent": ToolPolicy(thresholds={"repeat": 4})}
    actions = timed(LoopDetector.escalating, gap=1, rounds=6, tools=declared)
    assert actions == ["continue"] * 3 + ["notify", "block", "stop"]


def test_a_clock_that_goes_backwards_tells_nothing():
    actions = timed(LoopDetector.escalating, gap=-60, rounds=12)
    assert actions == ["continue"] * 11 + ["notify"]


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), "soon", True])
def test_odd_times_are_no_times(odd):
    monitor, made = LoopDetector.escalating().monitor(), []
    for _ in range(12):
        call = ToolCall("wait_agent", {}, started_at=odd)
        made.append(monitor.after([call], [ToolResult("", duration_s=odd)]).action.value)
    assert made[-1] in ("notify", "continue")
    monitor.restore(monitor.snapshot())


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf"), "soon", None])
def test_a_wait_without_a_time_is_measured_in_rounds(odd):
    actions = timed(LoopDetector.escalating, gap=None, rounds=12, took=odd)
    assert actions == ["continue"] * 11 + ["notify"]
    monitor, made = LoopDetector.escalating().monitor(), []
    for _ in range(12):
        call = ToolCall(*WAITS[1], started_at=odd)
        made.append(monitor.after([call], ["nothing yet"]).action.value)
    assert made == actions


@pytest.mark.parametrize(
    ("call", "gap", "rounds", "may_end_run"),
    [
        (WAITS[1], 300, 3, False),
        (WAITS[1], 300, 11, False),
        (WAITS[1], 300, 12, True),
        (WAITS[1], None, 12, True),
        (("read_file", {"path": "a.py"}), 300, 3, True),
    ],
)
def test_a_wait_that_only_the_clock_calls_long_ends_no_run(call, gap, rounds, may_end_run):
    times = [None if gap is None else 1e9 + n * gap for n in range(rounds)]
    calls = [ToolCall(*call, started_at=began) for began in times]
    found = RepeatDetector(3, patience=12, patience_s=600).check(calls, ["a page"] * rounds)
    assert found.may_end_run is may_end_run


def test_a_call_that_only_sometimes_waits_is_a_repeat_like_any_other():
    call = ("job", {"id": 1})
    for said in (["still running", "Error: boom", "still running"], ["Error: boom"] * 3):
        assert RepeatDetector(3, patience=12).check([ToolCall(*call)] * 3, said) is not None
    assert (
        RepeatDetector(3, patience=12).check([ToolCall(*call)] * 3, ["still running"] * 3) is None
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_laps_and_returns_of_a_wait_go_by_the_clock_too(preset):
    def run(gap, laps, between):
        monitor, made = preset().monitor(), []
        for n in range(2 * laps):
            wait = ToolCall("wait_agent", {"id": "a"}, started_at=n * gap)
            look = ToolCall("list_agents", {} if between else {"n": n // 2}, started_at=n * gap)
            found = "one agent" if between else f"agent {n * n}"
            call, answer = (wait, "nothing yet") if n % 2 == 0 else (look, found)
            made.append(monitor.after([call], [ToolResult(answer)]).action.value)
        return made

    for between in (True, False):
        assert set(run(5, 12, between)) == {"continue"}
        assert "stop" not in run(100, 11, between)
    # Laps that took long enough are told of, where the preset looks for laps.
    assert ("notify" in run(100, 11, True)) == (preset == LoopDetector.escalating)


ACTS = [
    ("browser_press_key", {"key": "PageDown"}, "Pressed key PageDown"),
    ("browser_click", {"ref": "e9"}, "Clicked"),
    ("scroll_down", {}, "Scrolled down the page by one page"),
    ("approve_next", {}, "Approved."),
    ("go_back", {}, "Navigated back"),
]
# Nothing but the look after them says that these act.
SENTENCES = [
    ("debug_step_over", {"session": "s"}, "Step completed"),
    ("次へ", {}, "完了しました"),
    ("weiter", {}, "Der Vorgang wurde ausgeführt."),
]


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(ACTS + SENTENCES), st.integers(5, 20))
def test_an_act_is_left_alone_while_the_look_after_it_shows_something_new(preset, act, laps):
    rounds = []
    for lap in range(laps):
        rounds += [
            [act],
            [("browser_snapshot", {}, f"- article {lap * 7}\n- article {lap * 7 + 1}")],
        ]
    assert set(verdicts(preset().monitor(), *rounds)) == {"continue"}


@given(st.sampled_from(ACTS + SENTENCES))
def test_an_act_with_the_same_look_is_found_by_the_fourth_lap(act):
    rounds = [[act], [("browser_snapshot", {}, "- the same article")]] * 4
    assert "notify" in verdicts(LoopDetector.escalating().monitor(), *rounds)


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(ACTS))
def test_an_act_by_itself_needs_a_dozen_rounds(preset, act):
    actions = verdicts(preset().monitor(), *[[act]] * 12)
    assert actions[:11] == ["continue"] * 11
    assert actions[11] != "continue"


@pytest.mark.parametrize(
    "call", [("bash", {"command": "git status"}, " M a.py"), ("todo", {}, "1.")]
)
def test_a_habit_beside_new_work_never_ends_the_run(call):
    def rounds():
        return [[call, ("read_file", {"path": f"f{n}"}, f"text {n * n}")] for n in range(24)]

    assert set(verdicts(LoopDetector.default().monitor(), *rounds())) == {"continue"}
    actions = verdicts(LoopDetector.escalating().monitor(), *rounds())
    assert "notify" in actions
    assert not STOPS & set(actions[:8])
    assert "stop" not in actions


def test_calls_without_known_results_need_more_rounds_if_others_lie_between():
    found = RecurrenceDetector(3, unseen=5)
    calls = [ToolCall("hotkey", {"keys": "enter"}), ToolCall("press", {"button": 1})] * 5
    assert found.check(calls[:7], []) is None
    assert found.check(calls[:9], []) is not None
    with pytest.raises(ValueError, match="unseen must be a whole number, 3 or more"):
        RecurrenceDetector(3, unseen=2)


@pytest.mark.parametrize("preset", [*PRESETS, LoopDetector.thorough])
@given(st.sampled_from(WAITS), st.sampled_from(["#1 [in_progress] build", "2 messages", "a.o b.o"]))
def test_what_is_looked_at_beside_a_wait_is_part_of_waiting(preset, call, shown):
    beside = [(*call, ""), ("list_them", {"all": True}, shown)]
    assert set(verdicts(preset().monitor(), *[beside] * 11)) == {"continue"}


@pytest.mark.parametrize("tool", ["read_terminal", "view_console"])
def test_a_handle_of_one_character_is_no_key_that_is_pressed(tool):
    look = [(tool, {"id": "3"}, "$ make\nall done")]
    assert verdicts(LoopDetector.default().monitor(), *[look] * 3)[-1] != "continue"


@given(st.integers(2, 9))
def test_a_key_after_each_new_text_is_work_where_nothing_is_known_of_either(count):
    texts = [ToolCall("type", {"text": f"line {n}"}) for n in range(count)]
    calls = [call for text in texts for call in (text, ToolCall("hotkey", {"keys": "enter"}))]
    assert RecurrenceDetector(3, unseen=3).check(calls, []) is None


def test_a_silent_program_that_is_run_again_is_found():
    run = [("bash", {"command": "python exploit.py"}, "")]
    look = [("bash", {"command": "cat out.txt"}, "cat: out.txt is not there")]
    found = RecurrenceDetector(3)
    calls = [ToolCall(tool, arguments) for [(tool, arguments, _)] in [run, look, run, look, run]]
    results = [ToolResult(text) for [(_, _, text)] in [run, look, run, look, run]]
    assert found.check(calls, results) is not None
    assert found.check(calls[:3], results[:3]) is None


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("git stash && pytest a.py", True),
        ("sed -i s/a/b/ a.py; make", True),
        ("cd src && pytest a.py", False),
        ("pytest a.py && git stash", False),
        ("git stash", False),
    ],
)
def test_a_part_before_the_end_of_a_line_may_change_something(line, changes):
    assert changes_midway({"command": line}) is changes


def test_a_test_that_fails_behind_a_change_is_no_round_without_one():
    def lap(n):
        failing = {"command": f"git stash && pytest t{n}.py"}
        return [
            [("bash", failing, "Error: 1 failed\nexit code 1")],
            [("bash", {"command": "git stash pop"}, "On branch fix")],
        ]

    rounds = [each for n in range(4) for each in lap(n)]
    calls = [ToolCall(tool, arguments) for [(tool, arguments, _)] in rounds]
    results = [ToolResult(text) for [(_, _, text)] in rounds]
    assert RecurrenceDetector(3).check(calls, results) is None


def test_a_tool_that_types_is_not_one_that_asks():
    assert [seems_to_type(name) for name in ("sendline", "type_text", "act", "get_page")] == [
        *(True, True, False, False)
    ]


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("sleep 8", True),
        ("sleep 1m 30s; cat log", True),
        ("sleep 60 # the build takes a minute", True),
        ("timeout /t 5 /nobreak", True),
        ("sleep 8 hours enough?", False),
        ("sleep 7 hours a night", False),
    ],
)
def test_a_question_about_sleep_is_no_wait(line, waits):
    assert seems_to_wait("search", {"query": line}) is waits
    assert (waited_for({"query": line}) == {"query": line}) is not waits
