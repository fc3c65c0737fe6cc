"""Logs of Inspect AI: archives and documents."""

import io
import json
import sys
import zipfile
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.cli import main
from antiloop.exceptions import NoTrace, TraceUnreadable
from antiloop.traces import read_runs
from antiloop.traces._files import eval_archive
from antiloop.traces._files.source import open_lines
from antiloop.traces._readers import inspect_ai

FOLDER = Path(__file__).parent / "fixtures" / "inspect"
STUCK = FOLDER / "stuck.eval"
LONG = "nothing found " * 20


def sample(id_="a", epoch=1, result="nothing", **fields):
    call = {"id": "c", "function": "search", "arguments": {"q": "cats"}}
    return {
        "id": id_,
        "epoch": epoch,
        "input": "Go",
        "target": "",
        "messages": [
            {"role": "user", "content": "Go", "id": "m0"},
            {"role": "assistant", "content": "", "tool_calls": [call], "id": "m1"},
            {"role": "tool", "content": result, "tool_call_id": "c", "id": "m2"},
        ],
        **fields,
    }


def log(*samples):
    return {"version": 2, "eval": {"task": "t"}, "plan": {}, "samples": list(samples)}


@pytest.fixture
def archive(tmp_path):
    """Write an archive of members, and give its path."""

    def write(*members, compression=zipfile.ZIP_DEFLATED):
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", compression) as made:
            for name, value in members:
                made.writestr(name, value if isinstance(value, str) else json.dumps(value))
        return path

    return write


def runs_of(path, trouble=None):
    return list(read_runs(str(path), on_trouble=(trouble if trouble is not None else []).append))


def test_each_sample_and_epoch_is_a_run_in_both_kinds_of_log(archive, read):
    members = [("header.json", log()), ("summaries.json", [1]), ("_journal/start.json", log())]
    samples = [sample("a"), sample("a", 2), sample(7, error={"message": "broke"})]
    names = ["samples/a_epoch_1.json", "samples/a_epoch_2.json", "samples/7_epoch_1.json"]
    packed = runs_of(archive(*members, *zip(names, samples)))
    written = read(log(*samples))
    assert [run.run_id for run in packed] == ["a_epoch_1", "a_epoch_2", "7_epoch_1"]
    assert [run.failed for run in packed] == [False, False, True]
    for one, other in zip(packed, written):
        assert (one.run_id, one.calls, one.results) == (other.run_id, other.calls, other.results)
    assert [run.source.rpartition(":")[2] for run in packed] == ["2", "3", "4"]
    assert [run.source.rpartition(":")[2] for run in written] == ["1[0]", "1[1]", "1[2]"]
    assert read.trouble == []


def test_a_log_that_is_still_being_written_is_read(archive):
    start = {"version": 2, "eval": {"task": "t"}, "plan": {}}
    path = archive(("_journal/start.json", start), ("samples/a_epoch_1.json", sample()))
    assert [len(run) for run in runs_of(path)] == [1]


def test_of_two_members_with_one_name_the_later_counts(archive):
    name = "samples/a_epoch_1.json"
    with pytest.warns(UserWarning, match="Duplicate"):
        path = archive((name, sample(result="old")), (name, sample(result="new")))
    assert [run.results[0].text for run in runs_of(path)] == ["new"]


def test_attachments_stand_where_their_names_stood(read):
    named = sample(result=[{"type": "text", "text": "attachment://ab12"}])
    named["messages"][1]["tool_calls"][0]["arguments"] = {"q": "attachment://ab12", "n": [1]}
    (run,) = read({**named, "attachments": {"ab12": LONG}})
    assert (run.calls[0].arguments, run.results[0].text) == ({"q": LONG, "n": [1]}, LONG)
    for attached in ({}, None, "ab12"):
        (run,) = read({**named, "attachments": attached})
        assert run.results[0].text == "attachment://ab12"


