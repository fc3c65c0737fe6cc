"""Text and arguments, whatever shape an API gives them."""

from types import SimpleNamespace

import pytest

from antiloop.formats.content import arguments_of, field_of, items_of, optional_text, text_of


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ("", ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        (["a", "b"], "a\nb"),
        ([{"type": "image_url", "image_url": "x"}], '{"image_url":"x","type":"image_url"}'),
        ([SimpleNamespace(type="text", text="a")], "a"),
        ([{"b": 1, "a": 2}], '[{"a":2,"b":1}]'),
        ({"b": 1, "a": None}, '{"a":null,"b":1}'),
        (False, "false"),
        (0, "0"),
    ],
)
def test_content_becomes_text(content, text):
    assert text_of(content) == text


def test_two_objects_without_state_are_equal_text():
    assert text_of(object()) == text_of(object())


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ('{"q": 1}', {"q": 1}),
        ({"q": 1}, {"q": 1}),
        (None, None),
        ("", ""),
        ('{"q": ', '{"q": '),
        ("[1, 2]", "[1, 2]"),
        ("[" * 100_000, "[" * 100_000),
        ([1, 2], "[1,2]"),
    ],
)
def test_arguments_are_a_mapping_or_the_text_as_it_was(given, arguments):
    assert arguments_of(given) == arguments


def test_fields_are_keys_or_attributes():
    assert field_of({"a": 1}, "a") == field_of(SimpleNamespace(a=1), "a") == 1
    assert field_of({}, "a") is field_of(object(), "a") is field_of(None, "a") is None


def test_an_empty_id_is_none():
    assert optional_text("") is optional_text(None) is None
    assert optional_text(7) == "7"


def test_only_lists_and_tuples_have_items():
    assert [items_of(value) for value in ([1], (1,), "x", None, {"a": 1})] == [[1], [1], [], [], []]
