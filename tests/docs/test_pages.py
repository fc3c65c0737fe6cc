"""Every example in README and docs runs, and prints what the page says.

The ``python`` blocks of a page run in order and share their names. A ``text`` block right after one
is what it prints. In ``console`` blocks each ``$ antiloop ...`` is run, and the lines after it are
what it prints; one that waits for more gets Ctrl-C.
"""

import gc
import re
import shlex
from contextlib import nullcontext
from pathlib import Path

import pytest
from adapters import FRAMEWORKS, WARNINGS
from looplens_page import looplens_page
from page_models import page_models

from antiloop.cli import main
from antiloop.cli._commands import watch

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://)([^)#]*)#?([^)]*)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ENTRY = re.compile(r"^- \[([^]]+)\]\(([^)]+)\)", re.MULTILINE)
_OLD_MODEL = "ignore:The model:DeprecationWarning"  # an SDK knows when a model goes out of use
INDEX = ROOT / "docs" / "README.md"
_MODELS = dict.fromkeys(("real-models.md", "guard-your-own-loop.md"), page_models)
SERVED = {**_MODELS, "come-from-another-library.md": looplens_page}
"""What runs while the examples of a page do; it gives what stands for the addresses of the page."""
NEEDS = {**FRAMEWORKS, **dict.fromkeys(_MODELS, ("openai", "anthropic"))}


def named(path):
    return str(path.relative_to(ROOT))


def with_warnings(page):
    """Let pass what the framework of a page warns of by itself."""
    marks = map(pytest.mark.filterwarnings, (*WARNINGS.get(page.name, ()), _OLD_MODEL))
    return pytest.param(page, marks=list(marks), id=named(page))


def blocks_of(page):
    """Return ``(language, text, line)`` for each fenced block of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        (match[1], match[2], text.count("\n", 0, match.start()) + 2)
        for match in FENCE.finditer(text)
    ]


def commands_in(block):
    """Yield each command of a console block with the output that the page shows."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def as_lines(text):
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.fixture(autouse=True)
def _in_the_clone(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("page", list(map(with_warnings, PAGES)))
def test_python_blocks_run_and_print_what_the_page_says(page, capsys):
    for framework in NEEDS.get(page.name, ()):
        pytest.importorskip(framework, reason=f"{named(page)} needs {framework}")
    with SERVED.get(page.name, nullcontext)() as addresses:
        run_blocks(page, capsys, addresses or {})
    if page.name in WARNINGS:
        gc.collect()  # what a framework leaves open is told here, where it is let pass


def run_blocks(page, capsys, addresses):
    """Run the blocks of a page; addresses of the page stand for others."""
    blocks = blocks_of(page)
    names = {"__name__": "__main__"}
    for (language, code, line), following in zip(blocks, [*blocks[1:], ("", "", 0)]):
        if language != "python":
            continue
        for shown, used in addresses.items():
            code = code.replace(shown, used)
        # Empty lines before the code make a traceback point at the line of the page.
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
        printed = capsys.readouterr().out
        for shown, used in addresses.items():
            printed = printed.replace(used, shown)
        if following[0] == "text":
            assert as_lines(printed) == as_lines(following[1])


def ctrl_c(_):
    """Interrupt a command where it waits for more, as a person does."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_console_blocks_print_what_the_page_says(page, capsys, monkeypatch):
    monkeypatch.setattr(watch.time, "sleep", ctrl_c)
    for language, block, _ in blocks_of(page):
        for command, output in commands_in(block) if language == "console" else ():
            program, *arguments = shlex.split(command)
            assert program == "antiloop", "only our own command can be checked here; use sh"
            assert main(arguments) in (0, 1)
            assert as_lines(capsys.readouterr().out) == as_lines(output)


def links_of(page):
    """Return ``(file, anchor)`` for each link of a page that leads into the repository."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    return [((page.parent / to if to else page).resolve(), at) for to, at in LINK.findall(prose)]


def anchors_of(page):
    """Return what a link to a heading of this page may say, as code hosts make it."""
    headings = HEADING.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_to_files_and_headings_lead_somewhere(page):
    links = links_of(page)
    assert [named(to) for to, _ in links if not to.exists()] == []
    pages = [(to, at) for to, at in links if to.suffix == ".md" and at]
    assert [(named(to), at) for to, at in pages if at not in anchors_of(to)] == []


def test_the_index_lists_every_page_by_its_title():
    entries = ENTRY.findall(INDEX.read_text(encoding="utf-8"))
    listed = {named((INDEX.parent / to).resolve()): title for title, to in entries}
    pages = [*(page for page in PAGES[1:] if page != INDEX), ROOT / "CHANGELOG.md"]
    assert listed == {named(page): HEADING.search(page.read_text("utf-8"))[1] for page in pages}


def test_the_readme_leads_to_the_index():
    assert INDEX in [to for to, _ in links_of(ROOT / "README.md")]


def test_there_is_something_to_check():
    languages = [language for page in PAGES for language, _, _ in blocks_of(page)]
    assert {"python", "text", "console", "sh"} <= set(languages)
