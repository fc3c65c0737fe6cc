"""The table of the reference is that of the code."""

import re
from pathlib import Path

from antiloop import health

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "health.md"
ROW = re.compile(r"^\| `(\w+)` \|[^|]*\| (\d+) \| (\d+) \|$", re.MULTILINE)


def test_the_rules_are_as_written():
    written = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert written == [(r.name, str(r.penalty), str(r.threshold)) for r in health.RULES]


def test_the_fields_of_the_report_are_as_written():
    page = PAGE.read_text(encoding="utf-8").partition("## Report")[2]
    for made in (health.HealthReport, health.HealthWarning):
        assert [name for name in made.__dataclass_fields__ if f"`{name}`" not in page] == []
