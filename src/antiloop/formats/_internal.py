"""The names of the formats that other parts of antiloop use; no promise to anyone else."""

from typing import TYPE_CHECKING

from .._lazy import by_name, lazily

if TYPE_CHECKING:
    from ._content import (
        arguments_of,
        field_of,
        filled_field,
        first_field,
        flag_of,
        is_compaction,
        items_of,
        mapping_of,
        optional_text,
        tag_of,
        text_of,
        texts_in,
        thoughts_in,
        time_of,
    )
    from ._growing_history import GrowingHistory, keep_latest
    from ._history import is_made_unique, made_unique, without_thoughts
    from ._history_builder import has_forgotten, timed
    from ._messages import (
        adk,
        agent_framework,
        anthropic,
        gemini,
        langchain,
        openai_responses,
        pydantic_ai,
        strands,
    )
    from ._moment import Moment, moments_of, read_by, step_of, verdict_at, verdicts_of
    from ._spans import observability
    from ._spans.agent_span import AgentSpan
    from ._spans.flat_calls import Row, rows_in
    from ._spans.gen_ai import conversation_of
    from ._spans.observability import FlatCall
    from ._spans.otlp import (
        SpanContent,
        agent_span,
        completed,
        content_of,
        is_same_call,
        like_no_other,
        without_copies,
    )
    from ._spans.span import Span, is_span_document, spans_of
    from ._spans.span_rounds import SpanRounds
    from ._transcripts import openhands
    from ._transcripts.atif import own_steps
    from ._transcripts.claude_transcript import (
        MAIN_AGENT,
        SYNTHETIC,
        AgentsOfLines,
        TranscriptBuilder,
        is_message_line,
        is_of_conversation,
    )
    from ._transcripts.codex import RolloutBuilder, item_of, seconds_of
    from ._transcripts.gemini_session import SessionBuilder

_HOMES = {
    "_content": (
        "arguments_of field_of filled_field first_field flag_of is_compaction items_of mapping_of"
        " optional_text tag_of text_of texts_in thoughts_in time_of"
    ),
    "_growing_history": "GrowingHistory keep_latest",
    "_history_builder": "has_forgotten timed",
    "_messages.adk": "adk",
    "_messages.agent_framework": "agent_framework",
    "_messages.anthropic": "anthropic",
    "_messages.gemini": "gemini",
    "_messages.langchain": "langchain",
    "_messages.openai_responses": "openai_responses",
    "_messages.pydantic_ai": "pydantic_ai",
    "_messages.strands": "strands",
    "_history": "is_made_unique made_unique without_thoughts",
    "_moment": "Moment moments_of read_by step_of verdict_at verdicts_of",
    "_spans.agent_span": "AgentSpan",
    "_spans.flat_calls": "Row rows_in",
    "_spans.gen_ai": "conversation_of",
    "_spans.observability": "FlatCall observability",
    "_spans.otlp": (
        "SpanContent agent_span completed content_of is_same_call like_no_other without_copies"
    ),
    "_spans.span": "Span is_span_document spans_of",
    "_spans.span_rounds": "SpanRounds",
    "_transcripts.atif": "own_steps",
    "_transcripts.claude_transcript": (
        "AgentsOfLines MAIN_AGENT SYNTHETIC TranscriptBuilder is_message_line is_of_conversation"
    ),
    "_transcripts.codex": "RolloutBuilder item_of seconds_of",
    "_transcripts.gemini_session": "SessionBuilder",
    "_transcripts.openhands": "openhands",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES, "."))
