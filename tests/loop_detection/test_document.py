"""Documents that come again: other questions, and most of the lines were there before."""

import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ask, in_rounds, step, verdicts

from antiloop import LoopDetector, ToolCall
from antiloop.loop_detection import StagnationDetector, ToolPolicy
from antiloop.loop_detection._evidence.document import lines_of, read, texts_of, written
from antiloop.loop_detection._evidence.window import Window

WORDS = "alpha beta gamma delta kappa lambda sigma theta omega zeta iota rho".split()
ENTRIES = [f"{word}: a paper about {word} and more" for word in WORDS]
ORDERS = ["\n".join(order) for order in permutations(ENTRIES[:5])]


def searches(answers, tool="search", **arguments):
    return [
        step(tool, answer, q=f"papers {number}", **arguments)
        for number, answer in enumerate(answers)
    ]


def retold(*steps, policies=None):
    """Return which of the steps, each a round, is marked."""
    calls, results = in_rounds(*([each] for each in steps))
    window = Window(policies=policies).fill(calls, results)
    assert not any(
        item.is_retold and passed.is_new for passed in window.rounds for item in passed.evidence
    )
    return [item.is_retold for item in window]


def test_the_same_entries_in_another_order_bring_a_notice_and_no_more():
    run = searches(ORDERS[:20])
    assert ask(StagnationDetector(), *run[:6]) is None
    found = ask(StagnationDetector(), *run[:7])
    assert found.message == (
        "6 of the last 7 rounds failed, found nothing or repeated what was known."
    )
    actions = [
        each.action.value for each in verdicts(LoopDetector.escalating(), *([s] for s in run))
    ]
    assert "notify" in actions
    assert not {"block", "stop"} & set(actions)


@pytest.mark.parametrize("tool", ["search", "kb_search", "find_articles"])
def test_a_page_that_comes_whole_to_another_question_is_retold(tool):
    assert retold(*searches(ORDERS[:3] * 3, tool=tool)) == [False] + [True] * 8
    assert retold(*searches(ORDERS[:3] * 2, tool="frage"))[3:] == [False] * 3


def test_four_of_five_lines_are_most():
    first = "\n".join(ENTRIES[:5])
    assert retold(*searches([first, "\n".join(ENTRIES[1:6])])) == [False, True]
    assert retold(*searches([first, "\n".join(ENTRIES[2:7])])) == [False, False]
    parts = ["\n".join(ENTRIES[:5]), "\n".join(ENTRIES[5:10]), "\n".join(ENTRIES[1:9])]
    assert retold(*searches(parts)) == [False, False, True]


def hits(entries, score, **layout):
    found = [{"content": each, "score": score / 10 - at} for at, each in enumerate(entries)]
    return json.dumps({"result": found, "took": score}, **layout)


@given(
    st.lists(st.sampled_from(ENTRIES), min_size=3, max_size=9, unique=True),
    st.randoms(use_true_random=False),
    st.sampled_from([None, 1, 4]),
)
def test_the_same_sentences_in_an_object_are_the_same_whatever_stands_beside_them(
    entries, random, indent
):
    answers = []
    for score in range(4):
        random.shuffle(entries)
        answers.append(hits(entries, score, indent=indent))
    assert retold(*searches(answers)) == [False, True, True, True]
    others = [hits([f"{each} of {score}" for each in entries], score) for score in range(4)]
    assert not any(retold(*searches(others)))


def test_two_sentences_in_an_object_and_any_number_of_names_may_be_a_form():
    assert not any(retold(*searches([hits(ENTRIES[:2], score) for score in range(4)])))
    assert not any(retold(*searches([hits(WORDS, score) for score in range(4)])))


def test_the_same_hits_with_other_scores_bring_a_notice_and_no_more():
    run = searches([hits(ENTRIES[:4], score) for score in range(20)])
    actions = {
        each.action.value for each in verdicts(LoopDetector.escalating(), *([s] for s in run))
    }
    assert actions == {"continue", "notify"}


def test_fewer_than_five_lines_may_be_a_form():
    assert retold(*searches(["\n".join(ENTRIES[:4]), "\n".join(ENTRIES[3::-1])])) == [False, False]
    repeated = "\n".join(ENTRIES[:4] * 2)
    assert retold(*searches([repeated, f"{repeated}\n{ENTRIES[0]}"])) == [False, False]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"path": "docs/all.md"}),
        ("bash", {"command": "search papers"}),
        ("edit_file", {}),
        ("send_keys", {}),
        ("click", {}),
        ("search", {f"text {number}": f"{number}" * 4 for number in range(8)}),
    ],
    ids=["parts of one thing", "a command", "a change", "keys", "an act", "many texts"],
)
def test_other_calls_are_left_alone(tool, arguments):
    assert not any(retold(*searches(ORDERS[:9], tool, **arguments)))


def test_pages_by_their_numbers_alone_are_left_alone():
    assert not any(retold(*[step("search", text, page=n) for n, text in enumerate(ORDERS[:9])]))
    assert not any(retold(*[step("search", text, q=f"p{n}") for n, text in enumerate(ORDERS[:9])]))


