"""Answers of a hook in the words that Claude Code began with and others took over."""

from typing import Any, Dict


def denied(reason: str) -> Dict[str, Any]:
    """Refuse the call that the event asks for."""
    return specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


def specific(event: str, **words: Any) -> Dict[str, Any]:
    """Return what is answered to one kind of event."""
    return {"hookSpecificOutput": {"hookEventName": event, **words}}


def ended(reason: str) -> Dict[str, Any]:
    """End the run."""
    return {"continue": False, "stopReason": reason}