def test_tokens_and_replies_are_kept(read):
    usage = {"input_tokens": 5, "input_tokens_cache_read": 2, "output_tokens": 3}
    reply = {"model": "m", "usage": usage, "choices": [{"message": {"id": "m1"}}]}
    event = {"event": "model", "output": reply, "timestamp": "1970-01-01T00:00:09Z"}
    other = {"event": "model", "output": {"choices": []}}
    (run,) = read(sample(events=[other, event, {"event": "tool"}], model_usage={"m": usage}))
    assert (run.model, run.input_tokens, run.output_tokens) == ("m", 7, 3)
    assert [(each.step, each.tokens, each.time_s) for each in run.events] == [(0, 10, 9.0)]
    (run,) = read(sample(output={"model": "n"}))
    assert (run.model, run.input_tokens) == ("n", None)


@pytest.mark.parametrize(
    ("id_", "completed", "begun", "took"),
    [
        ("c", "1970-01-01T00:00:12.5Z", 9.0, 3.5),
        ("c", None, 9.0, None),
        ("c2", "1970-01-01T00:00:12.5Z", None, None),
        (None, "1970-01-01T00:00:12.5Z", None, None),
    ],
)
def test_the_times_of_calls_stand_in_the_events(read, id_, completed, begun, took):
    timestamp = "1970-01-01T00:00:09Z"
    event = {"event": "tool", "id": id_, "timestamp": timestamp, "completed": completed}
    (run,) = read(sample(events=[event, {"event": "info", "id": "c", "timestamp": timestamp}, 7]))
    assert (run.calls[0].started_at, run.results[0].duration_s) == (begun, took)


def test_a_call_without_a_result_has_the_time_of_its_beginning(read):
    made = sample(events=[{"event": "tool", "id": "c", "timestamp": 9, "completed": 12}])
    del made["messages"][2:]
    (run,) = read(made)
    assert (run.calls[0].started_at, run.results) == (9.0, (None,))


def test_what_is_no_sample_is_told_and_passed_over(archive, read):
    indented, blank = json.dumps(sample(), indent=1), "\r\n"
    texts = {"a_epoch_1": indented, "b": "{", "c": "[1]", "d": blank}
    path = archive(*((f"samples/{name}.json", text) for name, text in texts.items()))
    trouble = []
    assert [run.run_id for run in runs_of(path, trouble)] == ["a_epoch_1"]
    assert trouble == [
        f"{path}:2: not JSON: Expecting property name enclosed in double quotes at column 2;"
        " skipped",
        f"{path}:3: expected logs of Inspect AI; skipped",
        f"{path}:4: empty; skipped",
    ]
    assert [run.run_id for run in read(log(sample("a"), 7, sample("b")))] == [
        "a_epoch_1",
        "b_epoch_1",
    ]
    assert [trouble.partition(": ")[2] for trouble in read.trouble] == [
        "expected logs of Inspect AI; skipped"
    ]


def test_a_sample_that_is_too_long_is_named_and_not_kept(archive):
    path = archive(("samples/a.json", sample(result=LONG)), ("samples/b.json", "{}"))
    with open_lines(str(path), max_length=100) as (_, lines):
        assert list(lines) == [(1, "\ud800longer than 100 bytes"), (2, "{}")]


def test_a_zip_file_of_something_else_is_no_recorded_run(archive):
    with pytest.raises(NoTrace, match="a zip file, not a log of Inspect AI"):
        runs_of(archive(("word/document.json", sample())))


def test_an_archive_with_too_many_members_is_refused_before_they_are_read(archive, monkeypatch):
    path = archive(("samples/a.json", sample()))
    monkeypatch.setattr(eval_archive, "_MAX_DIRECTORY", 50)
    with pytest.raises(TraceUnreadable, match="too many members"):
        runs_of(path)


class Pipe(io.BytesIO):
    def seekable(self):
        return False


def test_an_archive_on_a_pipe_is_refused_with_the_remedy(monkeypatch):
    stdin = io.TextIOWrapper(io.BufferedReader(Pipe(STUCK.read_bytes())))
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(TraceUnreadable, match="stdin: a zip file cannot be read from a pipe"):
        runs_of("-")


def test_a_member_that_is_encrypted_is_named(archive):
    path = archive(("samples/a.json", sample()), ("samples/b.json", sample("b")))
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + at] |= 1  # only of the first member
    path.write_bytes(data)
    trouble = []
    assert [run.run_id for run in runs_of(path, trouble)] == ["b_epoch_1"]
    assert "'samples/a.json' cannot be unpacked" in trouble[0]


