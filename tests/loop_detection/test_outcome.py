"""An answer is judged by what a person sees at a glance; a mention of an error is no error."""

import json
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopAction, LoopDetection, LoopDetector
from antiloop.loop_detection._evidence import plain_answer
from antiloop.loop_detection._evidence.outcome import (
    REFUSED_MARKER,
    Outcome,
    names_no_tool,
    outcome,
    reads_like_refusal,
)
from antiloop.loop_detection._messages import refusal

ANSWERS = {
    Outcome.SUCCESS: (
        "ok",
        "3 files changed",
        "true",
        "false",
        "0.5",
        '{"price": 12}',
        "src/errors/handler.py",
        "use crate::error::Result;",
        "the file exceptions.py has 12 lines",
        "error_log rotated",
        "pod-a Running",
        "NAME    READY   STATUS\npod-a   1/1     Running",
        '{"output": "found", "exit_code": 0}',
        "Booked. Reference: X1.",
        "zero is a number",
        "nonexistent" * 20,
        "no data loss",
        '{"errors": [], "warnings": []}',
        '{"id": 7, "tags": []}',
        '{"name": "a", "tags": []}',
        '{"items": [], "found": [1]}',
        '{"items": []',
        '[{"items": []}]',
        '{"items": {}}',
        "     1→import errors\n     2→raise failure",
        "702-// deleted\n703-//\n704-/ Error handling:\n705:fail()",
        "src/cli.go:33:\tif err != nil { return error }",
        "7:    raise ValueError  # invalid",
        "  12\tan error that is not there",
        "def main():\n    pass\n" * 20 + "raise Error",
        "On branch main\nChanges not staged for commit:\n\tmodified: a.py",
        "# Licensed under the Apache License;\n# you may not use this file except in compliance",
        "def test_a_name_must_not_be_long(name):  # it should not be None",
        "    if key is not None:\n        use(key)",
    ),
    Outcome.EMPTY: (
        "[]",
        " [ ]\n",
        "{}",
        "()",
        "null",
        "None",
        "nil",
        "undefined",
        "No results found.",
        "0 matches",
        "Found 0 rows",
        "no such files found",
        "Nothing found",
        "No documents matched your query: cats.",
        "No data available",
        "There are no tickets matching 'x'",
        '{"results": [], "total": 0}',
        '\n{"data": {"items": [], "next": null}, "ok": true, "hasMore": false}',
        '{"spans": [], "message": "Found 0 code spans."}',
        '{"results": [], "errors": [], "note": ""}',
    ),
    Outcome.SILENT: (
        "",
        " \n\t",
        "(no output)",
        "(Bash completed with no output)\n\n[metadata] {}",
        "The command gave no output.",
        "Command executed successfully (no output)",
        "Tool ran without output or errors",
        "Your command ran successfully and did not produce any output.",
        "exit code 0",
        "Exit status 1",
        '{"output": "", "exit_code": 1}',
        ' {"stdout": "", "stderr": "", "returncode": 0}\n',
        '{"exitCode": 1, "output": null}',
        "\n[exit code: 0]\n",
    ),
    Outcome.FAILURE: (
        "Error: 404",
        "bash: line 3: frob: command not found",
        "Permission denied",
        "The user has declined to run this tool.",
        "ls: cannot access 'x': is missing",
        "Traceback (most recent call last):",
        "Invalid date",
        "could not write output",
        "Error: no output",
        "The operation failed.",
        "FAILED tests/test_a.py::test_one",
        "I couldn't do that.",
        "404: page is missing",
        "403:forbidden",
        "404|Page not found",
        "01-May-2026 12:00 error: connection refused",
        "3-way merge failed",
        "main.c:12:5: error: expected ';'",
        "src/cli.py:12: invalid syntax",
        "(eval):1: unknown file attribute",
        "     1→import a\nError: the rest is missing",
        "You may not have used it: the file is not there",
        "may I? this file does not exist",
    ),
    Outcome.INVALID: (
        "Error: unknown tool 'hex'",
        "No such tool: hex. Errors are final.",
        "Tool hex is not known, error",
        "Error: tool not found",
        "TypeError: missing 1 required positional argument: 'path'",
        "Error: unexpected argument 'q'",
        "Input validation error: 'x' is wrong",
        "error: field required",
    ),
    Outcome.WAITING: (
        '{"state": "running", "percent": 40}',
        "status: pending",
        "The job is still running.",
        "Build is queued",
        "Command running in background with ID: 78dd67",
        "still running (session sess-3, pid 311)",
        "Job 7 running",
        "HTTP 429 Too Many Requests",
        "503 Service temporarily unavailable",
        "Rate limit hit, retry later",
        "Not ready, try again later",
        "processing",
    ),
}


