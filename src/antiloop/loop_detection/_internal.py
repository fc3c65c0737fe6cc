"""The names of the engine that other parts of antiloop use; no promise to anyone else."""

from .._lazy import TYPE_CHECKING, by_name, lazily

if TYPE_CHECKING:
    from ._detection import named_calls
    from ._detector import check_detector
    from ._evidence.answered import Result
    from ._evidence.asked import asked_of
    from ._evidence.call_features import CallFeatures
    from ._evidence.fingerprint import call_fingerprint
    from ._evidence.outcome import REFUSED_MARKER
    from ._evidence.plain_answer import contains_any, is_plain_success
    from ._evidence.sameness import differ, say_alike
    from ._evidence.tool_policy import KeyOption, StripRule
    from ._evidence.vocabulary import rule_words
    from ._messages import NOTICE_MARKER, last_words
    from ._policy import RANK, actions_of
    from ._profile_table import PROFILES
    from ._profiles import NO_CLIENT
    from ._project import find_settings
    from ._project.environment import DISABLED, SHADOW, is_on
    from ._project.schema import settings_schema
    from ._project.settings import DETECTING, ProjectSettings
    from ._run.listeners import EVENTS, check_is_sync, events_of, tell_each
    from ._second_opinion.opinion import opinion_of, recorded_opinion
    from ._verdict import GO_ON

_HOMES = {
    "_detection": "named_calls",
    "_detector": "check_detector",
    "_evidence.call_features": "CallFeatures",
    "_evidence.answered": "Result",
    "_evidence.asked": "asked_of",
    "_evidence.fingerprint": "call_fingerprint",
    "_evidence.outcome": "REFUSED_MARKER",
    "_evidence.plain_answer": "contains_any is_plain_success",
    "_evidence.sameness": "differ say_alike",
    "_evidence.tool_policy": "KeyOption StripRule",
    "_evidence.vocabulary": "rule_words",
    "_messages": "NOTICE_MARKER last_words",
    "_policy": "RANK actions_of",
    "_profile_table": "PROFILES",
    "_profiles": "NO_CLIENT",
    "_project": "find_settings",
    "_project.environment": "DISABLED SHADOW is_on",
    "_project.schema": "settings_schema",
    "_project.settings": "DETECTING ProjectSettings",
    "_run.listeners": "EVENTS check_is_sync events_of tell_each",
    "_second_opinion.opinion": "opinion_of recorded_opinion",
    "_verdict": "GO_ON",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES, "."))
