"""The trace of a result or of an error: what happened in a run, step by step."""

from ._trace import AgentTrace, StepType, TraceStep, to_plain

__all__ = ["AgentTrace", "StepType", "TraceStep", "to_plain"]
