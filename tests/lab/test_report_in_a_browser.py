"""The report as a browser lays it out: nothing overlaps, nothing is cut off, on a screen and on paper."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from tests.lab.made_comparison import compared
from tests.longer import LONG

from topicrawl.lab.report import report_html

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)

pytestmark = [
    LONG,
    pytest.mark.skipif(BROWSER is None, reason="no browser here: `apt-get install chromium-headless-shell` brings one"),
]

# What stands where: texts that cover each other, leave their card or are too small, a page wider than its window.
LOOK = """
<script>
window.onload = () => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const found = {overlap: [], outside: [], small: [], texts: 0, wide};
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].map(it => [it.textContent, it.getBoundingClientRect()]);
    const card = svg.closest("section").getBoundingClientRect();
    found.texts += texts.length;
    for (const [name, a] of texts) if (Math.min(a.width, a.height) < 8 && name.length > 1) found.small.push(name);
    texts.forEach(([name, a], n) => {
      const scrolls = svg.closest(".wide");
      if (!scrolls && (a.left < card.left || a.right > card.right || a.bottom > card.bottom)) found.outside.push(name);
      for (const [other, b] of texts.slice(n + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 1 && down > 2.5) found.overlap.push(name + " / " + other);
      }
    });
  }
  const told = document.createElement("pre");
  told.id = "told";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
};
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 28 strategies, and beside it one that looks at itself."""
    folder = tmp_path_factory.mktemp("report")
    html = report_html(*compared(strategies=28, topics=6))
    (folder / "report.html").write_text(html, "utf-8")
    (folder / "looking.html").write_text(html.replace("</body>", f"{LOOK}</body>"), "utf-8")
    return folder / "report.html"


def browsed(page: Path, *options: str) -> str:
    assert BROWSER is not None
    # As root a browser refuses its sandbox; the page is our own.
    asked = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
        f"--user-data-dir={page.parent / 'profile'}", *options, page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=120, encoding="utf-8").stdout


@pytest.mark.parametrize("width", [1280, 900, 420])
def test_no_text_covers_another_or_leaves_its_card(page: Path, width: int) -> None:
    shown = browsed(page.with_name("looking.html"), f"--window-size={width},1000", "--dump-dom")
    told = re.search(r'<pre id="told">(.*?)</pre>', shown)
    assert told is not None
    found = json.loads(told[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert found["texts"] > 1000
    assert found["overlap"] == []
    assert found["outside"] == []
    assert found["small"] == []
    assert found["wide"] <= 0


def test_the_picture_of_the_page_is_not_empty(page: Path) -> None:
    picture = page.with_suffix(".png")
    browsed(page, "--window-size=1280,2400", f"--screenshot={picture}")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    pixels = zlib.decompress(b"".join(_chunks(data)))
    assert len(pixels) > 1280 * 2400 * 3
    assert len(set(pixels)) > 100


def _chunks(data: bytes) -> list[bytes]:
    """The compressed pixels of a PNG file."""
    found, at = [], 8
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"IDAT":
            found.append(data[at + 8 : at + 8 + size])
        at += size + 12
    return found


def test_the_page_can_be_printed(page: Path) -> None:
    paper = page.with_suffix(".pdf")
    browsed(page, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    data = paper.read_bytes()
    assert data.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 40
