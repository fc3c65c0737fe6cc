"""The documentation uses the terms of the glossary, and none of the words that they replace."""

import re
from pathlib import Path

import pytest

from antiloop.loop_detection import LoopAction, LoopSeverity
from antiloop.loop_detection._evidence.outcome import Outcome

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "reference" / "glossary.md"

FOLDERS = ("README.md", "CHANGELOG.md", ".github", "docs", "src/antiloop")

# Pattern -> what to write instead. Each is wrong wherever it occurs.
INSTEAD = {
    r"spells?": "streak",
    r"barren": "unproductive",
    r"gists?": "summary, content",
    r"skeletons?": "template",
    r"(the|no|its|this|some) slack": "how many fresh rounds are allowed",
    r"who (looks|works)": "the detector, the preset; what runs the work",
    r"(stands?|stood|standing) (in|on|at|beside|behind|above|below|under|before|there|alone)": "is",
    r"(is|are|was|were|be|been) told": "receives, gets",
    r"(tell|tells|told) (of|nothing|no)": "report, contain",
    r"of (its|their) own": "its, their; separate",
    r"(?<!there\s)(is|are|was|were) no(?! (longer|more than))": "is not a",
    r"where left out": "by default",
    r"(nobody|whoever|whomever)": "no one; the one who",
    r"as ever": "as usual",
    r"ever new": "new ... each time",
    r"anew": "again",
    r"(come|comes|came) (to nothing|of it)": "is unproductive",
    r"(is|as|that is) news": "is new",
    r"a row of": "several, a streak of",
    r"to the letter": "exactly",
    r"(whereof|whereby|therein|thereof|hence|thus)": "so",
    r"(may|can) well": "can",
    r"let be": "leave alone",
    r"save for": "except for",
    # The rest of American spelling is checked by codespell, which does not read names.
    r"(behaviour|colours?|judgement|labelled)": "American spelling",  # codespell:ignore
    r"recognis\w+": "American spelling",
    r"hand-offs?": "handoff",
}
# Words may be on two lines, also of a comment.
BANNED = re.compile(rf"\b({'|'.join(INSTEAD)})\b".replace(" ", r"(?: |\n *(?:# )?)"), re.IGNORECASE)
LINE_END = "\n"
NAME = re.compile(r"\w*_\w*")
OPENING = re.compile(r'^\s*r?"""(Gives?|Tells?|Hears?)\b', re.MULTILINE)
TERM = re.compile(r"^\| ([a-z][a-z ]*) \| (.+) \|$", re.MULTILINE)
TEST = re.compile(r"`test_\w+\.py::\w+`")
OUTPUT = re.compile(r"^```(?:text|console)\n.*?^```$", re.MULTILINE | re.DOTALL)


def files_of(folder):
    """Return the pages and modules of a folder, or the file itself."""
    path = ROOT / folder
    return [path] if path.is_file() else sorted([*path.rglob("*.md"), *path.rglob("*.py")])


FILES = [file for folder in FOLDERS for file in files_of(folder)]
MODULES = [file for file in FILES if (ROOT / "src") in file.parents]


def without_output(text):
    """Blank what blocks print, and names of tests: the code says that."""
    return TEST.sub("", OUTPUT.sub(lambda block: "\n" * block[0].count("\n"), text))


def replaced_words(text):
    """Return each banned word with its line and what to write instead."""
    found = [(match.start(), match[0]) for match in BANNED.finditer(text)]
    for name in NAME.finditer(text):
        # A name is read as separate words: `is_no_loop` as "is no loop".
        words = BANNED.finditer(name[0].replace("_", " "))
        found += [(name.start(), match[0]) for match in words]
    return [
        f"line {text.count(LINE_END, 0, start) + 1}: {words!r}: write {instead_of(words)}"
        for start, words in sorted(found)
    ]


def instead_of(words):
    plain = re.sub(r"\s+(# )?", " ", words)
    return next(
        better for pattern, better in INSTEAD.items() if re.fullmatch(pattern, plain, re.IGNORECASE)
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_uses_the_words_of_the_glossary(file):
    assert replaced_words(without_output(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_docstring_says_plainly_that_something_is_returned(file):
    assert OPENING.findall(file.read_text(encoding="utf-8")) == []


def terms():
    return [term for term, _ in TERM.findall(GLOSSARY.read_text("utf-8")) if term != "term"]


def test_each_term_is_defined_once():
    assert len(terms()) == len(set(terms()))


def test_the_glossary_defines_what_results_and_verdicts_can_be():
    text = GLOSSARY.read_text("utf-8")
    kinds = dict(TERM.findall(text))
    assert {kind.name.lower() for kind in Outcome} <= set(re.findall(r"\w+", kinds["outcome"]))
    for enum, term in ((LoopAction, "action"), (LoopSeverity, "severity")):
        assert {kind.value for kind in enum} == set(re.findall(r"`(\w+)`", kinds[term]))


@pytest.mark.parametrize("term", terms())
def test_the_documentation_uses_each_term(term):
    words = re.compile(rf"\b{term}(s|es)?\b", re.IGNORECASE)
    pages = [page for page in FILES if page.suffix == ".md" and page != GLOSSARY]
    assert any(words.search(page.read_text("utf-8")) for page in pages)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a spell\nand who looks", ["line 1: 'spell': write streak", "line 2: 'who looks'"]),
        ("Nobody is told", ["line 1: 'Nobody'", "line 1: 'is told'"]),
        ("a spelling of a word", []),
        ("it is no longer open", []),
        ("some are\n    no tools", ["line 1: 'are\\n    no': write is not a"]),
        ("is_no_loop = policy is NO_POLICY", ["line 1: 'is no': write is not a"]),
    ],
)
def test_a_replaced_word_is_found_with_its_line(text, words):
    found = replaced_words(text)
    assert len(found) == len(words)
    assert all(line.startswith(start) for line, start in zip(found, words))
