"""The page: its files and the data of the runs, put together into one text.

Nothing of a recording is ever parsed as HTML that it could shape: texts are escaped by `markup`,
and the data is in blocks of JSON, which a browser does not run, and in which every character
that could end such a block is escaped. The page's policy allows its own style and script, by their
hash, and nothing else: no request, no form, no script of anybody else.
"""

import json
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from string import Template
from tempfile import TemporaryFile
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Set,
    TextIO,
    Tuple,
    Union,
)

from .._short_repr import counted, short_repr
from .._text.markup import html
from .._text.masking import MaskRule, masking_of
from ..health import HealthReport, HealthStatus
from ..stability import beta
from ..traces import RecordedRun
from ._data.run_data import RUN_BUDGET, drawn
from ._data.summary import compare, counts_of, headline, is_listed, summary
from ._plain import plain_overview, plain_run

Only = str
"""The runs that keep their texts: ``stuck``, ``warning`` or ``all``."""
_STUCK = {HealthStatus.LIKELY_STUCK, HealthStatus.FAILED}
_KEPT = {"stuck": _STUCK, "warning": {*_STUCK, HealthStatus.WARNING}}
SHORT_BUDGET = 20_000
"""Characters of the texts of one run where only troubled runs keep theirs."""

_SCRIPTS = (
    *("elements", "moments", "run", "texts", "difference", "map", "loops", "timeline", "marks"),
    *("overview", "filters", "address", "search", "compared", "page", "moving"),
)
_LIVE = "live"
"""The script that a page has beside the others while it is served."""
_STYLES = ("base", "overview", "run", "steps", "print")
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@beta
class DrawnPart(NamedTuple):
    """Hold what a page shows of one run; plain texts, which another process can draw."""

    about: Dict[str, Any]
    """Its line of the overview."""
    data: str = ""
    """Its steps, loops and rules as JSON; empty for a run of which only the line is kept."""
    plain: str = ""
    """The run as plain HTML, with its texts."""

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self.data), "character"))


@beta
def draw_run(
    run: RecordedRun, health: HealthReport, mask: MaskRule = "secrets", *, only: Only = "all"
) -> DrawnPart:
    """Draw a run for `write_page`, in whatever process.

    Args:
        run: the run.
        health: its health.
        mask: what to hide of arguments and results, as for `LoopDetector`.
        only: which runs keep their texts: ``all``; ``warning`` for those with a warning or worse,
            or ``stuck``. Other runs keep their line. Without ``all`` texts are kept shorter.
    """
    masking = masking_of(mask)
    has_texts = only == "all" or health.status in _KEPT[only]
    budget = RUN_BUDGET if only == "all" else SHORT_BUDGET
    picture = drawn(run, health, masking, budget=budget, has_texts=has_texts)
    about = summary(run, health, picture, 0, masking)
    if not has_texts:
        return DrawnPart(about)
    return DrawnPart(about, as_json(picture.data), "".join(plain_run(about, picture)))


@beta
def write_page(
    judged: Iterable[Union[DrawnPart, Tuple[RecordedRun, HealthReport]]],
    out: TextIO,
    mask: MaskRule = "secrets",
    *,
    against: Optional[Iterable[Union[DrawnPart, Tuple[RecordedRun, HealthReport]]]] = None,
    room: Optional[int] = None,
) -> Dict[str, int]:
    """Write runs, each with its health, as one HTML page that needs no other file.

    Memory is that of one run and a line for each run; the runs are in a temporary file meanwhile.
    The same runs make the same bytes, in ASCII.

    Args:
        judged: the runs, each with its health, or drawn by `draw_run`.
        out: the file to write to.
        mask: what to hide of arguments and results, as for `LoopDetector`.
        against: earlier runs; runs with the same id are compared.
        room: bytes of all texts together; where there are more, the worst runs keep theirs.

    Returns:
        The numbers of runs that are ``worse``, ``better``, the ``same``, ``new`` and ``gone``;
        empty without runs to compare with.
    """
    with TemporaryFile("w+", encoding="ascii", newline="") as file:
        blocks = _Blocks(file)
        summaries = list(blocks.take(_drawn(judged, mask)))
        if against is not None:
            summaries = compare(summaries, list(blocks.take(_drawn(against, mask))))
        summaries.sort(key=_by_trouble)
        blocks.keep_within(room, summaries)
        listed = [one for one in summaries if is_listed(one)]
        _, before, after = frame(summaries, plain_overview(listed))
        out.write(before)
        blocks.copy_to(out)
        out.write(after)
    return counts_of(summaries)


