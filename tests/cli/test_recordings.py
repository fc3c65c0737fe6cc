"""The paths that a command is given: files, directories, and what is no trace."""

import gzip
import json
import os
import socket

import pytest

from antiloop.cli import main

STEP = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}


def run(run_id, count=1):
    return json.dumps({"run_id": run_id, "steps": [STEP] * count}) + "\n"


@pytest.fixture
def archive(tmp_path):
    """Make a directory with runs in several places, none of them stuck."""
    root = tmp_path / "archive"
    for name, run_id in (("b/2", "third"), ("a.jsonl", "first"), ("b/1.gz", "second")):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = run(run_id).encode()
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return root


def scanned(capsys, *paths):
    """Scan, and give exit status, the ids of the runs, and what was said on standard error."""
    status = main(["scan", "--format", "jsonl", *map(str, paths)])
    out, err = capsys.readouterr()
    return status, [json.loads(line)["run_id"] for line in out.splitlines()], err


def test_a_directory_is_read_to_its_bottom_in_the_order_of_names(archive, capsys):
    assert scanned(capsys, archive) == (0, ["first", "second", "third"], "")


def test_directories_and_files_are_read_in_the_order_given(archive, capsys):
    status, run_ids, _ = scanned(capsys, archive / "b", archive / "a.jsonl")
    assert (status, run_ids) == (0, ["second", "third", "first"])


def test_what_is_no_trace_in_a_directory_is_passed_over_and_counted(archive, capsys):
    (archive / "README").write_text("no JSON\n")
    (archive / "b" / "image").write_bytes(b"\x89PNG\0\0")
    told = f"antiloop: {archive}: 2 of 5 files hold no runs; skipped\n"
    assert scanned(capsys, archive) == (0, ["first", "second", "third"], told)


def test_a_file_that_is_named_must_be_a_trace(archive, capsys):
    (archive / "README").write_text("no JSON\n")
    status, run_ids, err = scanned(capsys, archive / "README", archive / "a.jsonl")
    assert (status, run_ids) == (2, ["first"])
    assert err.startswith(f"antiloop: {archive / 'README'}:1: no tool calls here")


def test_what_is_skipped_of_a_file_is_told_in_short(archive, capsys):
    notes = archive / "notes"
    notes.write_text(run("noted") + "no JSON\n" * 1_210 + run("last"))
    (archive / "z").write_text(run("z") + "no JSON\n" * 11)
    status, run_ids, err = scanned(capsys, archive)
    assert (status, run_ids) == (0, ["first", "noted", "last", "z", "second", "third"])
    lines = err.splitlines()
    assert lines[9].startswith(f"antiloop: {notes}:11: not JSON")
    assert lines[10] == f"antiloop: {notes}: 1,200 further places like these skipped"
    assert lines[-1] == f"antiloop: {archive / 'z'}: 1 further place like these skipped"
    assert len(lines) == 22
    main(["explain", "--run", "last", str(notes)])
    assert capsys.readouterr().err.splitlines() == lines[:11]


def test_why_a_file_is_given_up_is_told_after_what_is_skipped(tmp_path, capsys):
    path = tmp_path / "cut.gz"
    noise = "".join(f"no JSON {os.urandom(99).hex()}\n" for _ in range(999))
    path.write_bytes(gzip.compress((run("a") + noise).encode())[:-9])
    status, run_ids, err = scanned(capsys, path)
    assert (status, run_ids) == (2, ["a"])
    *_, more, last = err.splitlines()
    assert more.endswith("like these skipped")
    assert "reading failed" in last


def test_a_directory_without_any_run_is_2(tmp_path, capsys):
    (tmp_path / "README").write_text("no JSON\n")
    told = f"antiloop: {tmp_path}: no recorded runs in 1 file\n"
    assert scanned(capsys, tmp_path) == (2, [], told)


def test_an_empty_directory_is_2(tmp_path, capsys):
    assert scanned(capsys, tmp_path) == (
        2,
        [],
        f"antiloop: {tmp_path}: the directory holds no files\n",
    )


