"""Files and standard input, packed or not, in several encodings."""

import codecs
import gzip
import io
import os
import sys

import pytest

from antiloop.exceptions import TraceUnreadable
from antiloop.traces.source import open_lines

TEXT = "one é\ntwo\u2028still two\n"
LINES = ["one é\n", "two\u2028still two\n"]


def read(path):
    with open_lines(str(path)) as (_, lines):
        return list(lines)


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        codecs.BOM_UTF8 + TEXT.encode(),
        TEXT.encode("utf-16"),
        gzip.compress(TEXT.encode()),
        gzip.compress(codecs.BOM_UTF8 + TEXT.encode()),
        gzip.compress(TEXT.encode()[:4]) + gzip.compress(TEXT.encode()[4:]),
    ],
)
def test_text_is_read_whatever_it_is_packed_in(tmp_path, data):
    path = tmp_path / "no-telling-name"
    path.write_bytes(data)
    assert read(path) == LINES


def test_standard_input_is_read_and_left_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(TEXT.encode()))))
    monkeypatch.setattr(sys, "stdin", stdin)
    with open_lines("-") as (name, lines):
        assert (name, list(lines)) == ("stdin", LINES)
    assert not stdin.buffer.closed


def test_a_closed_standard_input_is_said(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TraceUnreadable, match="stdin"):
        read("-")


def test_bytes_that_are_no_text_stay_different(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"\xff\n\xfe\n")
    first, second = read(path)
    assert first != second


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TraceUnreadable, match=r"nothing\.jsonl: No such file or directory"):
        read(tmp_path / "nothing.jsonl")


def test_a_folder_is_no_trace(tmp_path):
    with pytest.raises(TraceUnreadable, match=r"directory|denied"):
        read(tmp_path)


def test_binary_data_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(os.urandom(100) + b"\0")
    with pytest.raises(TraceUnreadable, match=r"f:1: no tool calls here; expected JSON"):
        read(path)


@pytest.mark.parametrize("spoil", [lambda data: data[:-12], lambda data: data[:-40] + b"x" * 40])
def test_spoilt_compression_is_reported_where_it_begins(tmp_path, spoil):
    path = tmp_path / "f"
    text = "".join(f"{number} {os.urandom(30).hex()}\n" for number in range(5000))
    path.write_bytes(spoil(gzip.compress(text.encode())))
    with pytest.raises(TraceUnreadable, match=r"f:\d+: cannot read on"):
        read(path)
