"""The same reply in consecutive replies, none of which calls a tool."""

import pytest

from antiloop.loop_detection import MonologueDetector

REPLY = "I will now look at the file."


def found(*replies, **options):
    return MonologueDetector(**options).check_replies(replies)


def test_the_same_reply_three_times_is_found():
    told = found(REPLY, REPLY, REPLY)
    assert (told.detector_name, told.repetitions) == ("monologue", 3)
    assert told.message.endswith(f'3 times in a row without calling a tool: "{REPLY}"')


def test_twice_is_not_yet_a_monologue():
    assert found(REPLY, REPLY) is None
    assert found(REPLY, REPLY, threshold=2) is not None


@pytest.mark.parametrize(
    "other",
    [
        "I  WILL now\n\nlook at the file. ",
        "2. I will now look at the file.",
        "(2) I will now look at the file.",
        "Attempt 2: I will now look at the file.",
        "**Step 12:** I will now look at the file.",
        "Try 2/9 - I will now look at the file.",
    ],
)
def test_case_spaces_and_numbering_make_no_difference(other):
    first = other.replace("2", "1")
    assert found(REPLY, REPLY, REPLY.upper()) is not None
    assert found(first, other, first) is not None


@pytest.mark.parametrize(
    "template",
    [
        "{} files are left.",
        "The answer is {}.",
        "The answer: {}",
        '{{"age": {}}}',
        "age: {}\nname: Bob",
        "Answer {}.",
        "{}",
        "{}, I think",
    ],
)
def test_other_numbers_are_another_reply(template):
    assert found(*(template.format(number) for number in (41, 42, 43))) is None


def test_another_reply_in_between_begins_anew():
    assert found(REPLY, REPLY, "Something else.", REPLY, REPLY) is None


def test_a_reply_without_words_says_nothing():
    assert found("", " \n", "") is None
    assert found(REPLY, "", REPLY, REPLY) is not None


def test_numbers_alone_are_compared():
    assert found("7.", "7.", "7.") is not None


def test_a_goodbye_after_each_question_is_found_only_without_a_user_between():
    watch = MonologueDetector().watch()
    for _ in range(9):
        assert watch.said("You are welcome!") is None
        watch.moved()


def test_the_reply_is_shown_shortened_masked_and_escaped():
    told = found(*["password=hunter2 \x1b[31m " + "and more of it " * 90] * 3)
    assert "hunter2" not in told.message
    assert "\x1b" not in told.message
    assert len(told.details["words"].replace("\\x1b", "-")) <= 60


def test_the_beginning_of_a_long_reply_is_searched_for_secrets():
    for length, shown in ((500, "password=*** b"), (501, "password=*** ...")):
        reply = f"password={'h' * (length - 11)} b"
        assert found(*[reply] * 3).details["words"] == shown


def test_a_reply_on_its_way_is_no_reply():
    watch = MonologueDetector().watch()
    assert [watch.saying(REPLY) for _ in range(9)] == [None] * 9


def test_a_threshold_below_two_is_refused():
    with pytest.raises(ValueError, match="threshold must be a whole number, 2 or more, got 1"):
        MonologueDetector(1)


def test_calls_are_no_matter():
    assert MonologueDetector().check([], []) is None
    assert repr(MonologueDetector(4)) == "MonologueDetector(threshold=4)"
