"""The vectors are those of the generator, and antiloop answers them as any other program would."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
FILES = sorted(path.name for path in FOLDER.glob("*.jsonl"))
sys.path.insert(0, str(FOLDER))

import check  # noqa: E402

import vectors  # noqa: E402


@pytest.fixture(scope="module")
def written():
    return {file: vectors.text_of(listed) for file, listed in vectors.lines()}


def test_each_generator_has_its_file(written):
    assert sorted(written) == FILES


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_as_the_generator_writes_it(written, file):
    told = "detection has changed: run python tests/vectors/vectors.py and look at the difference"
    assert (FOLDER / file).read_text(encoding="utf-8") == written[file], told


def test_there_are_enough_of_them_and_every_preset_acts():
    asked = [(question, answer) for question, answer in check.questions() if "id" in question]
    assert len({question["id"] for question, _ in asked}) >= 600
    acting = {question["preset"] for question, answer in asked if answer["verdicts"]}
    assert acting == set(vectors.PRESETS)
    assert {question["preset"] for question, answer in asked if not answer["verdicts"]} == acting


def test_antiloop_as_a_program_answers_them():
    assert list(check.differences([sys.executable, str(FOLDER / "program.py")])) == []


def test_a_program_that_answers_otherwise_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import sys\nfor _ in sys.stdin: print('{\"verdicts\": []}')\n")
    found = list(check.differences([sys.executable, str(wrong)]))
    assert len(found) > 600
    assert "expected" in found[0]


def test_a_program_that_stops_early_is_found():
    (said, *_) = check.differences([sys.executable, "-c", "raise SystemExit('no')"])
    assert "0 answers; no" in said
