"""Scheduling: filter and score out-links, adjust priorities, and build offers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.helpers.visits import bind_strategy, build_visit

from topicrawl.engine.link_filter import DEMOTION, LinkFilter
from topicrawl.engine.scheduling import OutlinkDecision, Outlinks, build_offers, score_outlinks
from topicrawl.engine.user_feedback import UserFeedback
from topicrawl.errors import StrategyError
from topicrawl.fetch.guard import AddressGuard, parse_networks
from topicrawl.frontier.base import FrontierRules, Offer
from topicrawl.frontier.domain_monitor import DomainMonitor
from topicrawl.frontier.memory import MemoryFrontier
from topicrawl.frontier.trap_detector import TrapDetector
from topicrawl.frontier.url_limits import UrlLimits
from topicrawl.models import Link, Page, Priority, Refusal, Visit
from topicrawl.strategies.base import Strategy
from topicrawl.topic import Topic

A, B, C = (f"http://{name}.example/" for name in "abc")


class Fixed(Strategy):
    """Strategy that returns the given scores, and merges priorities by adding them."""

    name, family, paper = "fixed", "", ""

    def __init__(self, *scores: float | None) -> None:
        self.scores = scores

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        return [None if score is None else Priority(score) for score in self.scores]


class Adding(Fixed):
    def merge(self, old: Priority, new: Priority) -> Priority:
        return Priority(old.score + new.score)


def decide(strategy: Strategy, visit: Visit, link_filter: LinkFilter | None = None) -> dict[str, object]:
    """Return the score or the refusal of every link."""
    decisions = score_outlinks(visit, strategy, link_filter or LinkFilter())
    return {out.link.url: out.refusal if out.priority is None else out.priority.score for out in decisions}


def test_every_link_has_a_score_or_a_refusal() -> None:
    visit = build_visit(A, [A, B, C])
    link_filter = LinkFilter(scope=lambda link: link.url != B)
    assert decide(Fixed(0.5, None), visit, link_filter) == {A: 0.5, B: Refusal.OUT_OF_SCOPE, C: Refusal.STRATEGY}


def test_the_best_score_of_a_repeated_link_counts() -> None:
    assert decide(Fixed(0.25, None, 0.5), build_visit(A, [B, B, B])) == {B: 0.5}


@pytest.mark.parametrize("obeys", [True, False])
def test_a_nofollow_directive_of_the_page_or_the_link_is_obeyed(obeys: bool) -> None:
    visit = build_visit(A, [B])
    assert visit.page is not None
    link_filter = LinkFilter(obeys_directives=obeys)
    pages = [
        replace(visit.page, directives=frozenset({"nofollow"})),
        replace(visit.page, links=(replace(visit.page.links[0], rel="nofollow"),)),
    ]
    for page in pages:
        strategy = Fixed() if obeys else Fixed(0.5)
        assert decide(strategy, replace(visit, page=page), link_filter) == {B: Refusal.NOFOLLOW if obeys else 0.5}


@pytest.mark.parametrize(("networks", "expected"), [((), Refusal.BLOCKED_PORT), (("10.0.0.0/8",), 0.5)])
def test_a_link_to_a_port_of_another_service_is_refused(networks: tuple[str, ...], expected: object) -> None:
    mail, database, web = "http://mail.test:25/", "http://10.0.0.1:5432/", "http://mail.test:8025/"
    link_filter = LinkFilter(guard=AddressGuard(parse_networks(networks)))
    strategy = Fixed(0.5, 0.5, 0.5) if networks else Fixed(0.5)
    # With allowed networks, the address of a host name decides when the crawler connects.
    assert decide(strategy, build_visit(A, [mail, database, web]), link_filter) == {
        mail: expected,
        database: expected,
        web: 0.5,
    }


def test_a_link_to_a_blocked_port_outside_the_allowed_networks_is_refused() -> None:
    database = "http://93.184.215.14:5432/"
    link_filter = LinkFilter(guard=AddressGuard(parse_networks(["10.0.0.0/8"])))
    assert decide(Fixed(), build_visit(A, [database]), link_filter) == {database: Refusal.BLOCKED_PORT}


def test_a_strategy_must_return_one_finite_priority_per_link() -> None:
    visit = build_visit(A, [B, C])
    with pytest.raises(StrategyError, match="fixed returned 1 priorities for 2 links"):
        decide(Fixed(0.5), visit)
    with pytest.raises(StrategyError, match="scores must be finite"):
        decide(Fixed(0.5, float("nan")), visit)


def test_feedback_and_suspected_traps_change_the_priority_and_its_parts() -> None:
    topic = Topic.of("dengue fever")
    feedback = UserFeedback(topic.lexicon, topic.tokens)
    feedback.boosts["b.example"] = 0.25
    traps = TrapDetector()
    for number in range(1000):
        traps.add_page(f"{C}calendar/{number}", ("same", "words"), f"{C}calendar/{number - 1}")
    link_filter = LinkFilter(trap_detector=traps, user_feedback=feedback)
    trap = f"{C}calendar/2000"
    assert link_filter.is_demoted(Link(trap))
    (boosted, demoted) = score_outlinks(build_visit(A, [B, trap]), Fixed(0.5, 0.5), link_filter)
    assert boosted.priority is not None
    assert demoted.priority is not None
    assert boosted.priority.score > 0.5
    assert [name for name, _ in boosted.priority.parts] == ["feedback"]
    assert demoted.priority.score == 0.5 - DEMOTION
    assert demoted.priority.parts == (("trap", -DEMOTION),)


def test_a_visit_without_page_has_no_out_links() -> None:
    assert len(score_outlinks(replace(build_visit(A), page=None), Fixed(), LinkFilter())) == 0
    assert len(score_outlinks(replace(build_visit(A), page=Page(A, "")), Fixed(), LinkFilter())) == 0


class Independent(Strategy):
    """Scores a link by the length of its URL, and notes the links that it gets."""

    name, family, paper, needs_all_links = "independent", "", "", False

    def __init__(self) -> None:
        self.scored: list[str] = []

    def score_links(self, links: Sequence[Link], visit: Visit) -> list[Priority | None]:
        self.scored += [link.url for link in links]
        return [Priority(len(link.url)) for link in links]


@pytest.mark.parametrize("needs_all_links", [False, True])
def test_links_to_closed_urls_are_not_scored_if_the_strategy_does_not_need_them(needs_all_links: bool) -> None:
    strategy = Independent()
    strategy.needs_all_links = needs_all_links  # type: ignore[misc]  # a class variable in other strategies
    outlinks = score_outlinks(build_visit(A, [A, B, C]), strategy, LinkFilter(), find_closed={B}.intersection)
    assert strategy.scored == ([A, B, C] if needs_all_links else [A, C])
    decided = {out.link.url: (out.priority is not None, out.refusal) for out in outlinks}
    assert decided == {A: (True, None), B: (needs_all_links, None), C: (True, None)}
    # The frontier gets the same links in the same order.
    offers = asyncio.run(build_offers(outlinks, strategy, MemoryFrontier(FrontierRules(), lambda: 0.0)))
    assert [offer.link.url for offer in offers if offer.link.url != B] == [A, C]


def test_a_permitted_url_is_checked_again_when_a_rule_may_have_changed() -> None:
    domains = DomainMonitor(max_pages=1)
    checked: list[str] = []

    def note_url(link: Link) -> bool:
        checked.append(link.url)
        return True

    link_filter = LinkFilter(UrlLimits(depth=3), scope=note_url, domain_monitor=domains)
    page = build_visit(A, [B]).page
    assert page is not None
    assert link_filter.find_refusals(page) == link_filter.find_refusals(page) == {}
    assert checked == [B], "the second call needs no check"
    deep = replace(page, links=(replace(page.links[0], depth=4),))
    assert link_filter.find_refusals(deep) == {0: Refusal.TOO_DEEP}
    nofollow = replace(page, links=(replace(page.links[0], rel="nofollow"),))
    assert link_filter.find_refusals(nofollow) == {0: Refusal.NOFOLLOW}
    domains.add_page(B, ["some", "words"])
    assert link_filter.find_refusals(page) == {0: Refusal.DOMAIN_BUDGET}


def test_the_out_links_of_archive_members_are_joined() -> None:
    first = Outlinks([Link(A), Link(B)], [None, Priority(0.5)], {0: Refusal.TRAP})
    joined = Outlinks.join([first, Outlinks([Link(C)], [None], {0: Refusal.NOFOLLOW})])
    assert list(joined) == [
        OutlinkDecision(Link(A), None, Refusal.TRAP),
        OutlinkDecision(Link(B), Priority(0.5)),
        OutlinkDecision(Link(C), None, Refusal.NOFOLLOW),
    ]
    assert joined[1:] == list(joined)[1:]


def test_offers_contain_scored_links_merged_with_waiting_priorities() -> None:
    outlinks = Outlinks([Link(A), Link(B), Link(C)], [Priority(0.5), Priority(0.25), None], {2: Refusal.TRAP})

    async def build(strategy: Strategy) -> list[Offer]:
        frontier = MemoryFrontier(FrontierRules(), lambda: 0.0)
        await frontier.add([Offer(Link(B), Priority(0.5))])
        return await build_offers(outlinks, strategy, frontier)

    plain = [Offer(Link(A), Priority(0.5)), Offer(Link(B), Priority(0.25))]
    assert asyncio.run(build(bind_strategy("best_first"))) == plain
    merged = [Offer(Link(A), Priority(0.5)), Offer(Link(B), Priority(0.75), replace=True)]
    assert asyncio.run(build(Adding())) == merged