@pytest.fixture
def packed_with_zstandard(archive):
    """Write an archive that says of its member that it is packed in the newer way."""
    path = archive(("samples/a.json", sample()), compression=zipfile.ZIP_STORED)
    data = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(signature) + at] = 93
    path.write_bytes(data)
    return path


@pytest.mark.skipif(hasattr(zipfile, "ZIP_ZSTANDARD"), reason="zipfile knows it by itself")
def test_what_newer_versions_pack_needs_a_library_that_is_named(packed_with_zstandard, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(TraceUnreadable, match="pip install zstandard"):
        runs_of(packed_with_zstandard)


class Unpacked:
    """Stands for the library; what it is given is not packed at all."""

    class ZstdError(Exception):
        pass

    class ZstdDecompressor:
        def stream_reader(self, packed, read_across_frames):
            assert read_across_frames
            return packed


@pytest.mark.skipif(hasattr(zipfile, "ZIP_ZSTANDARD"), reason="zipfile knows it by itself")
def test_with_that_library_it_is_read(packed_with_zstandard, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", Unpacked)
    assert [len(run) for run in runs_of(packed_with_zstandard)] == [1]


class Broken(Unpacked):
    """Stands for the library where a frame is damaged."""

    class ZstdDecompressor:
        def stream_reader(self, packed, read_across_frames):
            raise Unpacked.ZstdError("bad frame")


@pytest.mark.skipif(hasattr(zipfile, "ZIP_ZSTANDARD"), reason="zipfile knows it by itself")
def test_a_damaged_frame_is_named(packed_with_zstandard, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", Broken)
    with pytest.raises(NoTrace, match=r"'samples/a\.json' cannot be unpacked: bad frame"):
        runs_of(packed_with_zstandard)


@given(st.data())
def test_a_damaged_archive_gives_runs_or_is_refused(tmp_path_factory, data):
    whole = STUCK.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    put = data.draw(st.binary(max_size=8))
    cut = data.draw(st.integers(at, len(whole)))
    path = tmp_path_factory.getbasetemp() / "damaged.eval"
    path.write_bytes(whole[:at] + put + whole[cut:])
    with suppress(TraceUnreadable):
        assert all(len(run) <= 6 for run in runs_of(path))


@pytest.mark.parametrize("path", [STUCK, FOLDER / "stuck.json"], ids=["eval", "json"])
def test_the_other_commands_take_a_log(path, tmp_path):
    out = io.StringIO()
    with redirect_stdout(out):
        assert main(["explain", str(path), "--run", "handbook_epoch_1"]) == 1
        assert main(["report", str(path), "-o", str(tmp_path / "page.html")]) == 1
    assert 'search {"query":"refunds"}' in out.getvalue()
    assert "No rule of the handbook" in (tmp_path / "page.html").read_text()


def test_a_small_archive_of_millions_of_messages_is_told_and_passed_over(archive):
    many = json.dumps(sample()).replace('"messages": [', '"messages": [' + "{}," * 1_000_001)
    path = archive(("samples/a.json", many), ("samples/b.json", sample("b")))
    assert path.stat().st_size < 30_000
    trouble = []
    assert [run.run_id for run in runs_of(path, trouble)] == ["b_epoch_1"]
    assert trouble == [f"{path}:1: more than 1,000,000 objects and lists; skipped"]


@pytest.mark.parametrize(("name", "unit"), [("MAX_MESSAGES", "messages"), ("MAX_ATTACHED", "")])
def test_a_sample_is_read_up_to_a_bound(read, monkeypatch, name, unit):
    monkeypatch.setattr(inspect_ai, name, 3 if unit else 2 * len(LONG))
    for count, is_read in ((3, True), (4, False)):
        told = sample(result=["attachment://ab"] * (count - 1), attachments={"ab": LONG})
        if unit:
            told = sample()
            told["messages"] += [{"role": "user", "content": "Go on"}] * (count - 3)
        assert len(read(told)) == is_read
        assert ("a sample" in "".join(read.trouble)) is not is_read
    with_list = log(told, sample("b"))
    assert [run.run_id for run in read(with_list)] == ["b_epoch_1"]
