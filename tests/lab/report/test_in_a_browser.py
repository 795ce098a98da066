"""Layout of the report in a browser: no text overlaps or is cut off, on screen and in print."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from tests.helpers.comparison import build_comparison
from tests.helpers.markers import LONG

from topicrawl.lab.report.html import render_report

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((path for name in BROWSERS if (path := shutil.which(name))), None)

pytestmark = [
    LONG,
    pytest.mark.skipif(BROWSER is None, reason="no browser found: run `apt-get install chromium-headless-shell`"),
]

# Script that reports overlapping, clipped and too small texts, and a page wider than its window.
LAYOUT_CHECK = """
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
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(found);
  document.body.append(result);
};
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 28 strategies, and a copy next to it with a script that checks its layout."""
    folder = tmp_path_factory.mktemp("report")
    html = render_report(*build_comparison(strategies=28, topics=6))
    (folder / "report.html").write_text(html, "utf-8")
    (folder / "checked.html").write_text(html.replace("</body>", f"{LAYOUT_CHECK}</body>"), "utf-8")
    return folder / "report.html"


def browse(page: Path, *options: str) -> str:
    """Open a page in a headless browser and return its standard output."""
    assert BROWSER is not None
    # The sandbox does not work as root, and the page is trusted.
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-dev-shm-usage",
        f"--user-data-dir={page.parent / 'profile'}",
        *options,
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, encoding="utf-8").stdout


@pytest.mark.parametrize("width", [1280, 900, 420])
def test_no_text_overlaps_another_or_leaves_its_card(page: Path, width: int) -> None:
    html = browse(page.with_name("checked.html"), f"--window-size={width},1000", "--dump-dom")
    result = re.search(r'<pre id="result">(.*?)</pre>', html)
    assert result is not None
    report = json.loads(result[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert report["texts"] > 1000
    assert report["overlap"] == []
    assert report["outside"] == []
    assert report["small"] == []
    assert report["wide"] <= 0


def test_the_picture_of_the_page_is_not_empty(page: Path) -> None:
    picture = page.with_suffix(".png")
    browse(page, "--window-size=1280,2400", f"--screenshot={picture}")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    pixels = zlib.decompress(b"".join(_chunks(data)))
    assert len(pixels) > 1280 * 2400 * 3
    assert len(set(pixels)) > 100


def _chunks(data: bytes) -> list[bytes]:
    """Return the compressed pixel data of a PNG file."""
    chunks, offset = [], 8
    while offset < len(data):
        size = int.from_bytes(data[offset : offset + 4], "big")
        if data[offset + 4 : offset + 8] == b"IDAT":
            chunks.append(data[offset + 8 : offset + 8 + size])
        offset += size + 12
    return chunks


def test_the_page_can_be_printed(page: Path) -> None:
    paper = page.with_suffix(".pdf")
    browse(page, "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    data = paper.read_bytes()
    assert data.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 40
