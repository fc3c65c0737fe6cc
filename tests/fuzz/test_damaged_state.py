"""Every field of the files that the program reads back, damaged by type and by cut.

What is damaged is refused with a clear message, or read as something that can be used.
"""

import copy
import io
import json
import sys
from datetime import date
from math import inf, nan

import pytest

from antiloop import LoopDetector
from antiloop.cli import main
from antiloop.exceptions import SnapshotError

OTHERS = (None, True, -1, 10**30, 2.5, "", "x" * 50, [], [[]], [{}], {}, {"a": [1]})


def places(value, path=(), depth=99):
    """Yield the path to each field down to a depth; of long lists the first and the last item."""
    yield path
    if len(path) == depth:
        return
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key), depth)
    elif isinstance(value, list) and value:
        for at in {0, len(value) - 1}:
            yield from places(value[at], (*path, at), depth)


def damaged(value, depth=99):
    """Yield copies of a value, each with one field that is another value, missing, or cut."""
    for path in places(value, (), depth):
        for other in OTHERS:
            yield changed(value, path, other)
        if path:
            yield changed(value, path, None, is_missing=True)
        held = value
        for key in path:
            held = held[key]
        if isinstance(held, (str, list)) and held:
            yield changed(value, path, held[:-1])
            yield changed(value, path, held + held[:1])


def changed(value, path, other, is_missing=False):
    if not path:
        return other
    made = copy.deepcopy(value)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    if is_missing:
        del holder[path[-1]]
    else:
        holder[path[-1]] = other
    return made


SETTINGS = {
    "preset": "escalating",
    "policy": {"actions": ["notify", "stop"], "every": 2},
    "thresholds": {"repeat": 5, "failure_streak": {"threshold": 6, "in_a_row": 8}},
    "tools": {"job_status": {"poll": True}, "move": {"key": ["x"], "thresholds": {"repeat": 9}}},
    "ignore": ["write_todos"],
    "profiles": {"mine": {"waits": [{"tool": "w", "where": {"a": "b"}}], "wraps": ["^took"]}},
    "mask": "arguments",
    "window": 40,
    "inject_message": "Stop.",
    "baseline": "known.jsonl",
    "prices": {"m": {"input": 1.0, "output": 2.0}},
}


def toml(value):
    """Write a value as TOML; there is no word for None, so it is left out where it stands."""
    if isinstance(value, dict):
        fields = [f"{json.dumps(key)} = {toml(value[key])}" for key in value if value[key] != None]  # noqa: E711
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, list):
        return f"[{', '.join(toml(each) for each in value if each is not None)}]"
    return str(value) if isinstance(value, (float, date)) else json.dumps(value)


def toml_file(values):
    return "".join(f"{key} = {toml(each)}\n" for key, each in values.items() if each is not None)


def stuck(monitor, count=5):
    for number in range(count):
        monitor.record_call("read", {"page": 1}, "the same")
        monitor.record_call("look", {"n": number % 2}, f"{number % 2}")
    return monitor


@pytest.mark.parametrize("make", [LoopDetector.default, LoopDetector.escalating])
def test_a_damaged_snapshot_is_refused_or_can_be_used(make):
    whole = json.loads(json.dumps(stuck(make().monitor()).snapshot()))
    refused = used = 0
    for each in damaged(whole):
        monitor = make().monitor(live=False)
        try:
            monitor.restore(each)
        except SnapshotError:
            refused += 1
            assert monitor.call_count == 0
            continue
        used += 1
        json.dumps(stuck(monitor).snapshot())
    assert refused > used


