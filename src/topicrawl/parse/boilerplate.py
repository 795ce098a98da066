"""Signs of boilerplate and of main content in the markup: elements, roles, and words in classes and ids.

The words are those that content management systems and templates use. A word is a hint only: the extraction of the main
text ignores the hints of boilerplate on elements that contain most of the text.
"""

from __future__ import annotations

import re
from enum import Enum

#: Elements that never belong to the main text. A `<form>` is no such element: it contains all content of some sites.
BOILERPLATE_SELECTOR = ",".join(
    [
        *("script", "style", "template", "noframes", "noscript"),
        *("nav", "aside", "footer", "menu", "dialog", "figcaption"),
        *("button", "select", "textarea", "input", "datalist"),
        *("iframe", "svg", "object", "embed", "video", "audio", "canvas", "map"),
        *(f"[role={role}]" for role in ("navigation", "complementary", "contentinfo", "search", "dialog")),
        "[role=alertdialog]",
    ]
)

#: Ids count only on these elements: in manuals, the id of a section or of a heading repeats the words of the heading.
_ID_TAGS = frozenset({"article", "aside", "div", "form", "header", "ol", "p", "table", "ul"})
_SECTION_WORDS = frozenset({"section", "sect"})

_BOILERPLATE_NAMES = (
    # Discussions and reactions.
    """comment comments commentlist disqus discussion livefyre rating ratings replies reply respond"""
    # Links to other pages.
    """ breadcrumb breadcrumbs carousel gallery jump kicker latest menu menus mostread nav navbar navi navigation next
    pager pagination paging popular prev previous rail readmore readnext recirc recirculation recommend recommendation
    recommendations recommended related sidebar sidebars skip slideshow submenu taglist tags teaser teasers toc topics
    trending"""
    # Sharing, subscriptions, accounts.
    """ addthis cta donate donation email facebook fb instagram login newsletter newsletters paywall print share
    sharebar sharedaddy shares sharing signin signup social socials subscribe subscription twitter upsell whatsapp"""
    # Advertisements, banners, notices about cookies.
    """ ad ads adslot advert advertisement advertising adverts alert banner callout consent cookie cookies gdpr lightbox
    modal onetrust outbrain overlay popup popups promo promos promotion sponsor sponsored taboola widget widgets"""
    # Facts about the text: authors, dates, captions, sources.
    """ author authors bio biography byline bylines caption captions copyright credit credits date dateline datetime
    editsection eyebrow hatnote infobox masthead meta metadata posted pubdate published timestamp"""
    # Other parts of a template.
    """ footer hidden noprint printonly search toolbar toolbox tools"""
)
_BOILERPLATE_WORDS = frozenset(_BOILERPLATE_NAMES.split())
_CONTENT_WORDS = frozenset(
    {"articlebody", "articlecontent", "articletext", "bodycopy", "bodytext", "entrycontent", "fulltext", "maincontent"}
    | {"postbody", "postcontent", "richtext", "storybody", "storytext"}
)
# A word of each of the two sets names the container of the main text: "article-body", "entry__content".
_CONTENT_KINDS = frozenset(
    {"article", "blog", "content", "entry", "main", "news", "node", "page", "post", "single", "story"}
)
_CONTENT_PARTS = frozenset({"body", "content", "copy", "inner", "text"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class ContentHint(Enum):
    """What the attributes of an element say about its content."""

    NONE = 0
    CONTENT = 1
    BOILERPLATE = 2


def classify_attributes(tag: str, classes: str, identifier: str, item_property: str = "") -> ContentHint:
    """Classify an element by the words of its class, id and `itemprop` attributes.

    >>> classify_attributes("div", "entry-content sharing", ""), classify_attributes("p", "articleByline byline", "")
    (<ContentHint.CONTENT: 1>, <ContentHint.BOILERPLATE: 2>)
    >>> classify_attributes("div", "", "comments"), classify_attributes("section", "", "comments")
    (<ContentHint.BOILERPLATE: 2>, <ContentHint.NONE: 0>)
    """
    words = _split_words(f"{classes} {item_property}")
    # An id with a dot names an object in a program: "Page.add_comment".
    if identifier and tag in _ID_TAGS and "." not in identifier and words.isdisjoint(_SECTION_WORDS):
        words |= _split_words(identifier)
    # "content" alone belongs to both sets.
    if len(words) > 1 and not words.isdisjoint(_CONTENT_KINDS) and not words.isdisjoint(_CONTENT_PARTS):
        return ContentHint.CONTENT
    if not words.isdisjoint(_CONTENT_WORDS):
        return ContentHint.CONTENT
    return ContentHint.NONE if words.isdisjoint(_BOILERPLATE_WORDS) else ContentHint.BOILERPLATE


def _split_words(names: str) -> set[str]:
    """Split names into words in lower case: "articleBody" and "article-body" have the same two."""
    return set(map(str.lower, _WORD.findall(names)))
