"""Every format has recorded runs that hold a loop and runs that hold none.

A format's fixtures are ``fixtures/NAME/stuck*`` and ``fixtures/NAME/healthy*``, one file or more
of each, small, and written for this test from the format's documentation.
"""

import codecs
import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest

from antiloop.cli import main
from antiloop.traces import FORMATS, read_runs
from antiloop.traces._files.source import open_lines
from antiloop.traces._registry import recognize
from antiloop.traces._shared.records import records

FOLDER = Path(__file__).parent / "fixtures"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"


def named(path):
    return str(path.relative_to(FOLDER))


def files(start):
    return [path for path in FILES if path.name.startswith(start)]


@pytest.mark.parametrize("path", files("stuck"), ids=named)
def test_a_scan_finds_the_loop_in_a_run_that_is_stuck(path, capsys):
    assert main(["scan", str(path)]) == 1
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("path", files("healthy"), ids=named)
def test_a_scan_leaves_a_healthy_run_alone(path, capsys):
    assert main(["scan", str(path)]) == 0
    assert capsys.readouterr().err == ""
    assert sum(map(len, read_runs(str(path)))) >= 4, "a run without calls proves nothing"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_the_format_is_recognized_by_what_the_file_holds(path):
    with open_lines(str(path)) as (_, lines):
        value = next(records(lines)).value
    assert path.name.startswith(("stuck", "healthy"))
    known = recognize(value)
    assert known is not None
    assert known.name == path.parts[-2]


PACKED = {
    "gzip": gzip.compress,
    "marked": lambda data: codecs.BOM_UTF8 + data,
    "marked, in gzip": lambda data: gzip.compress(codecs.BOM_UTF8 + data),
    "UTF-16": lambda data: data.decode().encode("utf-16"),
    "lines of Windows": lambda data: data.replace(b"\n", b"\r\n"),
    "without the last end": lambda data: data.rstrip(b"\n"),
}


# One file of each form of a format: it is unpacked before anybody knows what runs it holds.
FORMS = {(path.parent, path.suffix): path for path in reversed(FILES) if path.suffix != ".eval"}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("path", FORMS.values(), ids=named)
def test_a_file_reads_the_same_whatever_it_is_packed_in(tmp_path, path, packed):
    there = tmp_path / "packed"
    there.write_bytes(PACKED[packed](path.read_bytes()))

    def runs_of(name):
        trouble = []
        place = {"source": "", "run_id": ""}
        runs = [
            replace(run, **place) if run.run_id == run.source else replace(run, source="")
            for run in read_runs(str(name), on_trouble=trouble.append)
        ]
        return runs, [each.replace(str(name), "") for each in trouble]

    assert runs_of(there) == runs_of(path)


def test_code_fixtures_and_reference_name_the_same_formats():
    for start in ("stuck", "healthy"):
        assert {path.parts[-2] for path in files(start)} == FORMATS.keys()
    # One reader serves the two conventions for spans.
    for convention in ("gen-ai", "openinference"):
        found = {path.name.partition("-")[0] for path in FILES if convention in path.stem}
        assert found == {"healthy", "stuck"}
    headings = re.findall(r"^## `([\w-]+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == list(FORMATS)
