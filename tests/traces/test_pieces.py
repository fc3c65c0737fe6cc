"""Recordings in pieces; that these hold the same runs is tested where they are scanned."""

import gzip
import io
import json
import os
import sys

import pytest

from antiloop.exceptions import TraceUnreadable
from antiloop.traces.pieces import pieces_of, read_piece


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
    assert piece.lines is None


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
    with pytest.raises(TraceUnreadable, match="cannot read on"):
        list(read_piece(unread, str))
