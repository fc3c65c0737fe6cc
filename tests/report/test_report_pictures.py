"""The pictures in the documentation show the page as it is.

Pictures are compared after they were made so small that single letters vanish: other fonts make no
difference, a part of the page that is missing or has moved does.
"""

from base64 import b64encode

import pytest
from screenshot import IMAGES, LIVE, PICTURES, ROOT, picture_of, served_examples, write_examples

CELL = 16  # pixels of the page that become one
# Share of the cells that may differ by more than this many parts of 255. Other fonts reach half.
ALLOWED = {16: 0.05, 64: 0.003}
COMPARE = """async ([one, other, cell]) => {
  const cells = async (data) => {
    const picture = await createImageBitmap(await (await fetch(data)).blob());
    const [width, height] = [picture.width, picture.height].map((size) => Math.ceil(size / cell));
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, width, height);
    return [width, height, [...context.getImageData(0, 0, width, height).data]];
  };
  const [a, b] = [await cells(one), await cells(other)];
  if (a[0] !== b[0] || a[1] !== b[1]) return null;
  const differences = a[2].map((value, at) => Math.abs(value - b[2][at]));
  return differences.filter((_, at) => at % 4 === 0)
    .map((_, at) => Math.max(...differences.slice(4 * at, 4 * at + 3)));
}"""


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    path = tmp_path_factory.mktemp("pictures") / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        write_examples(path)
    return path


@pytest.fixture(scope="module")
def are_alike(browser):
    """Compare two pictures, as PNG, in a page of its own."""
    page = browser.new_page()

    def compare(one, other):
        urls = [f"data:image/png;base64,{b64encode(png).decode()}" for png in (one, other)]
        found = page.evaluate(COMPARE, [*urls, CELL])
        if found is None:
            return False
        return all(
            sum(value > least for value in found) < share * len(found)
            for least, share in ALLOWED.items()
        )

    yield compare
    page.close()


@pytest.mark.parametrize(("name", "scheme", "viewport", "at"), PICTURES)
def test_the_pictures_in_the_documentation_show_the_page_as_it_is(
    browser, are_alike, example, name, scheme, viewport, at
):
    taken = picture_of(browser, example.as_uri(), scheme, viewport, at)
    assert are_alike((IMAGES / name).read_bytes(), taken), (
        f"docs/images/{name} shows another page; look at the page, then run "
        "python tests/report/screenshot.py"
    )


def test_the_picture_of_the_live_page_shows_it_as_it_is(browser, are_alike, tmp_path):
    name, *how = LIVE
    with served_examples(tmp_path) as live_url:
        taken = picture_of(browser, live_url, *how)
    assert are_alike((IMAGES / name).read_bytes(), taken)


@pytest.mark.parametrize(
    "change",
    [
        ".run .picture { visibility: hidden }",
        "#filters { display: none }",
        ".level-3 { fill: blue !important }",
        "#totals { margin-top: 4rem !important }",
    ],
)
def test_a_change_of_the_page_is_seen(browser, are_alike, example, tmp_path, change):
    text = example.read_text().replace("</style>", f"{change}</style>", 1)
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("style-src", "style-src 'unsafe-inline'; x-src", 1))
    name, *how = PICTURES[0]
    taken = picture_of(browser, changed.as_uri(), *how)
    assert not are_alike((IMAGES / name).read_bytes(), taken)