@pytest.mark.parametrize(
    ("text", "kind"),
    [(text, kind) for kind, texts in ANSWERS.items() for text in texts],
    # pytest writes other ids for these where it collects a second time, as mutmut lets it do.
    ids=lambda value: ascii(value)[:40].replace("\\", "/"),
)
def test_an_answer_is_judged_at_a_glance(text, kind):
    assert outcome(text) is kind


def test_a_tool_that_does_not_exist_is_not_a_wrong_argument():
    assert names_no_tool("Error: unknown tool 'serch'")
    assert names_no_tool("Tool serch not found")
    assert not names_no_tool("Error: missing argument 'path'")
    assert not names_no_tool("x" * 200 + " unknown tool")


@pytest.mark.parametrize("text", ["boom", "x" * 500, "x" * 5000])
def test_who_ran_the_tool_is_believed_that_it_failed(text):
    assert outcome(text) is Outcome.SUCCESS
    assert outcome(text, is_error=True) is Outcome.FAILURE


def test_a_failure_that_says_so_may_be_that_no_such_tool_exists():
    assert outcome("no such tool", is_error=True) is Outcome.INVALID


def test_the_word_error_in_a_long_answer_is_part_of_what_was_asked_for():
    log = "error: one line of a log\n"
    assert outcome(log) is Outcome.FAILURE
    assert outcome(log * 100) is Outcome.SUCCESS


def test_a_word_of_failure_far_down_in_an_answer_is_no_failure():
    assert outcome("all fine here. " * 20 + "error") is Outcome.SUCCESS


def test_only_what_stands_in_an_answer_of_a_line_or_two_is_a_form():
    assert outcome("No results found. " + "Some words about that. " * 20) is not Outcome.EMPTY


@pytest.mark.parametrize(
    "text",
    [
        REFUSED_MARKER,
        f"PreToolUse:Bash hook error: {REFUSED_MARKER} this call was not run.",
        refusal(LoopDetection("repeat", "Again."), "ls", "{}"),
    ],
)
def test_a_refusal_reads_like_one_but_is_no_outcome_that_a_text_can_have(text):
    assert reads_like_refusal(text)
    assert outcome(text) is not Outcome.REFUSED
    assert not reads_like_refusal(f"{'words ' * 30}{text}")


def test_which_outcomes_are_failures_and_which_brought_nothing():
    assert {kind for kind in Outcome if kind.is_failure} == {Outcome.FAILURE, Outcome.INVALID}
    assert {kind for kind in Outcome if kind.is_fruitless} == {
        Outcome.FAILURE,
        Outcome.INVALID,
        Outcome.EMPTY,
        Outcome.SILENT,
    }
    assert {kind for kind in Outcome if not kind.says_something} == {Outcome.EMPTY, Outcome.SILENT}


SPOKEN = [
    *("Error:", "errors", "0", "no", "without any", "failed", "null", "[]", "none", "zero", "12"),
    *('{"items": []}', '{"errors": [],', '"total": 0}', '{"a":', "[]}"),
    *("still", "is", "status:", "state", "running", "in progress", "in_progress", "Waiting", "job"),
    *("429", "overloaded", "Rate limit", "rate-limited", "too many requests", "not ready", "503"),
    *(
        "try again later",
        "retry later",
        "temporarily",
        "progress",
        "a/b.py",
        "tool",
        "\n",
        ".",
        "x",
    ),
]


@given(
    st.lists(st.sampled_from(SPOKEN), max_size=12).map(" ".join),
    st.sampled_from(["", " words" * 80]),
    st.booleans(),
)
def test_quick_checks_change_no_outcome(begin, end, is_error):
    text = begin + end
    with patch.object(plain_answer, "contains_any", lambda *_: True):
        slowly = outcome(text, is_error)
    assert outcome(text, is_error) is slowly


@given(
    st.lists(st.sampled_from(SPOKEN), max_size=12).map(" ".join),
    st.sampled_from(["", " words" * 80, " words" * 200]),
    st.booleans(),
)
def test_what_is_plainly_a_success_is_one(begin, end, is_error):
    text = begin + end
    if plain_answer.is_plain_success(text, is_error):
        assert outcome(text, is_error) is Outcome.SUCCESS


