"""Twenty HTML pages with a known order of relevance; some of them contain hidden or repeated keywords.

A page has eighteen paragraphs of three sentences, about dengue fever or about railways. The first page has seventeen
paragraphs about the fever, each following page one less, the last three none. As in Mohammadi's data set, two pages
hide keywords in the background colour, two repeat keywords, and one has them in xx-small letters. Three more pages hide
them in other ways.
"""

from __future__ import annotations

from random import Random

from topicrawl.models import Link, Page, Response
from topicrawl.parse import parse_response

FEVER = (
    "Dengue comes to the towns of the coast with the first heavy rains, and it leaves them when the streets are dry.",
    "The fever rises on the first day, falls on the fourth, and often comes back before the week is over.",
    "Every mosquito that the nurses found in the sleeping rooms was counted, named and sent to the capital in a box.",
    "Old tyres, flower pots and gutters full of rain water are the places where dengue begins its year.",
    "A child with a high fever was brought in from one of the fishing villages that have no doctor.",
    "Nets that keep the mosquito away were given out on market days to all families with small children.",
)
RAILS = (
    "The morning express to the harbour left its platform ten minutes late, as it had on every Monday of that winter.",
    "Signals along the valley were painted in the autumn, so that drivers could tell them from the trees.",
    "An engine of this class needs forty tons of coal and a driver who has known it for some years.",
    "Passengers waited in the great hall of the station until the swing bridge was closed and safe again.",
    "Sleepers made of oak last longer than those of pine, but they cost the company twice as much.",
    "The timetable of that year was printed on yellow paper and is now in the museum of the line.",
)
KEYWORDS = "Dengue fever and the mosquito are what this page of ours tells you all about, again and again and again. "
#: Rank → markup with hidden or repeated keywords; the hidden text replaces the braces.
CHEATS = {
    6: '<body bgcolor="#ffffff"><font color="#ffffff">{}</font>',
    8: '<div style="background:#204060"><p style="color:#204060">{}</p></div>',
    9: "<p>Dengue dengue dengue fever fever fever fever mosquito mosquito mosquito mosquito dengue. {}</p>",
    11: '<p style="color:#fdfdfd">{}</p>',
    13: "<p>Fever fever fever fever dengue dengue mosquito, mosquito, mosquito, mosquito, fever, fever. {}</p>",
    14: '<p style="font-size:xx-small">{}</p>',
    16: '<style>.k {{position: absolute; left: -9000px}}</style><div class="k">{}</div>',
    18: '<style>.foot p {{height: 0; overflow: hidden}}</style><div class="foot"><p>{}</p></div>',
}
#: All pages have the same title, so that it does not affect the order.
TITLE = "Fever, signals and engines of the coast"
PAGES = 20


def on_topic(rank: int) -> int:
    """Return the number of paragraphs about the topic on the page at a rank."""
    return max(0, 18 - rank)


def html(rank: int) -> str:
    """Return the HTML of the page at a rank; 1 is the most relevant."""
    draw = Random(rank)
    paragraphs = [draw.sample(FEVER if at < on_topic(rank) else RAILS, 3) for at in range(18)]
    draw.shuffle(paragraphs)
    text = "".join(f"<p>{' '.join(sentences)}</p>\n" for sentences in paragraphs)
    cheat = CHEATS.get(rank, "")
    unseen = "" if cheat.startswith("<p>") else KEYWORDS * 12
    return f"<html><title>{TITLE}, page {rank}</title>{text}{cheat.format(unseen) * (1 if unseen else 8)}</html>"


def page(rank: int) -> Page:
    """Return the parsed page at a rank."""
    url = f"http://made/{rank}"
    answer = Response(url, url, 200, {"content-type": "text/html"}, html(rank).encode())
    found = parse_response(answer, Link(url), styles=True)
    assert isinstance(found, Page)
    return found
