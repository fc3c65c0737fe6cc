"""Damaged recordings that are followed while they grow, and explained."""

import contextlib
import json
import random

import pytest
from mutation import Corpus, damaged_file

from antiloop import LoopDetector
from antiloop.cli._output.explanation_output import as_json, as_text
from antiloop.exceptions import TraceUnreadable
from antiloop.explanation import explain
from antiloop.traces import FORMATS, read_runs
from antiloop.traces._live.live_lines import LiveFile, LiveLines

CORPORA = {name: Corpus(name) for name in FORMATS}
DETECTOR = LoopDetector.escalating()


@pytest.fixture(params=FORMATS)
def damaged(request):
    """Return damaged files of one format, each with the source of chance that made it."""
    chances = [random.Random(f"{request.param} {number}") for number in range(20)]
    return [
        (chance, damaged_file(CORPORA[request.param], chance, list(CORPORA.values())))
        for chance in chances
    ]


def test_a_damaged_recording_is_followed_or_refused(damaged, tmp_path):
    for number, (chance, data) in enumerate(damaged):
        path = tmp_path / str(number)
        cut = chance.randint(0, len(data))
        file = LiveFile(str(path), lambda name: LiveLines(name, DETECTOR, None, str))
        with contextlib.suppress(TraceUnreadable):
            for part in (data[:cut], data[cut:]):
                with path.open("ab") as whole:
                    whole.write(part)
                for run, step, verdict in file.new_verdicts():
                    assert 0 <= step < getattr(run, "forgotten", 0) + len(run.build(0))
                    assert verdict.detection is not None
        file.close()


def test_whatever_is_read_of_a_damaged_recording_can_be_explained(damaged, tmp_path):
    path = tmp_path / "damaged"
    for _, data in damaged:
        path.write_bytes(data)
        with contextlib.suppress(TraceUnreadable):
            for run in filter(len, read_runs(str(path), on_trouble=str)):
                told = explain(run, DETECTOR)
                assert as_text(run, told).replace("\n", "").isprintable()
                json.dumps(as_json(run, told), allow_nan=False)
