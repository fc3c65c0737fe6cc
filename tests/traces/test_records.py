"""JSON values out of lines: one a line, or spread over many."""

import itertools
import json

import pytest

from antiloop.traces._files.source import NOT_KEPT
from antiloop.traces._shared.records import Record, numbered, records


def records_of(text, **limit):
    return records(numbered(text.splitlines(keepends=True)), **limit)


def values(text):
    return [(found.line, found.value) for found in records_of(text)]


def broken(text):
    return {found.line: found.broken for found in records_of(text) if found.broken}


def test_one_value_a_line():
    assert values('{"a": 1}\n{"a": 2}\n') == [(1, {"a": 1}), (2, {"a": 2})]


def test_empty_lines_are_passed_over_and_counted():
    assert values('\n{"a": 1}\n\n \n{"a": 2}') == [(2, {"a": 1}), (5, {"a": 2})]


def test_a_document_over_many_lines_is_one_value():
    document = [{"role": "user"}, {"role": "assistant"}]
    assert values("\n" + json.dumps(document, indent=2) + "\n") == [(2, document)]


def test_documents_over_many_lines_may_follow_each_other():
    text = json.dumps({"a": 1}, indent=2) + "\n" + json.dumps({"a": 2}, indent=2)
    assert values(text) == [(1, {"a": 1}), (4, {"a": 2})]


def test_what_follows_a_document_and_is_none_is_broken():
    text = json.dumps({"a": 1}, indent=2) + "\nnonsense\n"
    assert broken(text) == {4: "not JSON: Expecting value at column 1"}


@pytest.mark.parametrize(
    "first",
    ["nonsense", '{"a": "cut off', '{"a": [1,', "{", '{"a": 1}}', "[" * 100_000],
)
def test_a_broken_first_line_does_not_spoil_the_rest(first):
    text = first + '\n{"a": 2}\n{"a": 3}\n'
    assert values(text)[1:] == [(2, {"a": 2}), (3, {"a": 3})]
    assert list(broken(text)) == [1]


def test_a_broken_line_is_named_with_its_reason():
    assert broken('{"a": 1}\n{"a": 1,,}\n{"a": 3}\n') == {
        2: "not JSON: Expecting property name enclosed in double quotes at column 9"
    }


def test_a_number_too_long_to_read_is_a_broken_line_and_no_crash():
    assert [line for line, _ in values(f"1\n{'9' * 5000}\n2\n")] == [1, 2, 3]


def test_lines_are_taken_one_at_a_time():
    endless = ('{"n": 1}\n' for _ in itertools.count())
    assert next(records(numbered(endless))) == Record(1, {"n": 1})


def indented(*documents):
    return "\n".join(json.dumps(document, indent=2) for document in documents) + "\n"


def test_each_document_is_given_as_soon_as_it_ends():
    endless = itertools.cycle(indented({"a": [1, {"b": 2}]}).splitlines(True))
    found = records(numbered(endless))
    assert [next(found) for _ in range(3)] == [
        Record(line, {"a": [1, {"b": 2}]}) for line in (1, 9, 17)
    ]


def test_a_broken_document_is_named_where_it_breaks_and_the_rest_is_read():
    text = indented({"a": 1}) + '{\n  "a": 1,,\n  "b": 2\n}\n' + indented([3])
    assert broken(text) == {
        5: "not JSON: Expecting property name enclosed in double quotes at column 10"
    }
    assert values(text)[::2] == [(1, {"a": 1}), (8, [3])]


def test_documents_that_are_not_indented_are_read_whole():
    text = '{\n"a": {\n"b": [\n],\n"c": 1\n}\n,"d": 1}\n{"e":\n2}'
    assert values(text) == [(1, {"a": {"b": [], "c": 1}, "d": 1}), (8, {"e": 2})]


def test_a_document_that_is_cut_off_is_broken_at_its_last_line():
    text = indented({"a": 1}) + indented({"a": [1, 2]})[:-8]
    assert broken(text) == {6: "not JSON: Expecting value at column 7"}


def test_a_document_that_is_too_long_is_named_and_passed_over():
    text = indented({"a": 1}, list(range(100)), {"b": 2})
    found = list(records_of(text, max_length=100))
    assert found == [
        Record(1, {"a": 1}),
        Record(4, broken="longer than 100 characters"),
        Record(106, {"b": 2}),
    ]


def test_a_first_line_that_is_cut_off_makes_no_document_of_a_long_file():
    endless = itertools.chain(['{"a": [1,\n'], itertools.repeat('{"n": 1}\n'))
    found = records(numbered(endless), max_length=100)
    assert next(found).broken
    assert next(found) == Record(2, {"n": 1})


def test_a_line_that_was_not_kept_says_why():
    text = f'{{"a": 1}}\n{NOT_KEPT}longer than 9 bytes\n{{"a": 3}}\n'
    assert broken(text) == {2: "longer than 9 bytes"}


def test_what_a_crash_left_before_a_line_is_passed_over_and_alone_is_a_broken_line():
    text = '{"a": 1}\n\0\0\n\0\0{"a": 3}\n'
    assert broken(text) == {2: "not JSON: Expecting value at column 1"}
    assert [one.value for one in records_of(text)] == [
        {"a": 1},
        None,
        {"a": 3},
    ]
