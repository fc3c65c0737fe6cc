"""Each client's page shows its profile as it is."""

import pytest
from profile_pages import FOLDER, PAGES, section


@pytest.mark.parametrize("name", PAGES)
def test_the_page_of_a_client_shows_its_profile(name):
    assert section(name) in (FOLDER / PAGES[name]).read_text("utf-8")
