"""What all laws share: their generated inputs run the same lines many times over."""

import pytest


@pytest.fixture(autouse=True)
def _without_coverage(no_cover):
    """Count no lines, which takes most of the time; other tests run them as well."""
