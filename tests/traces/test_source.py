"""Files and standard input, packed or not, in several encodings."""

import codecs
import gzip
import io
import os
import sys
import tracemalloc

import pytest

from antiloop.exceptions import TraceUnreadable
from antiloop.traces._files.source import NOT_KEPT, open_lines

TEXT = "one é\ntwo\u2028still two\n"
LINES = [(1, "one é"), (2, "two\u2028still two")]


def read(path, **limit):
    with open_lines(str(path), **limit) as (_, lines):
        return list(lines)


class Endless(io.RawIOBase):
    """A line that ends after 64 MB, if anybody waits for that, and short ones for ever."""

    left = 64_000_000

    def readable(self):
        return True

    def readinto(self, buffer):
        count = min(len(buffer), self.left) or len(b"\nlast")
        buffer[:count] = b"x" * count if self.left else b"\nlast"
        self.left -= min(count, self.left)
        return count


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
    ids=["utf-8", "marked", "utf-16", "gzip", "gzip, marked", "gzip, in two"],
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
    (_, first), (_, second) = read(path)
    assert first != second


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(TraceUnreadable, match=r"nothing\.jsonl: No such file or directory"):
        read(tmp_path / "nothing.jsonl")


def test_a_folder_is_no_trace(tmp_path):
    with pytest.raises(TraceUnreadable, match=r"directory|denied"):
        read(tmp_path)


def test_binary_data_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"\x7fELF\0\1" + os.urandom(100))
    with pytest.raises(TraceUnreadable, match=r"f:1: no tool calls here; expected JSON"):
        read(path)


def test_padding_that_a_crash_left_is_no_binary_data(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"\0" * 9000 + b"one\ntwo\n\0\0")
    assert read(path) == [(1, "\0" * 9000 + "one"), (2, "two"), (3, "\0\0")]


@pytest.mark.parametrize("place", range(4))
def test_padding_anywhere_between_the_lines_of_a_small_file_loses_nothing(tmp_path, place):
    path = tmp_path / "f"
    lines = [b"one\n", b"two\n", b"three\n"]
    path.write_bytes(b"".join([*lines[:place], b"\0" * 9, *lines[place:]]))
    found = [line.strip("\0") for _, line in read(path)]
    assert list(filter(None, found)) == ["one", "two", "three"]


@pytest.mark.parametrize("spoil", [lambda data: data[:-12], lambda data: data[:-40] + b"x" * 40])
def test_spoilt_compression_is_reported_where_it_begins(tmp_path, spoil):
    path = tmp_path / "f"
    text = "".join(f"{number} {os.urandom(30).hex()}\n" for number in range(5000))
    path.write_bytes(spoil(gzip.compress(text.encode())))
    with pytest.raises(TraceUnreadable, match=r"f:\d+: reading failed"):
        read(path)


@pytest.mark.parametrize("spoil", [lambda data: data[:-1], lambda data: data + b"garbage"])
def test_the_lines_before_the_damage_of_a_compressed_file_are_read(tmp_path, spoil):
    path = tmp_path / "f"
    path.write_bytes(spoil(gzip.compress(b"one\ntwo\n")))
    with open_lines(str(path)) as (_, lines):
        assert [next(lines)[1], next(lines)[1]] == ["one", "two"]
        with pytest.raises(TraceUnreadable, match="f:3: reading failed"):
            next(lines)


@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_that_is_too_long_is_not_kept_and_the_rest_is_read(tmp_path, end, encoding):
    path = tmp_path / "f"
    path.write_bytes(
        f"one\n{'x' * 1000}\n{'y' * 10_000}\nfour\n{'z' * 200_000}{end}".encode(encoding)
    )
    too_long = f"{NOT_KEPT}longer than 500 bytes"
    assert read(path, max_length=500) == list(
        enumerate(["one", too_long, too_long, "four", too_long], 1)
    )


def test_a_line_may_be_as_long_as_the_limit_and_no_longer(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"123\n1234\n12")
    too_long = f"{NOT_KEPT}longer than 4 bytes"
    assert read(path, max_length=4) == [(1, "123"), (2, too_long), (3, "12")]


def test_a_line_without_end_is_told_at_once_and_takes_no_more_than_the_limit(monkeypatch):
    stream = Endless()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stream)))
    with open_lines("-", max_length=1_000_000) as (_, lines):
        tracemalloc.start()
        try:
            assert next(lines) == (1, f"{NOT_KEPT}longer than 1,000,000 bytes")
            assert stream.left > 62_000_000
            assert next(lines) == (2, "last")
            assert tracemalloc.get_traced_memory()[1] < 3_000_000
        finally:
            tracemalloc.stop()


def test_what_unpacks_to_very_much_is_not_kept(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(b"x" * 10_000_000 + b"\nlast"))
    assert read(path, max_length=1000) == [(1, f"{NOT_KEPT}longer than 1,000 bytes"), (2, "last")]


@pytest.mark.parametrize("tail", [b"x", b"\x00\xd8", b"\x00\xd8\x00\x00"])
def test_broken_utf_16_is_read_as_far_as_it_goes(tmp_path, tail):
    path = tmp_path / "f"
    path.write_bytes("one\ntwo".encode("utf-16") + tail)
    first, second = read(path)
    assert (first, second[0], second[1][:3]) == ((1, "one"), 2, "two")
