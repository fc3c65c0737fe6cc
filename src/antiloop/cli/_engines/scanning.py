"""Reading and judging recordings, in this process or in others, with the same result."""

import argparse
from contextlib import closing
from functools import partial
from typing import Callable, Generator, Iterable, Iterator, List, Sequence, Tuple, Union

from ...exceptions import TraceUnreadable
from ...health import HealthProfile
from ...loop_detection import ClientProfile
from ...traces import RecordedRun
from ...traces._internal import PIECE, Doubt, Piece, pieces_of, read_piece
from .._judged_run import JudgedRun, judge
from .._named_judge import QuestionCount
from .._output.terminal import complain
from .._recordings import RecordingFile, Recordings
from .parallel import in_order, is_parallel

ReadItem = Union[JudgedRun, TraceUnreadable, str]
"""A judged run, the error that ends a file, or a skipped part of it."""
Part = Tuple[RecordingFile, Piece]
Batch = Sequence[Part]
Judging = Callable[[RecordedRun, HealthProfile], JudgedRun]
"""Judges one run, in whatever process: a function that can be pickled."""


def judged_runs(
    recordings: Recordings,
    profile: HealthProfile,
    args: argparse.Namespace,
    judging: Judging = judge,
) -> Generator[JudgedRun, None, None]:
    """Yield all runs, judged, in the order of the recordings; report what is skipped."""
    found, asked = _by_others if is_parallel(args) else _here, QuestionCount()
    with closing(found(recordings, profile, args, judging)) as parts:
        for file, piece, items in parts:
            if piece.is_first:
                recordings.begin(file)
            for each in items:
                if isinstance(each, JudgedRun):
                    asked += each.asked or QuestionCount()
                    yield each
                    recordings.progress.run_done()
                elif isinstance(each, str):
                    recordings.tell(each, is_doubt=isinstance(each, Doubt))
                else:
                    recordings.give_up(file, each)
    recordings.end()
    if asked.complaint:
        complain(asked.complaint)


def _here(
    recordings: Recordings, profile: HealthProfile, _: argparse.Namespace, judging: Judging
) -> Generator[Tuple[RecordingFile, Piece, Iterable[ReadItem]], None, None]:
    for file in recordings.files:
        piece = Piece(file.path, recordings.source)
        yield file, piece, _judged(piece, profile, judging, recordings.profiles)


def _by_others(
    recordings: Recordings, profile: HealthProfile, args: argparse.Namespace, judging: Judging
) -> Generator[Tuple[RecordingFile, Piece, Iterable[ReadItem]], None, None]:
    tasks = _in_batches(
        (file, piece)
        for file in recordings.files
        for piece in pieces_of(file.path, recordings.source)
    )
    profiles = tuple(recordings.profiles)
    work = partial(judge_batch, profile=profile, judging=judging, profiles=profiles)
    with closing(in_order(work, tasks, args)) as done:
        for batch, results in done:
            for (file, piece), items in zip(batch, results):
                yield file, piece, items


def judge_batch(
    batch: Batch, profile: HealthProfile, judging: Judging, profiles: Sequence[ClientProfile]
) -> List[List[ReadItem]]:
    """Read and judge some pieces, in whatever process this is."""
    return [list(_judged(piece, profile, judging, profiles)) for _, piece in batch]


def _judged(
    piece: Piece, profile: HealthProfile, judging: Judging, profiles: Sequence[ClientProfile]
) -> Iterator[ReadItem]:
    """Yield the runs of a piece, and between them what was skipped, as it comes."""
    trouble: List[ReadItem] = []
    try:
        for run in read_piece(piece, trouble.append, profiles):
            yield from trouble
            trouble.clear()
            yield judging(run, profile)
    except TraceUnreadable as error:
        trouble.append(error)
    yield from trouble


def _in_batches(parts: Iterable[Part]) -> Iterator[Batch]:
    """Group small files, so that sending them to a worker costs less than reading them."""
    batch: List[Part] = []
    for part in parts:
        batch.append(part)
        if sum(piece.size for _, piece in batch) >= PIECE:
            yield batch
            batch = []
    if batch:
        yield batch