def test_a_tool_that_is_declared_to_change_something_is_left_alone():
    run = searches(ORDERS[:3])
    assert not any(retold(*run, policies={"search": ToolPolicy(mutates=True)}))


def test_the_arguments_that_count_are_those_that_are_declared():
    run = searches(ORDERS[:2], path="docs/all.md")
    assert retold(*run, policies={"search": ToolPolicy(key=["q"])}) == [False, True]


def test_a_long_answer_is_not_kept_whole_and_left_alone():
    long = ["\n".join([order, "x" * 7_000]) for order in ORDERS[:3]]
    assert not any(retold(*searches(long)))
    assert retold(*searches(["\n".join(["x" * 5_000, order]) for order in ORDERS[:2]])) == [
        False,
        True,
    ]


def test_the_tool_must_have_been_asked_just_before():
    first, second = searches(ORDERS[:2])
    assert retold(first, step("open", "another page"), second) == [False, False, False]


@pytest.mark.parametrize(("between", "expected"), [(7, True), (8, False)])
def test_a_document_is_remembered_for_eight_rounds(between, expected):
    news = [f"{n} " + f"\n{n} ".join(WORDS) for n in range(between)]
    assert retold(*searches([ORDERS[0], *news, ORDERS[1]]))[-1] is expected


DOCUMENT = st.builds("\n".join, st.lists(st.sampled_from(ENTRIES[:7]), min_size=4, max_size=12))
ROUND = st.lists(
    st.builds(
        lambda tool, q, answer: step(tool, answer, q=q),
        st.sampled_from(["search", "find"]),
        st.sampled_from(WORDS),
        DOCUMENT,
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda made: (made[0].tool_name, made[0].arguments["q"]),
)


@given(st.lists(ROUND, max_size=25), st.data())
def test_a_resumed_run_decides_like_one_without_a_break(run, data):
    detector = LoopDetector.escalating()
    whole, broken = detector.monitor(), detector.monitor()
    cuts = data.draw(st.sets(st.integers(0, 60)))
    parts = [
        (ToolCall(made.tool_name, made.arguments, round=number), text)
        for number, steps in enumerate(run)
        for made, text in steps
    ]
    for place, (made, text) in enumerate(parts):
        if place in cuts:
            snapshot = json.loads(json.dumps(broken.snapshot()))
            broken = detector.monitor()
            broken.restore(snapshot)
        assert broken.after([made], [text]) == whole.after([made], [text])
    assert broken.snapshot() == whole.snapshot()


def test_a_run_that_is_resumed_after_each_call_remembers_documents():
    news = [f"{n} " + f"\n{n} ".join(WORDS) for n in range(7)]
    told, *between, again = searches([ORDERS[0], *news, ORDERS[1]])
    beside = step("look", "a page", at=1)
    # The last round comes in two parts, and the document is as old as may be.
    rounds = [[told], *([each] for each in between), [beside, again], [beside, told]]
    rounds += [[each] for each in searches(ORDERS[:9], kind="paper")]
    calls, results = in_rounds(*rounds)
    detector = LoopDetector.escalating()
    whole, broken = detector.monitor(), detector.monitor()
    for made, text in zip(calls, results):
        snapshot = json.loads(json.dumps(broken.snapshot()))
        broken = detector.monitor()
        broken.restore(snapshot)
        assert broken.after([made], [text]) == whole.after([made], [text])
        marks = [[item.is_retold for item in monitor.window] for monitor in (broken, whole)]
        assert marks[0] == marks[1]
    assert any(marks[0][:10])
    assert any(marks[0][12:])


@given(st.lists(ROUND, max_size=25), st.randoms(use_true_random=False))
def test_the_order_inside_a_round_does_not_matter(run, random):
    def judged(rounds):
        found = verdicts(LoopDetector.escalating(), *rounds)
        return [(each.action, each.suspicion) for each in found]

    assert judged(run) == judged([random.sample(steps, len(steps)) for steps in run])


@given(st.lists(st.text(), max_size=30), st.randoms(use_true_random=False))
def test_the_lines_that_are_chosen_do_not_depend_on_their_order(lines, random):
    chosen = lines_of("\n".join(lines))
    pieces = "\n".join(lines).split("\n")
    assert chosen == lines_of("\n".join(random.sample(pieces, len(pieces))))
    assert len(chosen) in (0, *range(5, 11))
    assert read(written(chosen)) == chosen


def test_texts_are_those_of_more_than_three_characters():
    assert texts_of({"q": "cats", "n": 10_000, "sort": "asc"}) == texts_of({"other": "cats"})
    assert not texts_of({"q": "cat"})
    assert not texts_of(["cats"])


def test_lone_surrogates_are_lines_as_well():
    assert len(lines_of("\n".join("\ud800" * n for n in range(5)))) == 5


def test_documents_take_little_space_in_a_snapshot():
    sizes = []
    for lines in (4, 40):
        monitor = LoopDetector.escalating().monitor()
        for number in range(60):
            page = "\n".join(f"{number} {line}" for line in range(lines))
            monitor.record_call("search", {"q": f"papers {number}", "in": "docs/all.md"}, page)
        sizes.append(len(json.dumps(monitor.snapshot())))
    assert 0 < sizes[1] - sizes[0] < 1_000
