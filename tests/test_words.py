"""Names and help texts use plain words, not those that only this project knows."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from antiloop.cli import _parser

SOURCES = sorted((Path(__file__).parents[1] / "src" / "antiloop").rglob("*.py"))
PRIVATE = re.compile(
    r"\b(who (looks|works|is asked)|is told|nobody|whoever|where left out|of its own|say --)\b"
)

QUESTION = re.compile(r"(What|Who|Whom|Whose|Where|Which|How|When|Why)\b")


def docstrings_in(path):
    """Yield the texts that stand alone: docstrings of modules, classes, functions and fields."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = node.value if isinstance(node, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.value


def names_in(path):
    readline = io.StringIO(path.read_text(encoding="utf-8")).readline
    tokens = tokenize.generate_tokens(readline)
    return {token.string for token in tokens if token.type == tokenize.NAME}


def test_a_name_says_what_it_holds():
    vague = {path.name for path in SOURCES for name in names_in(path) if "told" in name.split("_")}
    assert vague == set()


def classes():
    """Yield each class with the module that defines it."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield path, node


def test_no_other_class_has_the_name_of_a_public_one():
    public, others = set(), []
    for path, node in classes():
        if {"beta", "stable"} & {ast.unparse(each) for each in node.decorator_list}:
            public.add(node.name)
        else:
            others.append((node.name.lstrip("_"), path.name))
    assert len(public) > 100
    assert [each for each in others if each[0] in public] == []


def commands():
    (found,) = (each for each in _parser()._actions if hasattr(each, "_choices_actions"))
    return found.choices.items()


@pytest.mark.parametrize(("name", "parser"), commands())
def test_help_is_in_plain_words(name, parser):
    assert PRIVATE.findall(" ".join(parser.format_help().split())) == [], name


def test_docstrings_are_in_plain_words():
    private = re.compile(r"\b(told by|is told|are told|nobody|whoever|where left out)\b")
    found = {path.name for path in SOURCES if private.search(path.read_text(encoding="utf-8"))}
    assert found == set()


def test_a_docstring_begins_like_a_sentence():
    """After one of these words, a reader cannot tell whether a question follows."""
    texts = [(path.name, text) for path in SOURCES for text in docstrings_in(path)]
    assert len(texts) > 1_000
    assert [(name, text) for name, text in texts if QUESTION.match(text)] == []
