"""Texts in which much repeats and nobody is stuck."""

import base64
import json


def lines(*each, times=1):
    """Return lines of text, all of them several times."""
    return "\n".join(each * times) + "\n"


HEALTHY = {
    "prose": "The parser reads a line, and then the next. It stops at the first one that fails. "
    * 3,
    "a poem with an anaphora": lines(
        *(
            f"And the night was {word}, and the sea was {word},"
            for word in "dark cold still".split()
        )
    ),
    "a villanelle": lines(
        *("Do not go gentle into that good night,", "Rage, rage against the dying of the light.")
    )
    + lines(
        "Though wise men at their end know dark is right,", "Do not go gentle into that night."
    ),
    "a song with a refrain": "".join(
        f"Verse {n}: {'la ' * n}down the road I go, mile {n}.\n"
        + lines(
            "We all live in a yellow submarine,", "yellow submarine, yellow submarine.", times=2
        )
        for n in range(6)
    ),
    "a refrain that fades out": lines("And so we sing along, the whole night long.", times=5),
    "a song that counts down": "".join(
        f"{n} green bottles hanging on the wall,\n{n} green bottles hanging on the wall,\n"
        f"and if one green bottle should accidentally fall,\n"
        for n in range(20, 0, -1)
    ),
    "laughter": "Ha ha ha ha ha ha ha ha! That is a good one. " + "ha " * 60,
    "a mantra": "Om mani padme hum. " * 12,
    "lines as a punishment": lines("I will not talk in class.", times=12),
    "a log with times": lines(
        *(f"2024-05-01 12:{n // 60:02}:{n % 60:02} INFO worker heartbeat sent" for n in range(200))
    ),
    "a log of one event": lines(
        "[info] connection reset by peer, retrying in 5 seconds", times=200
    ),
    "a log with dots": lines("> waiting for the server to come up", times=100),
    "a table of zeros": lines(" ".join(["0"] * 20), times=60),
    "a table of numbers and words": lines("| zero | zero | zero | zero | zero |", times=60),
    "a table in columns": lines("east      none      none      none      none", times=80),
    "a matrix of floats": lines("0.000 0.000 0.000 0.000 0.000", times=80),
    "a matrix of nan": "[" + lines(" [nan nan nan nan nan nan nan]", times=60) + "]",
    "a CSV": "name,city,country\n" + lines("unknown,unknown,unknown", times=120),
    "test output": lines(*(f"test_case_{n} (tests.TestParser) ... ok" for n in range(150))),
    "pytest's dots": lines("." * 72, times=30),
    "passed and passed": lines("    --- PASS: TestServer/with_a_long_name (0.00s)", times=100),
    "code in a fence": "```python\n" + lines("result = compute(result)", times=80) + "```\n",
    "code of words in a fence": "~~~\n" + lines("print hello to all of you", times=80) + "~~~\n",
    "code that is indented": lines("    move forward and turn left and go on", times=80),
    "code without a fence": lines("x = move(x); y = turn(y, x)", times=80),
    "a list": lines("- nothing to be done here by anybody", times=60),
    "a numbered list": lines(*(f"{n}. look at the next file in the folder" for n in range(1, 90))),
    "a list with stars": lines("* nothing to be done here by anybody", times=60),
    "a checklist": lines("- [ ] not yet looked at by anybody", times=60),
    "headings": lines("# Nothing to be said about this part", times=60),
    "quotes": lines("> she said and said and said again that", times=60),
    "markdown rules": lines("---", "", times=200),
    "a long rule of dashes": "-" * 4_000,
    "rules of other marks": lines("=" * 80, "*" * 80, "_" * 80, "~" * 80, times=20),
    "base64": base64.b64encode(bytes(3_000)).decode(),
    "base64 in lines": lines(
        "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB", times=60
    ),
    "a hex dump": lines(
        *(f"{n:08x}  00 00 00 00 00 00 00 00  00 00 00 00 |........|" for n in range(0, 999, 16))
    ),
    "bytes in hex": "ff " * 120,
    "JSON": json.dumps([{"name": "unknown user", "state": "not seen by us"}] * 100),
    "JSON over lines": json.dumps([{"name": "unknown user", "is": "not seen"}] * 100, indent=2),
    "XML": lines("<item><name>unknown user of ours</name></item>", times=80),
    "a stack of equal frames": lines(
        '  File "a.py", line 3, in walk', "    return walk(node.next)", times=80
    ),
    "a diff": lines("-the old line of the text", "+the new line of the text", times=50),
    "blank lines": "\n" * 5_000,
    "spaces": " " * 5_000,
    "an address": "https://example.org/" + "a/" * 400,
    "a recipe": lines(
        *(f"Stir for {n} minutes. Add a pinch of salt. Let it rest." for n in range(2, 40))
    ),
    "a dialog": lines(
        *(f'"Are we there yet?" he asked. "No," I said, "{n} miles."' for n in range(60, 30, -1))
    ),
    "nothing": "",
}
"""By what they are."""
