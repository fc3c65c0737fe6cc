"""Exports of tools for observability: Langfuse, LangSmith, W&B Weave, Phoenix and MLflow.

Records come in any order, so the whole file is read before the first run is given.
"""

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, List, Tuple

from ...formats._internal import FlatCall, Row, observability, rows_in
from .._recorded_run import RecordedRun
from .._shared.records import OnTrouble, Record
from .._shared.run_under_way import Follow, not_by_record
from .otlp import SpanArchive, runs_in

_LOOK_AHEAD = 100


@dataclass(frozen=True)
class RecordFormat:
    """The records of one tool, as opposed to those of another."""

    is_own: Callable[[Row], bool]
    calls: Callable[[Iterable[Row]], Iterator[FlatCall]]
    """Read its records; one for each."""
    follow: Follow = not_by_record

    def recognizes(self, value: Any) -> bool:
        """Whether a JSON value is a record of this tool, or holds some."""
        return any(map(self.is_own, rows_in(value)[:_LOOK_AHEAD]))

    def read(
        self, found: Iterable[Record], name: str, on_trouble: OnTrouble
    ) -> Iterator[RecordedRun]:
        """Yield one run for each session, or for each trace that belongs to none."""
        kept: List[Tuple[int, Row]] = []
        for record in found:
            own = [(record.line, row) for row in rows_in(record.value) if self.is_own(row)]
            if not own:
                on_trouble(record.line, "")
            kept += own
        archive = SpanArchive()
        for (line, _), (span, call) in zip(kept, self.calls(row for _, row in kept)):
            archive.add(line, span, call)
        yield from runs_in(archive, name, on_trouble)


LANGFUSE = RecordFormat(observability.is_langfuse, observability.langfuse_calls)
LANGSMITH = RecordFormat(observability.is_langsmith, observability.langsmith_calls)
WEAVE = RecordFormat(observability.is_weave, observability.weave_calls)
MLFLOW = RecordFormat(observability.is_mlflow, observability.mlflow_calls)
PHOENIX = RecordFormat(observability.is_phoenix, observability.phoenix_calls)
