"""The tables of the reference page about adapters, as ADAPTERS tells them.

python tests/integrations/adapter_tables.py    # writes them into the page
"""

import re
from pathlib import Path
from typing import List, Tuple

from adapters import ADAPTERS, Adapter

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "adapters.md"
HOW_TO = ROOT / "docs" / "how-to"
OWN_PYTHON = (3, 9)
"""The oldest Python that the project runs on; tests without an extra may need a later one."""
TABLE = re.compile(r"^\| (adapter|hole|last|thoughts) .*?(?=\n\n|\n?\Z)", re.MULTILINE | re.DOTALL)


def adapter_row(adapter: Adapter) -> List[str]:
    """Return where an adapter is, and what it is tested with."""
    title = (HOW_TO / adapter.page).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
    oldest = ", ".join(f"`{pin}`" for pin in adapter.oldest)
    extra = ADAPTERS[adapter.through or adapter.name].extra
    tested = f"{oldest} and the newest" if oldest else "the newest" if extra else "-"
    through = f", by `{adapter.through}`" if adapter.through else ""
    return [
        f"`{adapter.name}`{through}",
        f"[{title}](../how-to/{adapter.page})",
        f"`{extra}`" if extra else "-",
        ", ".join(adapter.modes) or "-",
        python(adapter),
        tested,
    ]


def python(adapter: Adapter) -> str:
    """Name the oldest Python, and that of the newest version where it is another."""
    oldest = adapter.python if adapter.extra or adapter.through else OWN_PYTHON
    newest = f"; {dotted(adapter.newest_python)} for the newest" if adapter.newest_python else ""
    return dotted(oldest) + newest


def dotted(version: Tuple[int, int]) -> str:
    return ".".join(map(str, version))


def hole_rows(adapter: Adapter) -> List[List[str]]:
    """Return what of the contract a framework cannot do, and why not."""
    return [[f"`{adapter.name}`: {line}", why] for line, why in adapter.holes.items()]


def table(header: List[str], rows: List[List[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables() -> "dict[str, str]":
    """Return the tables by their first word."""
    adapters = list(ADAPTERS.values())
    header = ["adapter", "page", "extra", "modes", "oldest Python", "versions tested"]
    asking = [each for each in adapters if each.last_words]
    return {
        "last": table(
            ["last words", "how the model is asked"],
            [[f"`{each.name}`", each.last_words] for each in asking],
        ),
        "thoughts": table(
            ["thoughts", "what happens"],
            [[f"`{each.name}`", each.thoughts] for each in adapters],
        ),
        "adapter": table(header, [adapter_row(each) for each in adapters]),
        "hole": table(["hole", "why"], [row for each in adapters for row in hole_rows(each)]),
    }


def written(page: str) -> str:
    """Return the page with its tables made anew."""
    made = tables()
    return TABLE.sub(lambda match: made[match[1]], page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
