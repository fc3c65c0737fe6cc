"""A few damaged inputs of each format; fuzz_readers.py tries any number of them."""

import pytest
from fuzz_readers import FUNCTIONS, OF_FORMAT, fuzz

from antiloop.traces import FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_recordings_are_read_or_refused_and_whatever_is_read_can_be_used(name):
    assert fuzz(name, 0, 40, seed=1, thorough=20) == []


def test_each_function_is_fuzzed_with_its_own_format():
    own = {OF_FORMAT.get(name, f"from_{name.replace('-', '_')}") for name in FORMATS}
    # Agent Framework records no sessions; its function gets what is damaged of other formats.
    without_recordings = {"from_agent_framework"}
    assert FUNCTIONS.keys() - without_recordings <= own
