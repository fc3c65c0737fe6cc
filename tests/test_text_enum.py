"""Choices that are texts."""

import pickle

import pytest

from antiloop import StepType
from antiloop.agent import RunStatus
from antiloop.health import HealthStatus
from antiloop.loop_detection import LoopAction, LoopSeverity
from antiloop.types import Role

PUBLIC = (HealthStatus, LoopAction, LoopSeverity, Role, RunStatus, StepType)
MEMBERS = [member for choices in PUBLIC for member in choices]


@pytest.mark.parametrize("member", MEMBERS)
def test_a_choice_is_its_text_wherever_text_is_put_together(member):
    assert f"{member}" == "{}".format(member) == "%s" % member.value == member  # noqa: UP031, UP032
    assert f"{member:>20}|" == f"{member.value:>20}|"


@pytest.mark.parametrize("member", MEMBERS)
def test_a_choice_is_found_by_its_text_and_comes_back_as_itself(member):
    assert {member: 1}[member.value] == 1
    assert type(member)(member.value) is pickle.loads(pickle.dumps(member)) is member
