"""Following a file: lines as they are completed, each once, whatever happens to the file."""

import os
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.exceptions import NoTrace, TraceUnreadable
from antiloop.traces._files.source import NOT_KEPT
from antiloop.traces._live.growing_file import GrowingFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.fixture
def growing(path):
    file = GrowingFile(str(path))
    yield file
    file.close()


def add(path, data):
    with path.open("ab") as file:
        file.write(data)


def lines(growing):
    return list(growing.new_lines())


def test_each_line_is_given_once(path, growing):
    add(path, b"a\nb\n")
    assert lines(growing) == [(1, "a"), (2, "b")]
    assert lines(growing) == []
    add(path, b"c\n")
    assert lines(growing) == [(3, "c")]


def test_a_half_written_line_waits_for_the_rest(path, growing):
    add(path, '{"a": "kä'.encode()[:-1])
    assert lines(growing) == []
    add(path, "ä".encode()[1:])
    assert lines(growing) == []
    add(path, b'se"}\n')
    assert lines(growing) == [(1, '{"a": "käse"}')]


def test_a_line_that_never_ends_is_told_at_once_and_no_more_of_it_is_held(path):
    growing = GrowingFile(str(path), max_length=1_000_000)
    add(path, b"one\n" + b"x" * 999_999)
    assert lines(growing) == [(1, "one")]
    add(path, b"x")
    assert lines(growing) == [(2, f"{NOT_KEPT}longer than 1,000,000 bytes")]
    tracemalloc.start()
    try:
        for _ in range(5):
            add(path, b"x" * 1_000_000)
            assert lines(growing) == []
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    add(path, b"x\nthree\n" + b"y" * 2_000_000 + b"\nfive\n")
    told = lines(growing)
    assert told == [(3, "three"), (4, f"{NOT_KEPT}longer than 1,000,000 bytes"), (5, "five")]
    growing.close()


@pytest.mark.parametrize("length", [3, 4])
def test_a_line_may_be_as_long_as_the_limit_and_no_longer(path, length):
    add(path, b"x" * length + b"\n")
    growing = GrowingFile(str(path), max_length=4)
    is_kept = lines(growing) == [(1, "x" * length)]
    growing.close()
    assert is_kept is (length < 4)


def test_a_file_that_is_missing_is_waited_for(path, growing):
    assert lines(growing) == []
    add(path, b"a\n")
    assert lines(growing) == [(1, "a")]


def test_a_file_that_was_cut_off_begins_anew(path, growing):
    add(path, b"a\nb\nhalf")
    lines(growing)
    path.write_bytes(b"c\n")
    assert lines(growing) == [(1, "c")]


@pytest.mark.parametrize("written", [b"x\ny\n", b"x\ny\nlonger\n"])
def test_a_file_that_was_written_again_begins_anew(path, growing, written):
    add(path, b"a\nb\n")
    lines(growing)
    path.write_bytes(written)
    assert [line for _, line in lines(growing)] == written.decode().split()


def test_a_rotated_file_is_read_to_its_end_and_then_the_new_one(path, growing):
    add(path, b"a\n")
    lines(growing)
    add(path, b"b\n")
    old = path.rename(path.with_suffix(".1"))
    add(old, b"c\nhalf")
    assert lines(growing) == [(2, "b"), (3, "c")]
    add(path, b"d\n")
    assert lines(growing) == [(1, "d")]
    add(path, b"e\n")
    assert lines(growing) == [(2, "e")]


def test_a_file_put_in_the_place_of_another_is_read(path, growing):
    add(path, b"a\n")
    lines(growing)
    other = path.with_name("other")
    add(other, b"b\n")
    os.replace(other, path)
    assert lines(growing) == [(1, "b")]


def test_a_file_that_is_gone_is_waited_for(path, growing):
    add(path, b"a\n")
    lines(growing)
    path.unlink()
    assert lines(growing) == []
    add(path, b"b\n")
    assert lines(growing) == [(1, "b")]


def test_bytes_that_are_no_text_still_differ(path, growing):
    add(path, b"\xef\xbb\xbfa\n\xff\n\xfe\n")
    assert lines(growing) == [(1, "a"), (2, "\udcff"), (3, "\udcfe")]


def test_padding_is_no_binary_data(path, growing):
    add(path, b"\0" * 9 + b"a\n" + b"b" * 5000 + b"\n\0\n")
    assert lines(growing) == [(1, "\0" * 9 + "a"), (2, "b" * 5000), (3, "\0")]


def test_what_is_no_text_is_refused_by_name(path, growing):
    add(path, b"\x1f\x8b\x08\0\0\0\n")
    with pytest.raises(NoTrace, match=r"run\.jsonl:1: not lines of text"):
        lines(growing)


def test_a_file_that_may_not_be_read_says_so(tmp_path):
    with pytest.raises(TraceUnreadable, match=f"^{re.escape(str(tmp_path))}: Is a directory"):
        lines(GrowingFile(str(tmp_path)))


def test_a_line_longer_than_what_is_read_at_once_stays_whole(path, growing):
    add(path, b"x" * 200_000)
    assert lines(growing) == []
    add(path, b"\n")
    assert lines(growing) == [(1, "x" * 200_000)]


@given(st.lists(st.binary(max_size=5).map(lambda part: part.replace(b"\0", b"\n")), max_size=8))
def test_it_makes_no_difference_how_the_bytes_come(tmp_path_factory, parts):
    path = tmp_path_factory.mktemp("file") / "f"
    growing, found = GrowingFile(str(path)), []
    for part in parts:
        add(path, part)
        found += lines(growing)
    growing.close()
    whole = GrowingFile(str(path))
    assert found == lines(whole)
    whole.close()


def test_only_what_was_added_is_read(path, growing):
    for _ in range(3):
        add(path, b"x" * 999 + b"\n")
        lines(growing)
    growing._file = Counting(growing._file)
    add(path, b"y\n")
    assert lines(growing) == [(4, "y")]
    assert growing._file.count < 100


class Counting:
    """A file that counts the bytes read."""

    def __init__(self, file):
        self._file = file
        self.count = 0
        self.seek, self.fileno, self.close = file.seek, file.fileno, file.close

    def read(self, size):
        data = self._file.read(size)
        self.count += len(data)
        return data
