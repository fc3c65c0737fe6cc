from antiloop.agent._tools.signature import parse_docstring


def test_no_docstring_is_an_empty_one():
    assert parse_docstring(None) == ("", {})


def test_everything_before_the_first_section_describes():
    text = """Find pages.

    The newest come first.

    Returns:
        The pages.
    """
    assert parse_docstring(text) == ("Find pages.\n\nThe newest come first.", {})


def test_a_doctest_ends_the_description():
    assert parse_docstring("Find pages.\n\n>>> find()\n[]").description == "Find pages."


def test_each_parameter_has_its_words_and_they_may_take_several_lines():
    text = """Find pages.

    Args:
        query: what to look for:
            words or "phrases".

            Case does not matter.
        limit (int, optional): how many.
        **options: the rest.

    Raises:
        ValueError: never a parameter.
    """
    assert parse_docstring(text).parameters == {
        "query": 'what to look for: words or "phrases". Case does not matter.',
        "limit": "how many.",
        "options": "the rest.",
    }


def test_other_names_of_the_section_are_known():
    for name in ("Arguments", "Parameters", "args"):
        assert parse_docstring(f"X.\n\n{name}:\n  a: b").parameters == {"a": "b"}


def test_words_before_the_first_parameter_belong_to_none():
    assert parse_docstring("X.\n\nArgs:\n    see below\n    a: b").parameters == {"a": "b"}
