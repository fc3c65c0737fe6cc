"""What is remembered of many runs does not grow without end."""

from antiloop._latest import Latest


def test_what_was_set_longest_ago_is_forgotten():
    latest = Latest(2)
    for name in "abc":
        latest[name] = name
    assert [*latest] == ["b", "c"]


def test_what_is_set_again_counts_as_new():
    latest = Latest(2)
    for name in "abac":
        latest[name] = name
    assert [*latest] == ["a", "c"]


def test_many_values_at_once_are_bounded_too():
    latest = Latest(3)
    latest.update(dict.fromkeys(range(10)))
    assert [*latest] == [7, 8, 9]
