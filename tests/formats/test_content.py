"""Text and arguments, whatever shape an API gives them."""

from types import SimpleNamespace

import pytest

from antiloop.formats._content import (
    arguments_of,
    field_of,
    filled_field,
    flag_of,
    items_of,
    optional_text,
    tag_of,
    text_of,
)


class Refusing:
    """An object whose own code raises, as that of a closed connection or of an array may."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __bool__(self):
        raise ValueError("neither")


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


def test_a_field_that_an_object_does_not_give_is_not_there():
    assert field_of(Refusing(), "a") is None
    assert tag_of(Refusing(), "a") == ""
    assert not flag_of(Refusing(), "a")


def test_only_text_is_a_tag():
    assert [tag_of({"type": value}, "type") for value in ("x", 7, None, ["x"])] == ["x", "", "", ""]


def test_what_cannot_tell_whether_it_is_true_is_there():
    assert [flag_of({"a": value}, "a") for value in (1, 0, None, Refusing())] == [1, 0, 0, 1]


def test_of_several_fields_the_first_that_holds_something_is_read():
    assert filled_field({"a": "", "b": 2, "c": 3}, "a", "b", "c") == 2
    assert filled_field({"a": [], "b": ""}, "a", "b") is None


@pytest.mark.parametrize("value", [0, 0.0, False])
def test_a_number_and_a_truth_value_hold_something(value):
    assert filled_field({"a": value, "b": 3}, "a", "b") is value


def test_an_empty_id_is_none():
    assert optional_text("") is optional_text(None) is None
    assert optional_text(7) == "7"


def test_only_lists_and_tuples_have_items():
    assert [items_of(value) for value in ([1], (1,), "x", None, {"a": 1})] == [[1], [1], [], [], []]
