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
from .data.comparison import compare, counts_of, is_listed
from .data.run_data import drawn
from .data.summary import headline, summary
from .markup import html
from .plain_overview import plain_overview
from .plain_run import plain_run

Judged = Iterable[Tuple[RecordedRun, HealthReport]]

_SCRIPTS = (
    *("elements", "run", "texts", "difference", "map", "loops", "timeline"),
    *("overview", "search", "compared", "page", "moving"),
)
_LIVE = "live"
"""The script that a page has beside the others while it is served."""
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

    Memory is that of one run and a line for each run; the runs are in a temporary file meanwhile.
    The same runs make the same bytes, in ASCII.

    Args:
        judged: the runs, each with its health.
        out: the file to write to.
        mask: what to hide of arguments and results, as for `LoopDetector`.
        against: earlier runs; runs with the same id are compared.

    Returns:
        How many runs are ``worse``, ``better``, the ``same``, ``new`` and ``gone``; empty without
        runs to compare with.
    """
    masking = masking_of(mask)
    with TemporaryFile("w+", encoding="ascii", newline="") as blocks:
        summaries = list(_write_runs(judged, blocks, masking, 0))
        if against is not None:
            others = list(_write_runs(against, blocks, masking, len(summaries)))
            summaries = compare(summaries, others)
        # A run that failed may have a good score; the healthy ones still come last.
        summaries.sort(key=lambda one: (one["status"] == "Healthy", one["score"], one["number"]))
        listed = [one for one in summaries if is_listed(one)]
        _, before, after = frame(summaries, plain_overview(listed))
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
        about = summary(run, health, picture, number, masking)
        text = as_json(picture.data)
        blocks.write(f'<script type="application/json" id="data-{number}">{text}</script>\n')
        blocks.write(f'<noscript id="plain-{number}">\n')
        blocks.writelines(plain_run(about, picture))
        blocks.write("</noscript>\n")
        yield about


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
