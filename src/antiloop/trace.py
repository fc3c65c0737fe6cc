"""The trace of a result or of an error: what happened in a run, step by step."""

# Type checkers list a class from a private module alone, and not each of its fields beside it.
from ._trace import AgentTrace, StepType, TraceStep

__all__ = ["AgentTrace", "StepType", "TraceStep"]
