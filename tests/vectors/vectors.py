"""Test vectors: sequences of calls with the verdicts of each preset, for other programs too.

    python tests/vectors/vectors.py    # write the files again, after detection has changed

The sequences come from a generator with fixed seeds, so only the verdicts ever change.
"""

import json
from pathlib import Path
from random import Random

from antiloop import ToolCall, ToolResult
from antiloop.loop_detection._internal import call_fingerprint
from antiloop.loop_detection.presets import PRESETS

FOLDER = Path(__file__).parent
SEEDS = 52
"""Sequences of each family."""
TOOLS = ("search", "read_file", "write_file", "run_tests", "open_page", "job_status", "look")


def call(tool, result, is_error=False, **arguments):
    """Return one call with its result as plain data; None is an unknown result."""
    answer = None if result is None else {"text": result, "is_error": is_error}
    return {"tool_name": tool, "arguments": arguments, "result": answer}


def rounds(*calls):
    """Return a round for each call."""
    return [{"calls": [each]} for each in calls]


def word(random):
    return "".join(random.choice("abcdefghik") for _ in range(6))


def fresh(random, count):
    """Return rounds in which everything is new."""
    made = [(random.choice(TOOLS), word(random)) for _ in range(count)]
    return rounds(*(call(tool, f"{name} holds {name[::-1]}", at=name) for tool, name in made))


def repeats(random):
    tool, name = random.choice(TOOLS), word(random)
    same = call(tool, f"{name} is empty", at=name)
    return [*fresh(random, random.randrange(3)), *rounds(*[same] * random.randint(2, 7))]


def changing_answers(random):
    tool, count = random.choice(TOOLS), random.randint(3, 9)
    return rounds(*(call(tool, f"part {word(random)}", at="a") for _ in range(count)))


def cycles(random):
    lap = [call(tool, f"{tool} says so", at=word(random)) for tool in random.sample(TOOLS, 4)]
    lap = lap[: random.randint(2, 4)]
    laps = rounds(*lap) * random.randint(2, 6)
    return [*fresh(random, random.randrange(3)), *laps[: len(laps) - random.randrange(2)]]


def overlapping_cycles(random):
    calls = [call(tool, "the same", at="a") for tool in random.sample(TOOLS, 3)]
    pattern = random.choice(["001", "01001", "0011", "0120", "00112"])
    return rounds(*(calls[int(at)] for at in pattern * random.randint(3, 9)))


def failures(random):
    tool, count = random.choice(TOOLS), random.randint(3, 9)
    number = random.randint(100, 900)
    told = "Error: no record {}" if random.random() < 0.6 else "Error: {} timed out"
    return rounds(
        *(call(tool, told.format(number + at), True, id=number + at) for at in range(count))
    )


def nothing_found(random):
    count = random.randint(4, 16)
    return rounds(*(call("search", "No results.", query=word(random)) for _ in range(count)))


def waiting(random):
    count, text = random.randint(3, 14), random.choice(["status: running", "pending", "queued"])
    ends = rounds(call("job_status", "done", job=1)) * random.randrange(4)
    return [*rounds(*[call("job_status", text, job=1)] * count), *ends]


def edits_and_tests(random):
    made = []
    for at in range(random.randint(2, 6)):
        text = word(random) if random.random() < 0.6 else "x = 1"
        made.append(call("write_file", "ok", path="a.py", text=text))
        made.append(call("run_tests", f"FAILED test_{at if random.random() < 0.4 else 0}", True))
    return rounds(*made)


def together(random):
    """Several calls in one reply, some of them again and again."""
    same, made = call("look", "nothing here", at="a"), []
    for _ in range(random.randint(2, 7)):
        beside = [call("search", word(random), query=word(random))] * (random.random() < 0.4)
        made.append({"calls": random.sample([same, same, *beside], k=2 + len(beside))})
    return made


def unknown_results(random):
    names = [word(random) for _ in range(random.randint(1, 2))]
    return rounds(*(call("click", None, at=name) for name in names * random.randint(2, 8)))


def missing_tools(random):
    told = "Unknown tool: serch"
    count = random.randint(2, 6)
    return rounds(*(call("serch", told, True, query=word(random)) for _ in range(count)))


def with_a_user(random):
    made = repeats(random)
    made.insert(random.randrange(len(made)), {"user": True})
    return [*made, *repeats(random)]


def with_words(random):
    said = {"said": f"I will {word(random)} now and look again."}
    made = [said] * random.randint(1, 4)
    return [*fresh(random, 1), *made, *repeats(random)]


FAMILIES = (
    *(repeats, changing_answers, cycles, overlapping_cycles, failures, nothing_found, waiting),
    *(edits_and_tests, together, unknown_results, missing_tools, with_a_user, with_words),
)
FINGERPRINTS = (
    *(None, {}, "{}", {"a": 1}, {"a": 1.0}, {"a": True}, {"a": None}, {"b": 1, "a": [1, 2]}),
    *(
        '{"a": 1, "b": [2, 1]}',
        {"a": -0.0},
        {"a": "é"},
        {"a": "\U0001f600"},
        {"a": {"b": {"c": 1}}},
    ),
    *({"a": 1e300}, {"a": 0.1}, {"a": 12345678901234567890}, "not JSON", '"text"', "[1, 2]"),
    *({"": ""}, {"a": ""}, {"a": []}, {"a": {}}, {"a": "\n\t\u2028"}, {"A": 1}, {"a": "1"}),
)


def sequences():
    """Yield the name and the events of each sequence."""
    for family in FAMILIES:
        for seed in range(SEEDS):
            yield f"{family.__name__}-{seed:02}", family(Random(f"{family.__name__} {seed}"))


def verdicts_of(preset, events):
    """Return the event, the action and the detector of each verdict that is more than to go on."""
    monitor, found = PRESETS[preset]().monitor(logs=False), []
    for at, event in enumerate(events):
        if "user" in event:
            monitor.user_message()
            continue
        if "said" in event:
            verdict = monitor.said(event["said"])
        else:
            calls = [ToolCall(each["tool_name"], each["arguments"]) for each in event["calls"]]
            results = [each["result"] and ToolResult(**each["result"]) for each in event["calls"]]
            verdict = monitor.after(calls, results)
        if verdict.detection is not None and verdict.action.value != "continue":
            found.append([at, verdict.action.value, verdict.detection.detector_name])
    return found


def lines():
    """Yield each file with its lines."""
    told = []
    for name, events in sequences():
        verdicts = {each: verdicts_of(each, events) for each in PRESETS}
        told.append({"id": name, "events": events, "verdicts": verdicts})
    for family in FAMILIES:
        own = [each for each in told if each["id"].rpartition("-")[0] == family.__name__]
        yield f"{family.__name__}.jsonl", own
    yield (
        "fingerprints.jsonl",
        [
            {"tool_name": tool, "arguments": each, "fingerprint": call_fingerprint(tool, each)}
            for tool in ("look", "é")
            for each in FINGERPRINTS
        ],
    )


def text_of(listed):
    """Return the text of a file."""
    return "".join(json.dumps(each, ensure_ascii=True) + "\n" for each in listed)


if __name__ == "__main__":
    for file, listed in lines():
        (FOLDER / file).write_text(text_of(listed), encoding="utf-8")
