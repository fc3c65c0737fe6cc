"""The page: its files and the data of the runs, put together into one text.

Nothing of a trace is ever parsed as HTML. The data stands in blocks of JSON, which a browser does
not run, and in which every character that could end such a block is escaped; the script puts it on
the page as text. The page's policy allows its own style and script, by their hash, and nothing
else: no request, no form, no script of anybody else.
"""

import json
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from string import Template
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, TextIO, Tuple

from ..loop_detection.text.masking import MaskRule, masking_of
from ..stability import beta
from ..traces import RecordedRun
from .run_data import run_data, summary

if TYPE_CHECKING:
    from ..health import HealthReport

_SCRIPTS = ("drawing.js", "page.js", "moving.js")
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


@beta
def write_page(
    judged: "Iterable[Tuple[RecordedRun, HealthReport]]",
    out: TextIO,
    mask: MaskRule = "secrets",
) -> None:
    """Write runs, each with its health, as one HTML page that needs no other file.

    The runs are written as they come, so memory is that of one run and a line for each of them. The
    same runs make the same bytes, and these are ASCII.

    Args:
        judged: the runs, each with its health.
        out: where to.
        mask: what of arguments and results is shown, as for `LoopDetector`.
    """
    masking = masking_of(mask)
    before, after = _frame()
    out.write(before)
    summaries: List[Dict[str, Any]] = []
    for number, (run, health) in enumerate(judged):
        out.write(_block(f"data-{number}", run_data(run, health, masking)))
        summaries.append(summary(run, health, number))
    # A run that failed may have a good score; the healthy ones still come last.
    summaries.sort(key=lambda one: (one["status"] == "Healthy", one["score"], one["number"]))
    out.write(_block("index", summaries))
    out.write(after)


def _frame() -> Tuple[str, str]:
    """Give the page as it stands before and after the data."""
    style, script = _file("page.css"), "\n".join(map(_file, _SCRIPTS))
    policy = "; ".join(_policy(style, script))
    page = Template(_file("page.html")).substitute(
        policy=policy, style=style, script=script, data="\0"
    )
    before, _, after = page.partition("\0")
    return before, after


def _policy(style: str, script: str) -> Iterator[str]:
    yield "default-src 'none'"
    yield f"style-src '{_hash(style)}'"
    yield f"script-src '{_hash(script)}'"
    yield "base-uri 'none'"
    yield "form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _block(name: str, data: Any) -> str:
    """Write data into the page where a script can read it and a browser runs nothing."""
    text = json.dumps(data, separators=(",", ":")).translate(_ESCAPES)
    return f'<script type="application/json" id="{name}">{text}</script>\n'
