"""What may be read wrong is reported, and what is read well is not."""

import json
import pickle

import pytest
from client_files import WRITERS, chat_messages, healthy, lines, stuck

from antiloop.cli import main
from antiloop.traces._doubts import Doubt, unknown_kinds


def said(capsys, *arguments):
    status = main(["scan", *arguments])
    return status, capsys.readouterr()


def recording(tmp_path, text):
    path = tmp_path / "f.jsonl"
    path.write_text(text, encoding="utf-8")
    return str(path)


REPLIES = [
    {"role": "user", "content": "find it"},
    {"role": "assistant", "content": "<search>cats</search>"},
    {"role": "user", "content": "none"},
    {"role": "assistant", "content": "<search>cats</search>"},
]
BLOCKS = [
    {"role": "assistant", "content": [{"type": "tool_usage", "name": "ls"}]},
    *chat_messages(stuck(2)),
]
REQUESTS = [{"messages": chat_messages(healthy(count))} for count in (2, 3, 4)]
CUT = [each for each in chat_messages(stuck(2)) if each["role"] != "assistant"]
NAMELESS = {"run_id": "r", "steps": [{"tool": "ls", "args": {}, "output": "a.py"}] * 3}
DOUBTFUL = {
    "replies": ([REPLIES], "2 replies, and no tool call that is understood", 1),
    "blocks": ([BLOCKS], "blocks of the type 'tool_usage' are not understood", 1),
    "requests": (REQUESTS, "the run begins with all calls of the run before it", 2),
    "names": ([NAMELESS], "3 of 3 calls have neither a name nor arguments here", 1),
    "results": ([CUT], "2 of 2 results have no call here", 1),
}


@pytest.mark.parametrize(("values", "what", "count"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_what_may_be_read_wrong_is_reported_with_its_place(tmp_path, capsys, values, what, count):
    path = recording(tmp_path, lines(values))
    status, (_, err) = said(capsys, path)
    assert status != 2
    found = [line for line in err.splitlines() if what in line]
    assert len(found) == count
    assert all(f"{path}:" in line and "it may be read wrong" in line for line in found)
    assert f"{count} place{'s' * (count > 1)} may be read wrong; with --strict" in err


@pytest.mark.parametrize(("values", "what", "count"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_strict_scan_fails_on_it(tmp_path, capsys, values, what, count):
    assert said(capsys, recording(tmp_path, lines(values)), "--strict")[0] == 2


def test_a_strict_scan_fails_on_a_part_that_is_skipped(tmp_path, capsys):
    path = recording(tmp_path, lines([chat_messages(healthy())]) + "{broken\n")
    assert said(capsys, path)[0] == 0
    assert said(capsys, path, "--strict")[0] == 2


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_reported_of_a_session_that_is_known(tmp_path, capsys, name):
    for write in WRITERS[name].values():
        status, (_, err) = said(capsys, recording(tmp_path, write(stuck(8))), "--strict")
        assert (status, err) == (1, "")


@pytest.mark.parametrize(("values", "what", "count"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_sarif_names_it_among_the_notifications(tmp_path, capsys, values, what, count):
    _, (out, _) = said(capsys, recording(tmp_path, lines(values)), "--format", "sarif")
    (invocation,) = json.loads(out)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is True
    told = [each["message"]["text"] for each in invocation["toolExecutionNotifications"]]
    assert len(told) == count
    assert all(what in each for each in told)


def test_sarif_says_that_a_file_could_not_be_read(tmp_path, capsys):
    _, (out, _) = said(capsys, str(tmp_path / "none"), "--format", "sarif")
    (invocation,) = json.loads(out)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 1


def test_other_processes_report_it_too(tmp_path, capsys):
    path = recording(tmp_path, lines([REPLIES]))
    alone = said(capsys, path)
    assert said(capsys, path, "--jobs", "2") == alone


def test_a_doubt_stays_one_on_its_way_between_processes():
    assert type(pickle.loads(pickle.dumps(Doubt("x")))) is Doubt


def test_blocks_that_are_known_are_no_doubt():
    kinds = [
        "text",
        "tool_use",
        "tool-result",
        "toolCall",
        "thinking",
        "image_url",
        "web_search_call",
    ]
    content = [{"type": kind} for kind in kinds]
    assert unknown_kinds([{"role": "assistant", "content": content}]) == []
    # Blocks of the arguments and results of tools are theirs.
    inner = {"type": "tool_use", "input": {"role": "x", "content": [{"type": "odd"}]}}
    assert unknown_kinds([{"role": "assistant", "content": [inner]}]) == []