def test_a_damaged_baseline_is_refused_by_name_or_can_be_used(tmp_path, capsys):
    runs, path = tmp_path / "runs.jsonl", tmp_path / "known.jsonl"
    steps = [{"tool_name": "read", "arguments": {"page": 1}, "result": "same"}] * 5
    runs.write_text(json.dumps({"run_id": "r", "steps": steps}) + "\n")
    assert main(["scan", str(runs), "--write-baseline", str(path)]) == 0
    lines = path.read_text().splitlines()
    assert lines
    capsys.readouterr()
    refused = 0
    for at, line in enumerate(lines):
        texts = [json.dumps(each) for each in damaged(json.loads(line))]
        for text in [*texts, line[: len(line) // 2], "\x00", "[" * 5_000]:
            path.write_text("\n".join([*lines[:at], text, *lines[at + 1 :]]) + "\n")
            try:
                status = main(["scan", str(runs), "--baseline", str(path)])
            except SystemExit as error:  # a wrong argument
                status = error.code
            said = capsys.readouterr().err
            assert status in (0, 1, 2), text
            assert "Traceback" not in said
            refused += status == 2
            assert status != 2 or str(path) in said, (text, said)
    assert refused


def test_a_damaged_configuration_is_refused_by_name_or_can_be_used(tmp_path, capsys):
    runs, path = tmp_path / "runs.jsonl", tmp_path / "detector.json"
    runs.write_text('{"run_id": "r", "steps": [{"tool_name": "read"}]}\n')
    whole = json.loads(json.dumps(LoopDetector.escalating().to_config()))
    refused = 0
    for each in damaged(whole):
        path.write_text(json.dumps(each))
        try:
            status = main(["scan", str(runs), "--config", str(path)])
        except SystemExit as error:  # a wrong argument
            status = error.code
        said = capsys.readouterr().err
        assert status in (0, 1, 2), each
        assert status != 2 or str(path) in said, (each, said)
        refused += status == 2
    assert refused


@pytest.fixture
def scanned(tmp_path, monkeypatch, capsys):
    """Return a function that scans a run by settings, and gives the status and what is said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs.jsonl").write_text('{"run_id": "r", "steps": [{"tool_name": "read"}]}\n')
    main(["scan", "--isolated", "runs.jsonl", "--write-baseline", "known.jsonl"])
    capsys.readouterr()

    def scan(text):
        (tmp_path / "antiloop.toml").write_text(text, encoding="utf-8")
        return main(["scan", "runs.jsonl"]), capsys.readouterr().err

    return scan


NEEDS_TOML = pytest.mark.skipif(sys.version_info < (3, 11), reason="reading TOML needs tomli")


@NEEDS_TOML
def test_damaged_settings_are_refused_by_file_and_place_or_can_be_used(scanned):
    assert scanned(toml_file(SETTINGS)) == (0, "")
    refused = 0
    for path in filter(None, places(SETTINGS)):
        others = (*OTHERS, inf, nan, date(2026, 1, 1))
        made = [changed(SETTINGS, path, other) for other in others if other is not None]
        made.append(changed(SETTINGS, path, None, is_missing=True))
        for each in made:
            status, said = scanned(toml_file(each))
            assert status in (0, 1, 2), each
            assert "Traceback" not in said
            if status == 2:
                refused += 1
                # Not always the damaged one: without the preset its thresholds are wrong.
                _, _, place = said.partition("antiloop.toml: ")
                assert any(key in place for key in SETTINGS), (each, said)
    assert refused


@NEEDS_TOML
def test_settings_that_are_cut_off_are_refused_by_file_or_can_be_used(scanned):
    whole = toml_file(SETTINGS)
    refused = 0
    for end in range(0, len(whole), 7):
        for text in (whole[:end], whole[end:], f"{whole[:end]}\x00{whole[end:]}"):
            status, said = scanned(text)
            assert status in (0, 1, 2), text
            assert status != 2 or "antiloop.toml: " in said, (text, said)
            refused += status == 2
    assert refused


def test_a_hook_with_a_damaged_state_answers_or_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    event = {"session_id": "s", "turn_id": "t", "tool_name": "Bash", "cwd": str(tmp_path)}
    event.update(tool_input={"command": "ls"}, tool_response="a.py")

    def heard(number):
        given = {**event, "hook_event_name": "PostToolUse", "tool_use_id": f"c{number}"}
        text = io.TextIOWrapper(io.BytesIO(json.dumps(given).encode()))
        monkeypatch.setattr("sys.stdin", text)
        assert main(["hook", "codex"]) == 0
        out = capsys.readouterr()
        assert "Traceback" not in out.err
        return out

    for number in range(4):
        heard(number)
    (path,) = tmp_path.glob("antiloop/hooks/*.json")
    first, *later = path.read_text().split("\n")
    said = 0
    # What lies deeper in the snapshot is damaged above.
    for each in damaged(json.loads(first), depth=2):
        path.write_text("\n".join([json.dumps(each), *later]))
        said += bool(heard(9).err)
    for cut in range(0, len(first), 97):
        path.write_text(first[:cut])
        heard(9)
    assert said
