"""Recordings in pieces; that these hold the same runs is tested where they are scanned."""

import gzip
import io
import json
import os
import sys

import pytest

from antiloop.exceptions import TraceUnreadable
from antiloop.traces.pieces import pieces_of, read_piece


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
