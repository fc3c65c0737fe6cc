"""The names of the engine that other parts of antiloop use; no promise to anyone else."""

from .._lazy import TYPE_CHECKING, by_name, lazily

if TYPE_CHECKING:
    from ._detection import named_calls as named_calls
    from ._detector import check_detector as check_detector
    from ._evidence.call_features import CallFeatures as CallFeatures
    from ._evidence.compared import Result as Result
    from ._evidence.compared import asked_of as asked_of
    from ._evidence.fingerprint import call_fingerprint as call_fingerprint
    from ._evidence.outcome import REFUSED_MARKER as REFUSED_MARKER
    from ._evidence.plain_answer import contains_any as contains_any
    from ._evidence.plain_answer import is_plain_success as is_plain_success
    from ._evidence.sameness import differ as differ
    from ._evidence.sameness import say_alike as say_alike
    from ._evidence.tool_policy import KeyOption as KeyOption
    from ._evidence.tool_policy import StripRule as StripRule
    from ._evidence.vocabulary import rule_words as rule_words
    from ._messages import NOTICE_MARKER as NOTICE_MARKER
    from ._messages import last_words as last_words
    from ._policy import RANK as RANK
    from ._policy import actions_of as actions_of
    from ._profile_table import PROFILES as PROFILES
    from ._profiles import NO_CLIENT as NO_CLIENT
    from ._project import find_settings as find_settings
    from ._project.environment import DISABLED as DISABLED
    from ._project.environment import SHADOW as SHADOW
    from ._project.environment import is_on as is_on
    from ._project.schema import settings_schema as settings_schema
    from ._project.settings import DETECTING as DETECTING
    from ._project.settings import ProjectSettings as ProjectSettings
    from ._run.listeners import EVENTS as EVENTS
    from ._run.listeners import check_is_sync as check_is_sync
    from ._run.listeners import events_of as events_of
    from ._second_opinion.opinion import opinion_of as opinion_of
    from ._second_opinion.opinion import recorded_opinion as recorded_opinion
    from ._verdict import GO_ON as GO_ON

_HOMES = {
    "_detection": "named_calls",
    "_detector": "check_detector",
    "_evidence.call_features": "CallFeatures",
    "_evidence.compared": "Result asked_of",
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
    "_run.listeners": "EVENTS check_is_sync events_of",
    "_second_opinion.opinion": "opinion_of recorded_opinion",
    "_verdict": "GO_ON",
}

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, by_name(_HOMES, "."))