def _by_trouble(one: Dict[str, Any]) -> Tuple[Any, ...]:
    # A run that failed may have a good score; the healthy ones still come last.
    return one["status"] == "Healthy", one["score"], -one["wasted_calls"], one["number"]


def _drawn(
    judged: Iterable[Union[DrawnPart, Tuple[RecordedRun, HealthReport]]], mask: MaskRule
) -> Iterator[DrawnPart]:
    for each in judged:
        yield each if isinstance(each, DrawnPart) else draw_run(*each, mask)


class _Blocks:
    """The texts of the runs, in a file until it is known which of them the page keeps."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._sizes: List[int] = []
        self._dropped: Set[int] = set()

    def take(self, parts: Iterable[DrawnPart]) -> Iterator[Dict[str, Any]]:
        """Write each run, and yield its line of the overview."""
        for about, data, plain in parts:
            number = len(self._sizes)
            block = _block(number, data, plain) if data else ""
            self._file.write(block)
            self._sizes.append(len(block))
            yield {**about, "number": number}

    def keep_within(self, room: Optional[int], summaries: List[Dict[str, Any]]) -> None:
        """Drop the texts of the least troubled runs where there is no room for all."""
        for one in summaries if room is not None else ():
            size = self._sizes[one["number"]]
            if size > room:
                self._dropped.add(one["number"])
                one["has_text"] = False
            else:
                room -= size

    def copy_to(self, out: TextIO) -> None:
        """Write the texts that are kept, in the order of the runs."""
        self._file.seek(0)
        for number, size in enumerate(self._sizes):
            block = self._file.read(size)
            if number not in self._dropped:
                out.write(block)


def _block(number: int, data: str, plain: str) -> str:
    named = plain.replace('id="plain-run-0"', f'id="plain-run-{number}"', 1)
    return (
        f'<script type="application/json" id="data-{number}">{data}</script>\n'
        f'<noscript id="plain-{number}">\n{named}</noscript>\n'
    )


def as_json(value: Any) -> str:
    """Write data as JSON for a block of the page."""
    return json.dumps(value, separators=(",", ":")).translate(_ESCAPES)


def frame(
    index: List[Dict[str, Any]], plain: Iterable[str], *, is_live: bool = False
) -> Tuple[str, str, str]:
    """Return the policy of the page, and the parts of the page before and after the data.

    Args:
        index: the rows of the overview.
        plain: the overview for browsers that run no scripts.
        is_live: whether the page is served, and asks for what is new.
    """
    style, script, template = _resources(is_live)
    policy = "; ".join(_policy(style, script, is_live))
    page = Template(template).substitute(
        policy=policy,
        style=style,
        script=script,
        name="watch" if is_live else "report",
        headline=html(headline(index)),
        live=' data-live=""' if is_live else "",
        plain="".join(plain),
        index=as_json(index),
        data="\0",
    )
    before, _, after = page.partition("\0")
    return policy, before, after


@lru_cache(maxsize=2)
def _resources(is_live: bool) -> Tuple[str, str, str]:
    """Read style, script and frame of the page."""
    style = "\n".join(_file(f"styles/{name}.css") for name in _STYLES)
    scripts = (_SCRIPTS[0], _LIVE, *_SCRIPTS[1:]) if is_live else _SCRIPTS
    script = "\n".join(_file(f"scripts/{name}.js") for name in scripts)
    return style, script, _file("page.html")


def _policy(style: str, script: str, is_live: bool) -> Iterator[str]:
    yield "default-src 'none'"
    if is_live:
        yield "connect-src 'self'"
    yield f"style-src '{_hash(style)}'"
    yield f"script-src '{_hash(script)}'"
    yield "base-uri 'none'"
    yield "form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _file(name: str) -> str:
    file = resources.files(__package__)
    for part in name.split("/"):
        file = file / part
    return file.read_text(encoding="utf-8")
