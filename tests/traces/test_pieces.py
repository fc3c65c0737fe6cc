"""Recordings in pieces; that these hold the same runs is tested where they are scanned."""

import gzip
import io
import json
import os
import sys
import tempfile
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.exceptions import TraceUnreadable
from antiloop.traces import _pieces as pieces
from antiloop.traces import read_runs
from antiloop.traces._pieces import pieces_of, read_piece


@pytest.mark.parametrize("first", [b"", b"\n", b'{"messages": [{"role": "user"}]}\n' * 3])
def test_a_long_file_of_whole_runs_is_cut_once_its_format_is_clear(tmp_path, first):
    call = {"type": "tool_use", "id": "1", "name": "ls", "input": {"p": "x" * 1000}}
    line = json.dumps({"messages": [{"role": "assistant", "content": [call]}]}).encode() + b"\n"
    path = tmp_path / "f"
    path.write_bytes(first + line * 1500)
    pieces = list(pieces_of(str(path)))
    assert len(pieces) > 2
    assert {(piece.source, piece.is_cut) for piece in pieces} == {("anthropic", True)}
    assert sum(1 for piece in pieces for _ in read_piece(piece, pytest.fail)) >= 1500


@pytest.mark.parametrize("line", ['{"aaaaaaaaaa": 1}', "{aaaaaaaaaaaa", "[\n1,"])
def test_a_long_file_of_no_runs_is_one_piece(tmp_path, line):
    path = tmp_path / "f"
    path.write_text(f"{line}\n" * 60_000)
    (piece,) = pieces_of(str(path))
    assert piece.text is None


def test_standard_input_that_breaks_off_is_read_up_to_there(monkeypatch):
    call = {"type": "tool_use", "id": "1", "name": "ls", "input": {}}
    said = {"role": "assistant", "content": [call]}
    line = {"type": "assistant", "sessionId": "s", "message": said}
    noise = [{"type": "summary", "summary": os.urandom(99).hex()} for _ in range(500)]
    packed = gzip.compress("\n".join(map(json.dumps, [line, *noise])).encode())
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(packed[:-20])))
    monkeypatch.setattr(sys, "stdin", stream)
    read, unread = pieces_of("-")
    assert [(run.run_id, len(run)) for run in read_piece(read, str)] == [("s", 1)]
    with pytest.raises(TraceUnreadable, match="reading failed"):
        list(read_piece(unread, str))


BLANK = st.sampled_from(["\n", " \n", "\t\r\n"]).flatmap(
    lambda line: st.integers(0, 40).map(lambda count: line * count)
)
RUN = json.dumps({"run_id": "r", "steps": [{"tool_name": "ls"}]})
INDENTED = json.dumps(json.loads(RUN), indent=1)


@given(st.lists(st.tuples(BLANK, st.sampled_from([RUN, RUN, "{", INDENTED]))), BLANK, st.booleans())
def test_blank_lines_change_nothing_but_the_numbers_of_lines(lines, after, is_stdin):
    text = "".join(f"{before}{line}\n" for before, line in lines) + after
    assert read_whole(text) == read_in_pieces(text, is_stdin)


def read_whole(text):
    return outcome(lambda path, told: read_runs(path, on_trouble=told), text, is_stdin=False)


def read_in_pieces(text, is_stdin):
    def read(path, told):
        for piece in pieces_of(path):
            yield from read_piece(piece, told)

    with mock.patch.multiple(pieces, SMALL_FILE=0, PIECE=50):
        return outcome(read, text, is_stdin)


def outcome(read, text, is_stdin):
    """Return where runs were read, what was told, and why not further."""
    told, found = [], []
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
        with mock.patch.object(sys, "stdin", stdin):
            try:
                found.extend(
                    run.source for run in read("-" if is_stdin else file.name, told.append)
                )
            except TraceUnreadable as error:
                told.append(str(error))
        return [[words.replace(file.name, "stdin") for words in each] for each in (found, told)]


@pytest.mark.parametrize("is_stdin", [True, False])
@pytest.mark.parametrize("before", ["", RUN + "\n"])
def test_blank_lines_are_not_held(before, is_stdin, tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_text(before + " \n" * 300_000 + RUN)
    text = path.read_bytes() if is_stdin else b""
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text)))
    monkeypatch.setattr(sys, "stdin", stdin)
    read = []
    tracemalloc.start()
    try:
        for piece in pieces_of("-" if is_stdin else str(path)):
            read += [run.source for run in read_piece(piece, pytest.fail)]
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert read[-1].endswith(f":{300_001 + bool(before)}")
    assert len(read) == 1 + bool(before)
