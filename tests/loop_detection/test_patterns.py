"""How agents loop, and how guards got it wrong: patterns that were met in the wild.

Each row is a run and what the presets must make of it: a loop that must be found, work that must
be left alone, or something between, of which a soft notice is allowed and the end of a run is not.
"""

import pytest
from runs import failed, fresh_answers, step, verdicts

from antiloop import LoopDetector
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER

FOUND, LEFT, SOFT = "found", "left alone", "a notice at most"


def rows(*steps):
    """A run in which each step is a round of its own."""
    return [[each] for each in steps]


def new(count, tool="read", **arguments):
    """Calls that each tell something new."""
    answers = fresh_answers("chapter {}")
    return [step(tool, next(answers), **arguments, page=n) for n in range(count)]


def turns(count, *make):
    """Take turns: each function gives the step of a lap by its number."""
    return [each(number) for number in range(count) for each in make]


def same(tool, result, **arguments):
    return lambda _: step(tool, result, **arguments)


WORDS = "amber birch cedar daisy elder fern grape hazel iris jasmin kale lilac".split()
LS = step("ls", "a b c", path=".")
READ = step("read", "hello there", path="a")
TEST_FAILS = step("test", "2 failed, 5 passed", suite="all")

# run: (rounds, verdict of default(), verdict of escalating())
PATTERNS = {
    "P1 exact repeat, same result": (rows(*[LS] * 4), FOUND, FOUND),
    "P2 exact repeat, chunks of a stream": (
        rows(*(step("output", f"chunk {word}", handle=5) for word in WORDS)),
        LEFT,
        LEFT,
    ),
    "P2 exact repeat, a clock": (
        rows(*(step("date", f"12:00:{n:02}", zone="UTC") for n in range(10))),
        LEFT,
        SOFT,
    ),
    "P3 exact repeat, same error": (
        rows(*[failed("shell", "frob: command not found", command="frob")] * 3),
        FOUND,
        FOUND,
    ),
    "P4 exact repeat, other errors": (
        rows(*(failed("shell", f"{word} is broken", command="frob") for word in WORDS)),
        LEFT,
        FOUND,
    ),
    "P5 same error, other arguments": (
        rows(*(failed("get", "404 page is missing", page=word) for word in WORDS[:6])),
        FOUND,
        FOUND,
    ),
    "P6 nothing but errors": (
        rows(*(failed(f"tool_{word}", f"{word} is broken", about=word) for word in WORDS[:5])),
        LEFT,
        FOUND,
    ),
    "P7 two calls in turn": (rows(*[LS, READ] * 3), FOUND, FOUND),
    "P8 a poll that moves on, with a spacer": (
        rows(*turns(8, lambda n: step("output", f"line {WORDS[n]}", h=5), same("sleep", "", s=1))),
        LEFT,
        LEFT,
    ),
    "P9 a cycle of three": (
        rows(
            *turns(
                3,
                same("read", "hello there", path="a"),
                same("edit", "Error: no such line", line=5),
                same("test", "2 failed, 5 passed", suite="all"),
            )
        ),
        FOUND,
        FOUND,
    ),
    "P10 a cycle that gets better": (
        rows(
            *turns(
                4,
                same("read", "hello there", path="a"),
                lambda n: step("edit", "ok", line=n),
                lambda n: step("test", f"{9 - n} failed, {n} passed", suite="all"),
            )
        ),
        LEFT,
        LEFT,
    ),
    "P11 a failure between other calls": (
        rows(*(each for old in new(3) for each in (TEST_FAILS, old)), TEST_FAILS),
        LEFT,
        FOUND,
    ),
    "P12 the test after each new edit": (
        rows(
            *turns(
                12,
                same("test", "2 failed, 5 passed", suite="all"),
                lambda n: step("edit", "ok", text=f"version {WORDS[n]}"),
            )
        ),
        LEFT,
        LEFT,
    ),
    "P12 the test after the same edit": (
        rows(
            *turns(
                4,
                same("test", "2 failed, 5 passed", suite="all"),
                same("edit", "ok", text="version one"),
            )
        ),
        FOUND,
        FOUND,
    ),
    "P13 one long answer to every question": (
        rows(*(step("grep", "the same old line of text\n" * 20, pattern=word) for word in WORDS)),
        FOUND,
        FOUND,
    ),
    "P14 many calls of one tool": (rows(*new(40)), LEFT, LEFT),
    "P15 a tool that does not exist": (
        rows(*(failed("hex", "Unknown tool: hex", value=word) for word in WORDS[:5])),
        FOUND,
        FOUND,
    ),
    "P16 arguments that never fit": (
        rows(*[failed("book", "missing required argument: day")] * 3),
        FOUND,
        FOUND,
    ),
    "P16 arguments that are no JSON": (
        rows(*[failed("book", "arguments are not valid JSON", text="{")] * 3),
        FOUND,
        FOUND,
    ),
    "P17 a poll without progress": (
        rows(*[step("status", "still running", job=5)] * 13),
        FOUND,
        FOUND,
    ),
    "P17 a short wait": (rows(*[step("status", "still running", job=5)] * 5), LEFT, LEFT),
    "P18 a poll with progress": (
        rows(*(step("status", f"running, {10 * n}% done", job=5) for n in range(11))),
        LEFT,
        LEFT,
    ),
    "P19 a result with noise": (
        rows(*(step("exec", f'{{"out": "no", "execution_count": {n}}}') for n in range(4))),
        FOUND,
        FOUND,
    ),
    "P20 a spill file of its own each time": (
        rows(*(step("read", f"too long, see /tmp/spill-{word}", path="a") for word in WORDS[:4])),
        FOUND,
        FOUND,
    ),
    "P21 a nonce in the arguments": (
        rows(*(step("ask", "Ask the owner, please.", q="why?", request_id=n) for n in range(5))),
        LEFT,
        FOUND,
    ),
    "P22 the same words in another order": (
        rows(
            *(
                step("search", "No results found.", q=q)
                for q in ("cats in rome", "rome cats", "cat of rome", "Rome: cats", "rome, cat")
            )
        ),
        FOUND,
        FOUND,
    ),
    "P23 a command that grows by itself": (
        rows(
            *(step("shell", "frob: command not found", command="frob x; " * n) for n in range(1, 5))
        ),
        FOUND,
        FOUND,
    ),
    "P24 an edit that reads again what it missed": (
        rows(
            *turns(
                3,
                lambda n: step("read", f"now {WORDS[n]}", path="a"),
                lambda n: failed("edit", f"now it is {WORDS[n + 1]}", text=WORDS[n]),
            )
        ),
        LEFT,
        LEFT,
    ),
    "P25 a line edited back and forth": (
        rows(
            *turns(4, same("edit", "ok", old="a", text="b"), same("edit", "ok", old="b", text="a"))
        ),
        FOUND,
        FOUND,
    ),
    "P25 one edit undone": (
        rows(step("edit", "ok", old="a", new="b"), step("edit", "ok", old="b", new="a")),
        LEFT,
        LEFT,
    ),
    "P25 a chain of edits": (
        rows(*(step("edit", "ok", old=one, new=two) for one, two in zip(WORDS, WORDS[1:]))),
        LEFT,
        LEFT,
    ),
    "P26 a tool that always succeeds": (
        rows(*(step("attach", "true", file=word) for word in WORDS)),
        LEFT,
        LEFT,
    ),
    "P27 the edit that landed already": (
        rows(step("edit", "ok", old="a"), *[failed("edit", "old_string not found", old="a")] * 3),
        FOUND,
        FOUND,
    ),
    "P28 the same message again": (
        rows(
            *(
                step("send", f'{{"message_id": "m-{n}{WORDS[n]}"}}', to="ann", text="hi")
                for n in range(3)
            )
        ),
        LEFT,
        FOUND,
    ),
    "P28 messages that differ": (
        rows(*(step("send", "sent", to="ann", text=word) for word in WORDS)),
        LEFT,
        LEFT,
    ),
    "P29 a retry that works": (
        rows(*[failed("http", "503 unavailable", url="u")] * 2, step("http", "welcome", url="u")),
        LEFT,
        LEFT,
    ),
    "P29 a retry storm": (
        rows(*[failed("http", "503 unavailable", url="u")] * 8),
        FOUND,
        FOUND,
    ),
    "P30 equal siblings in one round": ([[LS] * 6], LEFT, LEFT),
    "P31 the same fan-out again": (
        [[LS, READ, TEST_FAILS], [TEST_FAILS, READ, LS], [LS, READ, TEST_FAILS]],
        FOUND,
        FOUND,
    ),
    "P32 a fan-out that grows": ([[LS], [LS, READ], [LS, READ, TEST_FAILS]], FOUND, FOUND),
    "P33 page after page": (
        rows(
            *(step("read", f"words about {word}", offset=100 * n) for n, word in enumerate(WORDS))
        ),
        LEFT,
        LEFT,
    ),
    "P34 the same sweep again and again": (
        rows(*(step("read", f"words about {word}", page=word) for word in WORDS[:9] * 3)),
        FOUND,
        FOUND,
    ),
    "P35 a file read again after each edit": (
        rows(
            *turns(
                6,
                lambda n: step("read", f"now {WORDS[n]}", path="a"),
                lambda n: step("edit", "ok", text=WORDS[n + 1]),
            )
        ),
        LEFT,
        LEFT,
    ),
    "P36 a file read again much later": (
        rows(READ, *new(20), READ),
        LEFT,
        LEFT,
    ),
    "P37 waiting and waiting": (rows(*[step("wait", "", s=1)] * 13), FOUND, FOUND),
    "P38 a refused call again": (
        rows(*[LS] * 2, *[failed("ls", f"{REFUSED_MARKER} not run", path=".")] * 3),
        FOUND,
        FOUND,
    ),
    "P47 a tool that never words it the same": (
        rows(*(step("ask", f"I would say {word}", q="why?") for word in WORDS)),
        LEFT,
        SOFT,
    ),
    "P48 nothing found under one filter after another": (
        rows(*(step("list", "[]", owner=word) for word in WORDS[:4])),
        LEFT,
        SOFT,
    ),
    "P48 falsy results": (rows(*[step("list", [], owner="me")] * 4), FOUND, FOUND),
    "P49 a label that only counts": (
        rows(*(step("exec", "", label=f"noop{n}", command=": nothing") for n in range(6))),
        FOUND,
        FOUND,
    ),
}


def worst(make, rounds):
    """What a preset does at its worst: nothing, a notice, or more."""
    actions = {verdict.action.value for verdict in verdicts(make(), *rounds)}
    if actions == {"continue"}:
        return LEFT
    return SOFT if actions == {"continue", "notify"} else FOUND


def agrees(found, expected):
    """Whether a preset did what it should."""
    if expected == FOUND:
        return found != LEFT
    return found in (LEFT, expected)


@pytest.mark.parametrize("name", PATTERNS)
def test_default_finds_loops_and_leaves_work_alone(name):
    rounds, expected, _ = PATTERNS[name]
    assert agrees(worst(LoopDetector.default, rounds), expected)


@pytest.mark.parametrize("name", PATTERNS)
def test_escalating_finds_loops_and_leaves_work_alone(name):
    rounds, _, expected = PATTERNS[name]
    assert agrees(worst(LoopDetector.escalating, rounds), expected)
