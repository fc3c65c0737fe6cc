"""The tables of the reference are those of the code."""

import inspect
import re
from dataclasses import fields
from enum import Enum
from pathlib import Path

import pytest
from command_line_page import commands_of

from antiloop import loop_detection
from antiloop.cli import _parser
from antiloop.loop_detection import Escalation, LoopPolicy
from antiloop.loop_detection import _blocks as blocks
from antiloop.loop_detection import _ladder as ladder
from antiloop.loop_detection._project.schema import settings_schema
from antiloop.loop_detection._project.settings import ProjectSettings
from antiloop.loop_detection._registry import DETECTORS as TYPES

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
DETECTORS = (REFERENCE / "detectors.md").read_text(encoding="utf-8")
POLICIES = (REFERENCE / "policies.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(\w+)`[^|]*\| ([^|]+?) \|", re.MULTILINE)


def section(page, name):
    return re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)[1]


def table(page, name):
    """Return the Defaults table of a section as ``{option: default}``, both as text."""
    part = section(page, name).partition("### Defaults\n")[2].partition("### ")[0]
    return {option: value.strip("`").replace('"', "'") for option, value in ROW.findall(part)}


def signature_of(made):
    parameters = inspect.signature(made).parameters.values()
    return {p.name: "required" if p.default is p.empty else written(p.default) for p in parameters}


def written(value):
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, tuple):
        return f"({', '.join(written(getattr(part, 'value', part)) for part in value)})"
    return repr(value)


def detectors_on(page):
    return re.findall(r"^## (\w+Detector)$", page, re.MULTILINE)


@pytest.mark.parametrize("name", detectors_on(DETECTORS))
def test_the_defaults_of_a_detector_are_as_written(name):
    assert table(DETECTORS, name) == signature_of(getattr(loop_detection, name))


def test_every_public_detector_has_a_section():
    public = {name for name in loop_detection.__all__ if name.endswith("Detector")}
    assert public - {"BaseDetector", "LoopDetector", "WindowDetector"} <= set(
        detectors_on(DETECTORS)
    )


def test_every_section_about_a_detector_follows_the_template():
    for name in detectors_on(DETECTORS):
        headings = re.findall(r"^### (.+)$", section(DETECTORS, name), re.MULTILINE)
        expected = ["About", "Usage", "Defaults", "What it finds", "What it leaves alone"]
        assert (name, headings) == (name, expected)


def test_the_overview_names_every_detector_as_its_verdicts_do():
    rows = re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \| `(\w+)` \|", DETECTORS, re.MULTILINE)
    assert {name: kind for kind, name in rows} == {name: TYPES[name].__name__ for name in TYPES}


@pytest.mark.parametrize("page", [DETECTORS, POLICIES])
def test_options_with_defaults_stand_under_that_heading_only(page):
    parts = re.split(r"^#+ (.+)$", page, flags=re.MULTILINE)
    told = [part for part, text in zip(parts[1::2], parts[2::2]) if "| option | default |" in text]
    assert set(told) == {"Defaults"}


def test_every_field_of_a_detection_is_told():
    told = re.findall(r"^\| `(\w+)` \|", section(DETECTORS, "LoopDetection"), re.MULTILINE)
    assert told == [field.name for field in fields(loop_detection.LoopDetection)]


def test_the_defaults_of_a_ladder_are_as_written():
    assert table(POLICIES, "Escalation") == signature_of(Escalation)


def test_the_defaults_of_a_loop_detector_are_as_written():
    assert table(POLICIES, "LoopDetector") == signature_of(loop_detection.LoopDetector)


def test_every_field_of_a_verdict_is_told():
    told = re.findall(r"^\| `(\w+)` \|", section(POLICIES, "Verdicts"), re.MULTILINE)
    verdict = loop_detection.LoopVerdict
    assert told == [*(field.name for field in fields(verdict)), "severity"]


def test_what_the_ladder_remembers_is_as_written():
    rules = section(POLICIES, "Rules of the ladder")
    assert f"The last {ladder.MAX_LOOPS} loops" in rules
    assert f"the last {blocks.MAX_REFUSED} |" in rules
    assert f"At most {blocks.MAX_BLOCKS} loops are refused" in rules


def test_the_ladders_of_the_policies_are_as_written():
    ladders = {p.name: [action.value for action in p.escalation.actions] for p in LoopPolicy}
    told = {name: ladder.split(", ") for name, ladder in table(POLICIES, "LoopPolicy").items()}
    assert told == ladders


def test_every_key_of_the_settings_is_told():
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \|", section(page, "Keys"), re.MULTILINE)
    assert told == list(settings_schema()["properties"])


def test_every_command_that_reads_settings_is_named_with_its_preset():
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    rows = " ".join(re.findall(r"^\| `antiloop .+$", section(page, "Programs that read it"), re.M))
    named = set(re.findall(r"`(?:antiloop )?(\w+)`", rows))
    reading = {
        name for name, parser in commands_of(_parser()) if "--isolated" in parser.format_help()
    }
    assert reading <= named


TOML = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTINGS = [REFERENCE / "settings.md", REFERENCE.parent / "how-to" / "in-production.md"]


@pytest.mark.parametrize("page", SETTINGS, ids=lambda path: path.name)
def test_the_settings_on_a_page_are_ones(page, tmp_path):
    blocks = TOML.findall(page.read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        (tmp_path / "antiloop.toml").write_text(block, encoding="utf-8")
        ProjectSettings.read(str(tmp_path / "antiloop.toml"))