def test_no_other_answer_is_plainly_a_success():
    others = [
        text for kind, texts in ANSWERS.items() if kind is not Outcome.SUCCESS for text in texts
    ]
    assert {plain_answer.is_plain_success(text) for text in others} == {False}


@pytest.mark.parametrize(
    "said",
    [
        *("exit code 2", "exit_code: 2", "exitcode=2", "exit status 2", "exit_status: 2"),
        *("exitstatus 2", "exit with code 2", "exited with 2", "[exit 2]", "(exit 2)"),
        *("return code 2", "return_code: 2", "returncode=2"),
    ],
)
def test_a_code_is_read_in_each_way_of_writing_it(said):
    for text in (f"a line\n{said}", f"{'many words ' * 40}\n{said}"):
        assert outcome(text) is Outcome.FAILURE
        assert not plain_answer.is_plain_success(text)


@given(st.integers(0, 500), st.sampled_from([0, 400]))
def test_an_object_behind_blanks_is_not_plainly_a_success(blanks, length):
    text = " " * blanks + json.dumps({"exit_code": 2, "output": "x" * length})
    assert outcome(text) is Outcome.FAILURE
    assert not plain_answer.is_plain_success(text)


CODE = "def served(page):\n    return page.status\n\n\nif served:\n    sys.exit(http.OK)\n" * 5


@pytest.mark.parametrize("text", ["12 files changed", "words " * 80, "an error " * 200, CODE])
def test_most_successes_are_plain(text):
    assert plain_answer.is_plain_success(text)
    assert not plain_answer.is_plain_success(text, is_error=True)
    assert not plain_answer.is_plain_success(f"status: running\n{text * 300}")


def test_ascii_characters_that_are_no_letters_or_digits_end_a_word():
    for character in map(chr, range(128)):
        parts = [f"a{character.lower()}b"] if character.isalnum() else ["a", "b"]
        assert plain_answer.ascii_words(f"a{character}b") == parts


@pytest.mark.parametrize("character", ["\x80", "\u0100", "\u2026", "\ud800"])
def test_a_character_beyond_ascii_is_part_of_a_word(character):
    text = f"a{character.lower()}b"
    assert plain_answer.ascii_words(text) == [text]


@given(st.text(), st.booleans())
def test_any_text_is_judged(text, is_error):
    assert outcome(text, is_error) is not Outcome.UNKNOWN


@pytest.mark.parametrize(
    "part", [" no", "0 ", "a ", "not any ", "a.(", "\n[", "status: ", "No output ", "é"]
)
def test_a_text_made_to_be_hard_to_read_is_judged_in_no_time(part):
    for length in (100, 299, 999):
        text = (part * length)[:length]
        assert outcome(text) in Outcome


@pytest.mark.parametrize(
    "text",
    [
        '{"ok": true, "error": null}',
        '{"ok": true, "errors": []}',
        '{"failed": 0}',
        "10 passed, 0 failed",
        "No errors.",
        "No issues found in 3 files",
        "No known vulnerabilities found",
        "completed without any errors",
        "Passed!  - Failed:     0, Passed:    12, Skipped:     0",
        "The edit was applied and does not introduce any new errors.",
    ],
)
def test_good_news_about_errors_is_a_success(text):
    assert outcome(text) is Outcome.SUCCESS


@pytest.mark.parametrize("text", ['{"error": "bad"}', "2 failed, 3 passed", '{"errors": ["x"]}'])
def test_bad_news_about_errors_is_a_failure(text):
    assert outcome(text) is Outcome.FAILURE


@pytest.mark.parametrize("length", [10, 400, 5_000])
def test_a_running_state_at_the_head_of_a_long_answer_waits(length):
    text = f"<status>running</status>\n<stdout>{'words ' * length}</stdout>"
    assert outcome(text) is Outcome.WAITING
    assert outcome(text.replace("running", "done")) is Outcome.SUCCESS
    assert outcome("words " * 100 + text) is Outcome.SUCCESS


def test_a_long_answer_that_only_speaks_of_states_is_a_success():
    assert outcome("the state of things is running late, says the report " * 40) is Outcome.SUCCESS


CODE = [
    "\tif err != nil {",
    "  raise MissingKey('not found')",
    "    // an error is not fatal",
    '#[error("unknown")]',
]
PRINTS = ["sed -n '3,9p' a", "cat a", "head -40 a | tail -9", "cd src && cat a", "grep -h err a"]


