"""The page: its files and the data of the runs, put together into one text.

Nothing of a recording is ever parsed as HTML that it could shape: texts are escaped by `markup`,
and the data is in blocks of JSON, which a browser does not run, and in which every character
that could end such a block is escaped. The page's policy allows its own style and script, by their
hash, and nothing else: no request, no form, no script of anybody else.
"""

import json
import shutil
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from string import Template
from tempfile import TemporaryFile
from typing import Any, Dict, Iterable, Iterator, List, Optional, TextIO, Tuple

from ..health import HealthReport
from ..loop_detection.text.masking import Masking, MaskRule, masking_of
from ..stability import beta
from ..traces import RecordedRun
from .comparison import compare, counts_of, is_listed
from .plain_overview import plain_overview
from .plain_run import plain_run
from .run_data import drawn
from .summary import summary

Judged = Iterable[Tuple[RecordedRun, HealthReport]]

_SCRIPTS = (
    *("elements", "run", "texts", "difference", "map", "loops", "timeline"),
    *("overview", "search", "compared", "page", "moving"),
)
_STYLES = ("base", "overview", "run", "steps", "print")
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@beta
def write_page(
    judged: Judged,
    out: TextIO,
    mask: MaskRule = "secrets",
    *,
    against: Optional[Judged] = None,
) -> Dict[str, int]:
    """Write runs, each with its health, as one HTML page that needs no other file.

    Memory is that of one run and a line for each of them; the runs wait in a temporary file. The
    same runs make the same bytes, and these are ASCII.

    Args:
        judged: the runs, each with its health.
        out: where to.
        mask: what of arguments and results is shown, as for `LoopDetector`.
        against: other runs, to which those with the same id are compared.

    Returns:
        How many runs are ``worse``, ``better``, the ``same``, ``new`` and ``gone``; empty where
        there is nothing to compare with.
    """
    masking = masking_of(mask)
    with TemporaryFile("w+", encoding="ascii", newline="") as blocks:
        summaries = list(_write_runs(judged, blocks, masking, 0))
        if against is not None:
            others = list(_write_runs(against, blocks, masking, len(summaries)))
            summaries = compare(summaries, others)
        # A run that failed may have a good score; the healthy ones still come last.
        summaries.sort(key=lambda one: (one["status"] == "Healthy", one["score"], one["number"]))
        before, after = _frame(summaries)
        out.write(before)
        blocks.seek(0)
        shutil.copyfileobj(blocks, out)
        out.write(after)
    return counts_of(summaries)


def _write_runs(
    judged: Judged, blocks: TextIO, masking: Masking, first: int
) -> Iterator[Dict[str, Any]]:
    """Write each run, and yield its line of the overview."""
    for number, (run, health) in enumerate(judged, first):
        picture = drawn(run, health, masking)
        about = summary(run, health, picture, number)
        text = json.dumps(picture.data, separators=(",", ":")).translate(_ESCAPES)
        blocks.write(f'<script type="application/json" id="data-{number}">{text}</script>\n')
        blocks.write(f'<noscript id="plain-{number}">\n')
        blocks.writelines(plain_run(about, picture))
        blocks.write("</noscript>\n")
        yield about


def _frame(summaries: List[Dict[str, Any]]) -> Tuple[str, str]:
    """Return the parts of the page before and after the data."""
    style, script, template = _resources()
    page = Template(template).substitute(
        policy="; ".join(_policy(style, script)),
        style=style,
        script=script,
        plain="".join(plain_overview([one for one in summaries if is_listed(one)])),
        index=json.dumps(summaries, separators=(",", ":")).translate(_ESCAPES),
        data="\0",
    )
    before, _, after = page.partition("\0")
    return before, after


@lru_cache(maxsize=1)
def _resources() -> Tuple[str, str, str]:
    """Read style, script and frame of the page."""
    style = "\n".join(_file(f"styles/{name}.css") for name in _STYLES)
    script = "\n".join(_file(f"scripts/{name}.js") for name in _SCRIPTS)
    return style, script, _file("page.html")


def _policy(style: str, script: str) -> Iterator[str]:
    yield "default-src 'none'"
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
