"""Recorded runs, damaged in every way that keeps some of their structure."""

import contextlib
import gzip
import json
import random
import re
from pathlib import Path
from typing import Any, Callable, Iterator, List, Sequence, Tuple

from antiloop.traces._files.source import open_lines
from antiloop.traces._shared.records import records

FIXTURES = Path(__file__).parents[1] / "traces" / "fixtures"
DEEP, LONG = "(deep)", "(long)"
JUNK: Tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, 10**30, -(10**400), 1e308, -0.0),
    *(float("nan"), float("inf"), float("-inf"), DEEP, LONG),
    *("", " ", "text", "null", "{}", '{"a": [', "1e999", "9" * 5000, "\ud800", "\0\x1b[2J"),
    *("<returncode>" + "9" * 5000 + "</returncode>", "2024-01-01T00:00:00Z", "0001-01-01T00:00"),
    *([], {}, [None], [[{}]], {"a": 1}, [{"type": "text"}], {"type": []}, {"": {"": ""}}),
)
_PLACEHOLDER = re.compile(rf'"({re.escape(DEEP)}|{re.escape(LONG)})"')

Place = Tuple[Any, Any]


class Corpus:
    """The fixtures of one format, and all that is known to stand in them."""

    def __init__(self, name: str) -> None:
        self.name = name
        folder = FIXTURES / name
        self._texts = [json.dumps(values_of(path)) for path in sorted(folder.iterdir())]
        places = [place for values in self.all() for place in places_in(values)]
        self.keys = sorted({key for _, key in places if isinstance(key, str)})
        self.values = [json.dumps(holder[key]) for holder, key in places]

    def all(self) -> Iterator[List[Any]]:
        """Yield the values of each fixture, to be changed at will."""
        return map(json.loads, self._texts)

    def one(self, chance: random.Random) -> List[Any]:
        """Return the values of one fixture, to be changed at will."""
        values: List[Any] = json.loads(chance.choice(self._texts))
        return values


def values_of(path: Path) -> List[Any]:
    """Return the values that stand in a file."""
    with open_lines(str(path)) as (_, lines):
        return [found.value for found in records(lines)]


def places_in(value: Any) -> Iterator[Place]:
    """Yield each container in a JSON value with each of its keys or indices."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])


def damaged_values(corpus: Corpus, chance: random.Random, foreign: Sequence[Corpus]) -> List[Any]:
    """Return the values of a fixture with a few changes, anywhere in them."""
    values = corpus.one(chance)
    if chance.random() < 0.2:
        values += chance.choice(foreign).one(chance)
    places = list(places_in(values))
    for _ in range(chance.choice((1, 1, 2, 3, 5, 20))):
        with contextlib.suppress(LookupError):  # an earlier change may have moved the place
            chance.choice(_CHANGES)(chance.choice(places), places, corpus, chance)
    return values


def damaged_file(corpus: Corpus, chance: random.Random, foreign: Sequence[Corpus]) -> bytes:
    """Return a file with damaged values, one a line or otherwise, itself damaged now and then."""
    values = damaged_values(corpus, chance, foreign)
    indent = chance.choice((None, None, None, 1))
    listed = values[0] if len(values) == 1 else values
    lines = [json.dumps(listed, indent=indent)] if chance.random() < 0.2 else None
    lines = lines or [json.dumps(value, indent=indent) for value in values]
    text = _PLACEHOLDER.sub(lambda found: _written(found[1], chance), "\n".join(lines))
    data = text.encode(chance.choice(("utf-8",) * 20 + ("utf-16", "utf-8-sig")))
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        data = chance.choice(_BYTE_CHANGES)(data, chance)
    return data


def _written(placeholder: str, chance: random.Random) -> str:
    if placeholder == LONG:
        return "9" * chance.choice((400, 4299, 5000))
    depth = chance.choice((70, 300, 900, 5000, 100_000))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}"), ('{"values":[', "]}")))
    return opening * depth + "1" + closing * depth


def _replace(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    place[0][place[1]] = json.loads(json.dumps(chance.choice(JUNK)))


def _put_known(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    place[0][place[1]] = json.loads(chance.choice(corpus.values))


def _swap(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    (one, key), (other, name) = place, chance.choice(places)
    one[key], other[name] = json.loads(json.dumps([other[name], one[key]]))


def _delete(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    del place[0][place[1]]


def _rename(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    if isinstance(place[0], dict):
        place[0][chance.choice(corpus.keys)] = place[0].pop(place[1])


def _repeat(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    if isinstance(place[0], list):
        copied = json.loads(json.dumps(place[0][place[1]]))
        place[0].insert(chance.randint(0, len(place[0])), copied)


def _shuffle(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    if isinstance(place[0], list):
        chance.shuffle(place[0])


def _wrap(place: Place, places: List[Place], corpus: Corpus, chance: random.Random) -> None:
    value = place[0][place[1]]
    wrapped = ([value], {chance.choice(corpus.keys): value}, json.dumps(value), [value, value])
    place[0][place[1]] = json.loads(json.dumps(chance.choice(wrapped)))


_CHANGES: Tuple[Callable[[Place, List[Place], Corpus, random.Random], None], ...] = (
    *(_replace, _replace, _replace, _put_known, _swap),
    *(_delete, _rename, _repeat, _shuffle, _wrap),
)


def _flip(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data) + 1)
    return data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _cut_out(data: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(data))
    return data[:start] + data[start + chance.randint(0, 200) :]


def _insert(data: bytes, chance: random.Random) -> bytes:
    place = chance.randint(0, len(data))
    junk = chance.choice((b"\n", b"\r", b"\xff\xfe", b"\0", b"\xed\xa0\x80", b'"', b"}", b"]\n["))
    return data[:place] + junk + data[place:]


def _pack(data: bytes, chance: random.Random) -> bytes:
    return gzip.compress(data, 1)


_BYTE_CHANGES: Tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _cut, _cut_out, _insert, _pack),
)