@given(st.sampled_from(PRINTS), st.lists(st.sampled_from(CODE), min_size=3, max_size=5))
def test_words_of_failure_in_a_printed_file_are_its_content(line, code):
    text = "\n".join(code)
    assert outcome(text, arguments={"command": line}) is Outcome.SUCCESS
    assert outcome(text, is_error=True, arguments={"command": line}) is Outcome.FAILURE
    for other in (
        "make",
        "make -n",
        f"make && {line}",
        f"{line} | python b.py",
        "sed -i s/a/b/ a",
        f"{line} > b",
    ):
        assert outcome(text, arguments={"command": other}) is Outcome.FAILURE
    assert outcome(text) is Outcome.FAILURE


@given(st.sampled_from(["read_file", "get_matches", "Grep"]), st.permutations(CODE[:3]))
def test_several_lines_of_a_look_are_what_it_was_made_for(tool, code):
    text = "\n".join(code)
    assert outcome(text, tool=tool) is Outcome.SUCCESS
    assert outcome(text, is_error=True, tool=tool) is Outcome.FAILURE
    assert outcome(text, tool="install_patch") is Outcome.FAILURE
    assert outcome(f"Not there:\n{text}", tool=tool) is Outcome.FAILURE
    assert outcome(" ".join(code), tool=tool) is Outcome.FAILURE


@pytest.mark.parametrize(
    ("line", "speakers"),
    [
        ("cd src && cat a b c", ["cat", "/bin/cat", "bash", "sh"]),
        ("sed -n '3,9p' a | tail", ["sed", "/usr/bin/tail", "/bin/bash", "zsh"]),
    ],
)
def test_what_the_program_that_prints_says_itself_is_no_content(line, speakers):
    for speaker in speakers:
        text = f"x\n{speaker}: a: Permission denied\n{speaker}: b: Permission denied\n"
        assert outcome(text, arguments={"command": line}) is Outcome.FAILURE
    assert outcome(text.replace(speaker, "grep"), arguments={"command": line}) is Outcome.SUCCESS


TITLES = [
    "Fix error on login",
    "Handle missing file",
    "Uploads fail for large files!",
    "error",
    "Don't forget (it is not saved)",
]


@given(st.sampled_from(TITLES), st.sampled_from(TITLES), st.booleans())
def test_what_an_answer_repeats_of_its_arguments_is_no_failure(title, note, is_nested):
    given_texts = {"title": title, "labels": [note]}
    arguments = {"issue": given_texts} if is_nested else given_texts
    answer = f"Created #7: {title.upper()} [{note}]"
    assert outcome(answer) is Outcome.FAILURE
    assert outcome(answer, arguments=arguments) is Outcome.SUCCESS
    assert outcome(f"Cannot create: {title}", arguments=arguments) is Outcome.FAILURE
    assert outcome(answer, is_error=True, arguments=arguments) is Outcome.FAILURE


def test_a_part_of_a_word_and_a_line_for_a_shell_are_repeated_by_chance():
    assert outcome("errors: 7", arguments={"q": "error"}) is Outcome.FAILURE
    assert outcome("cat failed", arguments={"command": "cat failed"}) is Outcome.FAILURE


@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_bugs_may_be_filed_and_labeled_one_after_the_other(preset):
    monitor = getattr(LoopDetector, preset)().monitor()
    for number in range(12):
        title = f"{TITLES[number % 5]} in part {chr(97 + number)}"
        made = monitor.record_call("create_issue", {"title": title}, f"Created #{number}: {title}")
        label = {"issue": number, "label": "error"}
        labeled = monitor.record_call("add_label", label, f"Label 'error' added to {number}")
        assert made.action is labeled.action is LoopAction.CONTINUE


@pytest.mark.parametrize("tool", ["check_duplicate", "av_scan", "isInfected", "verify_mail"])
@pytest.mark.parametrize("said", ["Not a duplicate.", "Not infected", "No threats found.", "Isn't"])
def test_no_is_an_answer_of_a_tool_that_is_asked_whether_something_holds(tool, said):
    assert outcome(said, tool=tool) is Outcome.SUCCESS
    assert outcome(said, tool="fetch") is not Outcome.SUCCESS
    assert outcome(said, is_error=True, tool=tool) is not Outcome.SUCCESS
    assert outcome("Not checked: invalid path", tool=tool) is Outcome.FAILURE
    assert outcome("[]", tool=tool) is Outcome.EMPTY