def test_a_trace_in_a_directory_that_is_cut_off_is_told(archive, capsys):
    data = gzip.compress((os.urandom(50).hex() + run("cut", 9)).encode())
    (archive / "c.gz").write_bytes(data[:-20])
    status, run_ids, err = scanned(capsys, archive)
    assert (status, run_ids) == (2, ["first", "second", "third"])
    assert f"{archive / 'c.gz'}:1: reading failed" in err


def place(kind, path):
    """Put something at a path that is no file."""
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    else:
        path.symlink_to(
            {"a device": os.devnull, "a link to a directory": ".."}.get(kind, "nowhere")
        )


KINDS = ("a named pipe", "a socket", "a device", "a link to nothing", "a link to a directory")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_in_a_directory_is_told_and_passed_over(archive, kind, capsys):
    place(kind, archive / "b" / "odd.jsonl")
    told = f"antiloop: {archive / 'b' / 'odd.jsonl'}: {kind}; skipped\n"
    assert scanned(capsys, archive) == (0, ["first", "second", "third"], told)


def test_of_many_that_are_no_files_some_are_told(archive, capsys):
    for number in range(13):
        os.mkfifo(archive / f"pipe{number:02}")
    status, _, err = scanned(capsys, archive)
    lines = err.splitlines()
    assert (status, len(lines)) == (0, 11)
    assert lines[-1] == f"antiloop: {archive}: 3 further places like these skipped"


COMMANDS = (
    ["scan"],
    ["scan", "--jobs", "2"],
    ["watch"],
    ["explain"],
    ["calibrate"],
    ["report", "-o", "-"],
    ["scan", "docs", "--config"],
    ["explain", "docs", "--config"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("kind", KINDS[:3])
def test_what_is_no_file_is_refused_and_not_waited_for(kind, command, tmp_path, capsys):
    path = tmp_path / "odd.jsonl"
    place(kind, path)
    try:
        status = main([*command, str(path)])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert f"{path}: {kind}, not a file" in capsys.readouterr().err


@pytest.mark.parametrize("command", [*COMMANDS[:5], ["report", "-o", os.devnull]], ids=" ".join)
def test_what_a_shell_has_opened_is_read(command, capsys):
    step = {**STEP, "result": "No results."}
    data = json.dumps({"run_id": "a", "steps": [step] * 4}).encode() + b"\n"
    read, write = os.pipe()
    os.write(write, data)
    os.close(write)
    try:
        status = main([*command, f"/dev/fd/{read}"])
    finally:
        os.close(read)
    assert status == 1
    assert "No such file" not in capsys.readouterr().err


def test_a_directory_that_cannot_be_entered_is_told(archive, capsys, monkeypatch):
    def refuse(path, onerror):
        onerror(PermissionError(13, "Permission denied", f"{path}/b"))
        return iter([(path, [], ["a.jsonl"])])

    monkeypatch.setattr(os, "walk", refuse)
    told = f"antiloop: {archive}/b: Permission denied\n"
    assert scanned(capsys, archive) == (2, ["first"], told)


@pytest.mark.parametrize("command", ["report", "calibrate"])
def test_other_commands_take_directories_too(command, archive, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main([command, str(archive)]) in (0, 1)
    assert "3 " in capsys.readouterr().out


WRITING = (["scan", "--write-baseline"], ["report", "-o"], ["calibrate", "-o"])


@pytest.mark.parametrize("command", WRITING, ids=" ".join)
@pytest.mark.parametrize("others", ["a.jsonl", "b"])
def test_a_recording_is_never_replaced_by_what_a_command_writes(command, others, archive, capsys):
    recording = archive / "a.jsonl"
    before = recording.read_bytes()
    with pytest.raises(SystemExit) as ended:  # as for `-o *.jsonl`, without a name
        main([*command, str(recording), str(archive / others)])
    assert ended.value.code == 2
    assert f"{recording} holds recorded runs, which would be lost; name another file" in (
        capsys.readouterr().err
    )
    assert recording.read_bytes() == before


@pytest.mark.parametrize("command", WRITING, ids=" ".join)
@pytest.mark.parametrize("there", ["", "no runs\n"])
def test_what_holds_no_runs_is_replaced(command, there, archive, tmp_path, capsys):
    made = tmp_path / "made"
    made.write_text(there)
    for _ in range(2):
        assert main([*command, str(made), str(archive)]) in (0, 1)
    assert made.read_text() not in ("", there)
