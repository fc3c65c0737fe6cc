"""The same failure whatever is asked, or nothing but failures: the agent is stuck."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, ask_rounds, failed, fresh_answers, in_a_row, step, verdicts

from antiloop import LoopDetector
from antiloop.loop_detection import FailureStreakDetector, ToolPolicy

NAMES = "home about contact imprint prices terms team jobs press partners".split()
MISSES = [step("get", f"Error: page {name} not found", page=name) for name in NAMES]
NEWS = [step("read", text, page=n) for n, text in zip(range(20), fresh_answers())]
FAILURES = [
    step("get", "Error: 404", page="a"),
    step("list", "[]", path="b"),
    failed("open", "boom", path="c"),
    step("find", "No results found.", q="d"),
    step("book", "Error: full", day=5),
]


class TestOfOneTool:
    detector = FailureStreakDetector(4, in_a_row=50)

    def test_the_same_failure_under_changing_arguments_is_found(self):
        found = ask(self.detector, *MISSES[:4])
        assert found.detector_name == "failure_streak"
        assert found.message == "Tool 'get' gave the same fruitless answer 4 times."
        assert found.indices == (0, 1, 2, 3)
        assert (found.details["tool"], found.details["count"]) == ("get", 4)
        assert json.loads(json.dumps(found.details)) == found.details

    def test_one_failure_less_is_not_yet_a_streak(self):
        assert ask(self.detector, *MISSES[:3]) is None

    def test_one_new_thing_to_four_failures_is_no_escape(self):
        assert ask(self.detector, MISSES[0], NEWS[0], *MISSES[1:4]).repetitions == 4
        assert ask(self.detector, MISSES[0], *NEWS[:2], *MISSES[1:4]) is None

    def test_different_failures_are_no_streak(self):
        texts = ("name missing", "wrong day", "no room left", "unknown host", "access denied")
        run = [step("book", f"Error: {text}", day=n) for n, text in enumerate(texts)]
        assert ask(self.detector, *run) is None

    def test_the_same_failure_of_different_tools_is_no_streak(self):
        assert ask(self.detector, *(failed(name, "boom") for name in NAMES[:5])) is None

    def test_a_new_change_in_between_is_progress(self):
        edits = [step("edit", "ok", text=name) for name in NAMES]
        run = [each for pair in zip(MISSES, edits) for each in pair]
        assert ask(self.detector, *run, MISSES[0]) is None

    def test_empty_answers_are_no_failures(self):
        assert ask(self.detector, *(step("find", "[]", q=name) for name in NAMES)) is None

    def test_a_long_answer_that_is_the_same_to_the_letter_counts(self):
        page = "the same long page again. " * 30
        run = [step("get", page, url=name) for name in NAMES[:4]]
        assert ask(self.detector, *run[:3]) is None
        assert ask(self.detector, *run).repetitions == 4

    @given(
        st.lists(
            st.from_regex(r"[j-z]{1,3}(/[j-z]{1,2}){1,3}", fullmatch=True),
            min_size=4,
            max_size=4,
            unique=True,
        ),
        st.sampled_from(["File not found: {}", "{}: permission denied", "cannot open '{}'"]),
        st.sampled_from(["read_file", "open", "cat"]),
    )
    def test_a_path_in_a_failure_is_an_echo_however_short_its_parts(self, paths, said, tool):
        run = [failed(tool, said.format(path), path=path) for path in paths]
        assert ask(self.detector, *run).repetitions == 4

    def test_a_long_answer_that_is_new_does_not(self):
        pages = [step("get", f"{name} " * 200, url=name) for name in NAMES]
        assert ask(self.detector, *pages) is None

    def test_siblings_count_once(self):
        assert ask_rounds(self.detector, MISSES) is None
        run = [MISSES[:3], MISSES[3:5], MISSES[5:6], MISSES[6:]]
        assert ask_rounds(self.detector, *run).repetitions == 4

    def test_whatever_is_asked_it_is_the_same_loop(self):
        one, other = ask(self.detector, *MISSES[:4]), ask(self.detector, *MISSES[4:8])
        assert one.identity == other.identity


class TestOfAnyTool:
    detector = FailureStreakDetector(50, in_a_row=5)

    def test_rounds_that_all_come_to_nothing_are_found(self):
        found = ask(self.detector, *FAILURES)
        assert found.message == (
            "The last 5 rounds failed, found nothing or repeated what was known."
        )
        assert found.details["tools"] == ["get", "list", "open", "find", "book"]
        assert (found.details["tool"], found.details["count"]) == ("book", 5)
        assert found.period == 5

    def test_one_round_less_is_not_yet_a_streak(self):
        assert ask(self.detector, *FAILURES[1:]) is None

    def test_anything_new_ends_it(self):
        assert ask(self.detector, *FAILURES[:3], NEWS[0], *FAILURES[3:]) is None

    def test_work_under_way_is_passed_over(self):
        poll = step("status", "still running", job=1)
        assert ask(self.detector, *FAILURES[:3], poll, *FAILURES[3:]).repetitions == 5
        assert ask(self.detector, *FAILURES, poll) is None

    def test_what_was_known_already_is_nothing(self):
        old = step("read", "page one", page=1)
        assert ask(self.detector, old, *[old] * 4) is None
        assert ask(self.detector, old, *[old] * 5).repetitions == 5

    def test_unknown_results_tell_nothing_that_was_known(self):
        assert ask(self.detector, *[step("ls", path=".")] * 9) is None

    def test_what_stands_beside_a_failure_is_judged_in_any_order(self):
        edit, empty = step("edit", "No matches found", line=1), step("list", "[]", path="b")
        for beside in ([edit, empty], [empty, edit]):
            run = [FAILURES[4:], beside, *([each] for each in FAILURES[:4])]
            assert ask_rounds(self.detector, *run).repetitions == 6

    def test_a_round_with_one_success_is_no_failure(self):
        run = [[failed("get", "boom", n=n), NEWS[n]] for n in range(9)]
        assert ask_rounds(self.detector, *run) is None


def test_nothing_is_found_in_nothing():
    assert FailureStreakDetector().check([], []) is None


@pytest.mark.parametrize("numbers", [{"threshold": 1}, {"in_a_row": 1}])
def test_numbers_that_could_mean_nothing_are_refused(numbers):
    (name,) = numbers
    with pytest.raises(ValueError, match=f"{name} must be a whole number, 2 or more, got 1"):
        FailureStreakDetector(**numbers)


class TestPatience:
    detector = FailureStreakDetector(4, in_a_row=50, patience=6)
    PAUSES = (
        "HTTP/1.1 503",
        "Error: 503 upstream",
        "429 Too Many Requests",
        "rate limit exceeded",
        "Not ready, try again later",
    )

    @pytest.mark.parametrize("text", PAUSES)
    @pytest.mark.parametrize("make", [step, failed])
    def test_a_service_that_is_down_is_found_whatever_it_is_asked(self, text, make):
        run = [make("get", text, page=name) for name in NAMES[:6]]
        assert ask(self.detector, *run[:5]) is None
        found = ask(self.detector, *run)
        assert found.message == "Tool 'get' asked to come back later 6 times."

    def test_a_service_that_is_down_in_other_words_is_another(self):
        run = [step("get", f"{name}: retry later", page=n) for n, name in enumerate(NAMES)]
        assert ask(self.detector, *run) is None

    @pytest.mark.parametrize("text", ["{} is queued", "status: running", '{{"state": "pending"}}'])
    def test_work_under_way_is_judged_by_what_is_waited_for(self, text):
        many = [step("get", text.format(name), page=name) for name in NAMES]
        one = [step("get", text.format("it"), page=1)] * 20
        assert ask(self.detector, *many) is ask(self.detector, *one) is None

    def test_the_same_wait_goes_on_only_where_nothing_moves(self):
        run = [step("get", f"running, {n} lines read", job=5) for n in range(10)]
        assert ask(self.detector, *run) is None

    def test_work_that_was_taken_on_is_no_wait(self):
        queued = [step("submit_job", "queued", name=name) for name in NAMES]
        turned_away = [step("submit_job", "429 Too Many Requests", name=name) for name in NAMES]
        assert ask(self.detector, *queued) is None
        assert ask(self.detector, *turned_away).repetitions == 10

    @pytest.mark.parametrize("tool", ["process", "enqueue", "approve", "start_job"])
    @pytest.mark.parametrize("text", ["queued", '{"status": "pending"}', "status: running"])
    def test_work_that_may_have_been_taken_on_is_no_wait(self, tool, text):
        run = [step(tool, text, item=name) for name in NAMES]
        assert ask(self.detector, *run) is None
        assert ask(self.detector, *(step(tool, "rate limit exceeded", item=name) for name in NAMES))

    def test_polls_of_different_things_are_no_streak(self):
        detector = LoopDetector([self.detector], tools={"get": ToolPolicy(poll=True)})
        run = in_a_row(*(step("get", "all done here", page=name) for name in NAMES))
        assert detector.check(*run) is None

    @pytest.mark.parametrize(
        ("tool", "arguments"),
        [
            ("grep", lambda name: {"pattern": name}),
            ("bash", lambda name: {"command": f"cd src && grep -rn {name} ."}),
            ("run", lambda name: {"action": "find", "q": name}),
        ],
    )
    @pytest.mark.parametrize("text", ["", '{"output": "", "exit_code": 1}', "exit status 1"])
    def test_what_looks_and_looks_and_finds_nothing_is_found(self, tool, arguments, text):
        run = [step(tool, text, **arguments(name)) for name in NAMES[:6]]
        assert ask(self.detector, *run[:5]) is None
        assert ask(self.detector, *run).repetitions == 6

    def test_silence_of_what_does_something_is_none(self):
        run = [step("bash", "", command=f"make {name}") for name in NAMES]
        assert ask(self.detector, *run) is None

    def test_a_search_that_says_so_needs_two_rows_at_most(self):
        run = [step("find", "No results found.", q=name) for name in NAMES]
        detector = FailureStreakDetector(4, in_a_row=4, patience=20)
        found = ask(detector, *run[:8])
        assert found.message == "Tool 'find' gave the same fruitless answer 8 times."
        assert "rounds failed" in ask(detector, *run[:7]).message

    def test_patience_is_not_below_the_threshold(self):
        with pytest.raises(ValueError, match="patience"):
            FailureStreakDetector(5, patience=4)
        assert FailureStreakDetector(50).patience == 50


class TestRepeatsOfARow:
    """A row in which everything fails differently is exploring, not a loop."""

    detector = FailureStreakDetector(50, in_a_row=5, repeats=3)

    def different(self, count):
        words = "amber birch cedar daisy elder fern grape hazel iris jasmin".split()
        return [
            failed(f"tool_{word}", f"{word} is {'very ' * n}broken", about=n)
            for n, word in zip(range(count), words)
        ]

    def test_five_different_failures_are_no_row_and_ten_are(self):
        assert ask(self.detector, *self.different(9)) is None
        assert ask(self.detector, *self.different(10)).details["count"] == 10

    def test_failures_in_the_same_words_are_one_whatever_the_tool(self):
        run = [failed(f"tool_{n}", "permission denied", about=n) for n in range(5)]
        assert ask(self.detector, *run).details["count"] == 5

    def test_one_search_after_the_other_in_vain_is_found_and_given_time(self):
        run = [step("bash", "", command=f"grep word{n} src") for n in range(5)]
        found = ask(self.detector, *run)
        assert (found.details["count"], found.spacing) == (5, 5)

    def test_to_find_nothing_is_the_same_in_whatever_words(self):
        told = ["No results found.", "[]", "No matches found", "0 results", "Nothing found."]
        run = [step("find", text, q=f"word{n}") for n, text in enumerate(told)]
        assert ask(self.detector, *run).details["count"] == 5

    def test_what_is_told_again_is_found_again_soon(self):
        run = [failed(f"tool_{n}", "permission denied", about=n) for n in range(5)]
        assert ask(self.detector, *run).spacing == 2

    def test_a_row_is_not_found_at_a_failure_in_new_words(self):
        run = [failed(f"tool_{n}", "permission denied", about=n) for n in range(4)]
        run += self.different(1)
        assert ask(self.detector, *run) is None
        run.append(failed("tool_9", "permission denied", about=9))
        assert ask(self.detector, *run).details["count"] == 6

    @given(st.lists(st.sampled_from(["amber", "birch", "cedar", "daisy"]), max_size=9))
    def test_the_last_round_of_a_row_says_what_an_earlier_one_said(self, told):
        run = [failed(f"tool_{n}", f"{word} is down", about=n) for n, word in enumerate(told)]
        again = [word in told[:n] for n, word in enumerate(told)]
        is_found = len(told) >= 5 and sum(again) >= 3 and again[-1]
        assert (ask(self.detector, *run) is not None) == is_found

    def test_fewer_repeats_than_none_are_refused(self):
        with pytest.raises(ValueError, match="repeats must be a whole number, 0 or more, got -1"):
            FailureStreakDetector(repeats=-1)


class TestStubbornRows:
    """One tool fails each time, and a call that failed is made again."""

    detector = FailureStreakDetector(4, in_a_row=5, repeats=3)

    def edits(self, *lines, tool="edit"):
        words = {1: "unmatched brace", 2: "bad indent", 3: "stray colon", 4: "open string"}
        return [failed(tool, f"syntax error, {words[line]}", line=line) for line in lines]

    @given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    def test_four_failures_are_a_row_where_a_call_is_made_again(self, lines):
        is_again = len(set(lines)) < len(lines)
        found = ask(self.detector, *self.edits(*lines))
        assert (found is not None) == (len(lines) == 4 and is_again)
        assert found is None or found.details["count"] == 4

    def test_the_same_call_with_another_failure_is_another_try(self):
        again = failed("edit", "disk is full", line=1)
        assert ask(self.detector, *self.edits(1, 2, 3), again) is None

    def test_another_tool_in_between_is_another_way(self):
        other = self.edits(2, tool="patch")
        assert ask(self.detector, *self.edits(1), *other, *self.edits(1, 3)) is None

    @pytest.mark.parametrize(("in_a_row", "needed"), [(5, 4), (9, 8)])
    def test_the_row_of_a_shell_is_nearly_one_over_any_tools(self, in_a_row, needed):
        words = ["brace", "indent", "colon", "string", "comma", "quote", "paren"]
        run = [
            failed("bash", f"no good {word}", command=f"make {n}") for n, word in enumerate(words)
        ]
        run = [run[0], *run]
        found = FailureStreakDetector(4, in_a_row=in_a_row, repeats=3)
        assert ask(found, *run[: needed - 1]) is None
        assert ask(found, *run[:needed]).details["count"] == needed

    def test_a_success_in_between_begins_anew(self):
        saved = step("edit", "saved, 12 lines", line=9)
        assert ask(self.detector, *self.edits(1, 1), saved, *self.edits(2, 3)) is None

    def test_a_search_without_a_match_is_not_a_failure(self):
        looked = [step("find", "no results found", q=word) for word in ("a b", "c d", "a b", "e f")]
        assert ask(self.detector, *looked) is None

    def test_a_tool_may_have_a_threshold_of_its_own(self):
        tools = {"edit": ToolPolicy(thresholds={"failure_streak": 3})}
        own = LoopDetector([self.detector], "raise", tools=tools)
        rounds = [[each] for each in self.edits(1, 2, 1)]
        assert [each.action.value for each in verdicts(own, *rounds)][1:] == ["continue", "raise"]


def test_dots_stand_for_something_so_nobody_has_looked_in_vain():
    run = [step("read_file", "...", path=f"src/{n}.py") for n in range(9)]
    assert ask(FailureStreakDetector(50, in_a_row=5), *run) is None
    silent = [step("read_file", "", path=f"src/{n}.py") for n in range(9)]
    assert ask(FailureStreakDetector(50, in_a_row=5), *silent) is not None


def test_the_last_answer_is_the_one_that_is_told():
    from antiloop.loop_detection._evidence.fingerprint import text_fingerprint

    texts = [f"Error: order {number} not found" for number in (1000, 1001, 1002, 1003)]
    found = ask(
        FailureStreakDetector(4), *(failed("get", text, n=n) for n, text in enumerate(texts))
    )
    assert found.details["result_hash"] == text_fingerprint(texts[-1])[:10]


def test_other_tools_that_find_nothing_repeat_no_answer():
    detector = FailureStreakDetector(50, in_a_row=5, repeats=2)
    tools = ("find", "grep", "list", "search", "query")
    assert ask(detector, *(step(tool, "[]", q=NAMES[at]) for at, tool in enumerate(tools))) is None
    assert ask(detector, *(step("find", "[]", q=name) for name in NAMES[:5])).repetitions == 5


def refused_ports(*ports):
    text = "connect to db port {} failed: Connection refused"
    return [step("bash", text.format(port), command=f"nc db {port}") for port in ports]


@pytest.mark.parametrize(
    ("run", "rounds_until_the_end"),
    [
        (refused_ports(*range(20, 40)), 15),
        (refused_ports(20, 21, 20, 21, 22, 21), 4),
        (refused_ports(*NAMES), 4),
    ],
)
def test_one_number_after_the_other_may_be_tried_for_longer(run, rounds_until_the_end):
    rounds = [[each] for each in run]
    actions = [each.action.value for each in verdicts(LoopDetector.escalating(), *rounds)]
    assert actions.index("notify") == 3
    assert actions.index("stop") == rounds_until_the_end


@pytest.mark.parametrize(
    "said",
    ["sunny", "true", '{"in_stock": true}', '[{"ok": true}]', "Host is up and running."],
)
def test_one_value_for_many_questions_is_told_and_no_more(said):
    rounds = [[step("get_stock", said, item=name)] for name in (*NAMES, *map(str.upper, NAMES))]
    actions = {each.action.value for each in verdicts(LoopDetector.escalating(), *rounds)}
    assert actions == {"continue", "notify"}


def test_one_sentence_for_many_questions_ends_the_run():
    said = "We would like to know that you are human before you go on"
    rounds = [[step("get_stock", said, item=name)] for name in (*NAMES, *map(str.upper, NAMES))]
    actions = {each.action.value for each in verdicts(LoopDetector.escalating(), *rounds)}
    assert actions == {"continue", "notify", "block", "stop"}
