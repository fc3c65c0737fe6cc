"""The names of the formats that other parts of antiloop use; no promise to anyone else."""

from typing import TYPE_CHECKING

from .._lazy import by_name, lazily

if TYPE_CHECKING:
    from ._by_profile import known_by as known_by
    from ._content import arguments_of as arguments_of
    from ._content import field_of as field_of
    from ._content import filled_field as filled_field
    from ._content import flag_of as flag_of
    from ._content import items_of as items_of
    from ._content import optional_text as optional_text
    from ._content import parsed as parsed
    from ._content import tag_of as tag_of
    from ._content import text_of as text_of
    from ._content import texts_in as texts_in
    from ._content import thoughts_in as thoughts_in
    from ._content import time_of as time_of
    from ._history_builder import GrowingHistory as GrowingHistory
    from ._history_builder import has_forgotten as has_forgotten
    from ._history_builder import keep_latest as keep_latest
    from ._history_builder import timed as timed
    from ._messages import adk as adk
    from ._messages import agent_framework as agent_framework
    from ._messages import anthropic as anthropic
    from ._messages import gemini as gemini
    from ._messages import langchain as langchain
    from ._messages import openai_responses as openai_responses
    from ._messages import pydantic_ai as pydantic_ai
    from ._messages import strands as strands
    from ._moment import Moment as Moment
    from ._moment import judged as judged
    from ._moment import moments_of as moments_of
    from ._moment import step_of as step_of
    from ._moment import verdicts_of as verdicts_of
    from ._spans import observability as observability
    from ._spans.agent_span import AgentSpan as AgentSpan
    from ._spans.flat_calls import Row as Row
    from ._spans.flat_calls import rows_in as rows_in
    from ._spans.gen_ai import conversation_of as conversation_of
    from ._spans.observability import FlatCall as FlatCall
    from ._spans.otlp import SpanContent as SpanContent
    from ._spans.otlp import agent_span as agent_span
    from ._spans.otlp import completed as completed
    from ._spans.otlp import content_of as content_of
    from ._spans.otlp import is_same_call as is_same_call
    from ._spans.otlp import like_no_other as like_no_other
    from ._spans.otlp import without_copies as without_copies
    from ._spans.span import Span as Span
    from ._spans.span import is_span_document as is_span_document
    from ._spans.span import spans_of as spans_of
    from ._spans.span_rounds import SpanRounds as SpanRounds
    from ._text_message import without_thoughts as without_thoughts
    from ._transcripts import openhands as openhands
    from ._transcripts.atif import own_steps as own_steps
    from ._transcripts.claude_transcript import MAIN_AGENT as MAIN_AGENT
    from ._transcripts.claude_transcript import SYNTHETIC as SYNTHETIC
    from ._transcripts.claude_transcript import AgentsOfLines as AgentsOfLines
    from ._transcripts.claude_transcript import TranscriptBuilder as TranscriptBuilder
    from ._transcripts.claude_transcript import is_message_line as is_message_line
    from ._transcripts.codex import RolloutBuilder as RolloutBuilder
    from ._transcripts.codex import item_of as item_of
    from ._transcripts.codex import seconds_of as seconds_of
    from ._transcripts.gemini_session import SessionBuilder as SessionBuilder
    from ._unrecorded import made_unique as made_unique

_HOMES = {
    "_by_profile": "known_by",
    "_content": (
        "arguments_of field_of filled_field flag_of items_of optional_text"
        " parsed tag_of text_of texts_in thoughts_in time_of"
    ),
    "_history_builder": "GrowingHistory has_forgotten keep_latest timed",
    "_messages.adk": "adk",
    "_messages.agent_framework": "agent_framework",
    "_messages.anthropic": "anthropic",
    "_messages.gemini": "gemini",
    "_messages.langchain": "langchain",
    "_messages.openai_responses": "openai_responses",
    "_messages.pydantic_ai": "pydantic_ai",
    "_messages.strands": "strands",
    "_moment": "Moment judged moments_of step_of verdicts_of",
    "_spans.agent_span": "AgentSpan",
    "_spans.flat_calls": "Row rows_in",
    "_spans.gen_ai": "conversation_of",
    "_spans.observability": "FlatCall observability",
    "_spans.otlp": (
        "SpanContent agent_span completed content_of is_same_call like_no_other without_copies"
    ),
    "_spans.span": "Span is_span_document spans_of",
    "_spans.span_rounds": "SpanRounds",
    "_text_message": "without_thoughts",
    "_transcripts.atif": "own_steps",
    "_transcripts.claude_transcript": (
        "AgentsOfLines MAIN_AGENT SYNTHETIC TranscriptBuilder is_message_line"
    ),
    "_transcripts.codex": "RolloutBuilder item_of seconds_of",
    "_transcripts.gemini_session": "SessionBuilder",
    "_transcripts.openhands": "openhands",
    "_unrecorded": "made_unique",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES, "."))
