"""Link model of the apprentice: prior weights, group rates, learned weights and the pool of waiting links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, repeat
from math import log, log1p
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, convert
from numpy.typing import NDArray

from topicrawl.ml.online import Floats, Ids, OnlineLogisticRegression, logistic
from topicrawl.models import JsonValue, Link, Page, Priority, Visit
from topicrawl.relevance.vsm import Vsm
from topicrawl.serialization import PackedValues, pack_array, unpack_array
from topicrawl.strategies.apprentice.feature_names import name_features
from topicrawl.strategies.apprentice.features import SIMILARITY_TEXTS, FeatureExtractor, LinkFeatures
from topicrawl.strategies.apprentice.group_rates import GroupRates
from topicrawl.strategies.apprentice.host_preference import HostPreference
from topicrawl.strategies.apprentice.link_pool import LinkPool, LinkRow, PoolRows
from topicrawl.strategies.apprentice.reward import RewardFunction
from topicrawl.strategies.apprentice.term_rewards import TermRewards
from topicrawl.strategies.apprentice.url_variants import UrlVariants
from topicrawl.urls import get_host

#: Prior features of a link with their fixed weights.
PRIOR_WEIGHTS = {
    "always": -2.5,
    "anchor": 2.5,
    "address": 4.0,
    "surroundings": 1.5,
    "heading": 2.5,
    "page": 1.5,
    "reward": 1.0,
    "distance": -0.75,
    "depth": -2.0,
    "anchor meaning": 1.5,
    "address meaning": 1.0,
    "surroundings meaning": 0.5,
    "heading meaning": 0.3,
    "page name": 2.5,
}
#: Groups of a link with the weights of their rates.
GROUP_WEIGHTS = {"siblings": 1.0, "row": 2.0, "directory": 1.0, "host": 0.3}
_INITIAL_SQUARES = 0.1
_HALF_PENALTY_REWARD = 2.0  # total reward at which an unrewarded link lowers the learned weights by half
_PROBABILITY_SCALE = 0.4  # similarity of a page that is relevant with certainty
_MAX_TRIALS = 5  # hosts that are tried after one rescoring
_VARIANT_PENALTY = -10.0  # for a URL that is predicted to be another spelling of a known page
_EXPLORATION = 0.1  # weight of the random deviation of a host's rate (exploration)
_NOVELTY = 1.5  # weight of the novelty of a host
_DEPTH_SCALE = 3.0  # scale: a depth of about twenty links counts as 1
_MAX_LOG_ODDS = 100.0  # larger than that of any waiting URL; a fetched URL has −∞
_MAX_DISTANCE = 5  # maximum distance to a relevant page; larger distances are equal
_MAX_IDLE_GROUPS = 20_000
_MIN_SCORE_CHANGE = 1e-3
_EXACT_URLS = 500  # number of best URLs with exact scores; others are updated when they come near
_MAX_NAMED_FEATURES = 6  # maximum number of learned features in an explanation
_OTHER_FEATURES, _OTHER_LINKS = "other words", "other links"  # names of the remaining parts of an explanation
_VARIANT, _SITE = "known page", "site"
_PART_NAMES = ("known", "neighbours", "learned")  # names of the parts of a score
_PRIOR_VECTOR = np.array(list(PRIOR_WEIGHTS.values()), np.float32)
_GROUP_WEIGHT_VALUES = tuple(GROUP_WEIGHTS.values())
_GROUP_WEIGHT_VECTOR = np.array(_GROUP_WEIGHT_VALUES, np.float32)


class PageScores(NamedTuple):
    """Priorities of the links of one page, as `LinkModel.learn` has computed them."""

    page: Page | None
    distance: int  # distance from the last relevant page
    priorities: Mapping[tuple[str, int], Priority]  # by URL and position, without links that the pool has no room for


class FetchRecord(NamedTuple):
    """A fetch that other workers learn from."""

    requested_url: str
    page_url: str  # of the original if the page is a duplicate
    reward: float | None  # None: there is no page
    relevance: float | None  # None: the page is known already


class LinkModelState(Struct, frozen=True):
    """Stored state of the model. Its components validate their own states."""

    slots: PackedValues
    weights: PackedValues
    squares: PackedValues
    rates: Any
    reward: Any
    pool: dict[str, Any]
    # The states of earlier versions have no term rewards. They are learned from now on.
    worth: dict[str, Any] | None = None
    given: PackedValues | None = None
    variants: dict[str, Any] | None = None
    sites: dict[str, Any] | None = None


class LinkModel:
    """Score links and learn from visits.

    The reward of a page depends on the relevance that the judge of the crawl gives it. `has_cosine_judge` says that the
    relevance is a cosine similarity, which is smaller than a probability.
    """

    def __init__(self, vsm: Vsm, *, learning_rate: float, max_urls: int, has_cosine_judge: bool = False) -> None:
        self._vsm = vsm
        self._relevance_scale = 1.0 if has_cosine_judge else _PROBABILITY_SCALE
        self._feature_extractor = FeatureExtractor(vsm)
        self.regression = OnlineLogisticRegression(learning_rate=learning_rate, initial_squares=_INITIAL_SQUARES)
        self.group_rates = GroupRates()
        self.reward = RewardFunction()
        self.term_rewards = TermRewards()
        self.url_variants = UrlVariants()
        self.host_preference = HostPreference()
        self.pool = LinkPool(len(PRIOR_WEIGHTS), len(GROUP_WEIGHTS))
        self._max_urls = max_urls
        self.fetch_log: list[FetchRecord] | None = None  # fetches for other workers

    def learn_links(self, links: Iterable[tuple[Link, float]]) -> None:
        """Learn from links to example pages with the rewards of the pages, before the first page."""
        for link, reward in links:
            features = self._feature_extractor.extract_features([link], link.source, Page(link.source))
            rows = self._build_rows(features, depth=link.depth)
            self._learn_link(
                (rows.features, rows.priors[0], rows.groups[0]), self._compute_site_score(link.url), reward
            )

    def _learn_link(self, row: LinkRow, site: float, reward: float) -> None:
        """Learn that a link led to a page with this reward. `site` is the part of its score for its host."""
        features, priors, groups = row
        before = float(priors @ _PRIOR_VECTOR) + self.group_rates.compute_weighted_rate(groups, _GROUP_WEIGHT_VALUES)
        before += site
        # Before the first relevant page every followed link fails, also the ones that lead towards the topic.
        total = self.group_rates.total_reward
        self.regression.learn(features, before, reward, penalty_share=total / (total + _HALF_PENALTY_REWARD))
        self.group_rates.learn(groups, reward)

    def learn(self, visit: Visit) -> PageScores:
        """Learn from the links that led to a fetched page, add the links on the page to the pool, and score them.

        A link to a duplicate, or to a URL that redirects to a known page, led to a page with the reward of that page.
        """
        if visit.page is None:
            self._record_visit(visit, self.pool.get_reward(visit.duplicate_of) if visit.duplicate_of else None)
            return self.describe_unlearned_page(visit)
        similarity = (visit.relevance or 0.0) * self._relevance_scale
        reward = self.reward(similarity)
        self.group_rates.record_visit(reward, similarity)
        self.term_rewards.add_page(self._vsm.get_bag(visit.page), reward)
        self._record_visit(visit, reward)
        distance = 0 if reward >= 0.5 else _compute_distance(visit)
        priorities = self._score_page_links(visit.url, visit.page, similarity, reward, distance)
        return PageScores(visit.page, distance, priorities)

    def _score_page_links(
        self, url: str, page: Page, similarity: float, reward: float, distance: int
    ) -> dict[tuple[str, int], Priority]:
        """Score the links of a page that the pool has room for, add them to the pool, and return their priorities."""
        links = list(compress(page.links, self.pool.check_room([link.url for link in page.links])))
        if not links:
            return {}
        features = self._feature_extractor.extract_features(links, url, page)
        self.term_rewards.track_terms(features.anchor_terms)
        rows = self._build_rows(features, similarity=similarity, reward=reward, distance=distance, depth=links[0].depth)
        parts = self._compute_parts(rows, rows.starts)
        # A page that is known under another spelling has nothing new.
        parts[0][self._find_variants([link.url for link in links])] += _VARIANT_PENALTY
        scores = _logistic_array(parts[0] + parts[1] + parts[2]).tolist()
        self.pool.add([link.url for link in links], rows, scores)
        named_parts = (zip(repeat(name), part.tolist()) for name, part in zip(_PART_NAMES, parts, strict=True))
        return {
            (link.url, link.position): Priority(score, distance, link_parts)
            for link, score, link_parts in zip(links, scores, zip(*named_parts, strict=True), strict=True)
        }

    def _record_visit(self, visit: Visit, reward: float | None) -> None:
        """Record a fetch of this worker, and log it for the other workers."""
        if visit.duplicate_of:
            self.pool.mark_fetched(visit.url, reward)
        relevance = None if visit.page is None else visit.relevance or 0.0
        fetch = FetchRecord(visit.link.url, visit.duplicate_of or visit.url, reward, relevance)
        self.record_fetch(fetch)
        if self.fetch_log is not None:
            self.fetch_log.append(fetch)

    def record_fetch(self, fetch: FetchRecord) -> None:
        """Learn from the known links to a page that this or another worker has fetched, and remove them."""
        for url in dict.fromkeys((fetch.requested_url, fetch.page_url)):
            if fetch.reward is not None:
                site = self._compute_site_score(url)
                for row in self.pool.get_rows(url):
                    self._learn_link(row, site, fetch.reward)
            self.pool.mark_fetched(url, fetch.reward)
        if fetch.reward is not None:
            self.url_variants.add_page(fetch.requested_url, fetch.page_url)
        if fetch.relevance is not None:
            self.host_preference.add_page(fetch.page_url, fetch.relevance)

    def _find_variants(self, urls: Sequence[str]) -> list[int]:
        """Return the places of the URLs that are predicted to be other spellings of known pages."""
        return [place for place, url in enumerate(urls) if self.url_variants.is_known_page(url)]

    def _build_rows(
        self, features: LinkFeatures, *, depth: int, similarity: float = 0.0, reward: float = 0.0, distance: int = 0
    ) -> PoolRows:
        """Return links as rows of the pool. The parameters describe the page that contains the links."""
        count = len(features.lengths)
        known = np.empty((count, len(PRIOR_WEIGHTS)), np.float32)
        known[:, 0] = 1.0
        known[:, 1 : 1 + len(SIMILARITY_TEXTS)] = features.similarities
        first_meaning = len(PRIOR_WEIGHTS) - 1 - len(SIMILARITY_TEXTS)
        known[:, 1 + len(SIMILARITY_TEXTS) : first_meaning] = (
            similarity,
            reward,
            distance / _MAX_DISTANCE,
            log1p(depth) / _DEPTH_SCALE,
        )
        known[:, first_meaning:-1] = features.meanings
        known[:, -1] = features.page_name
        groups = self.group_rates.get_numbers(chain.from_iterable(features.groups)).reshape(count, len(GROUP_WEIGHTS))
        return PoolRows(features.features, features.lengths, known, groups)

    def _compute_parts(self, rows: PoolRows, starts: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """Return the three parts of the scores: prior, group rates and learned weights."""
        learned = self.regression.score_examples(rows.features, starts, rows.lengths)
        rates = self.group_rates.compute_rates(rows.groups) @ _GROUP_WEIGHT_VECTOR
        return rows.priors @ _PRIOR_VECTOR, rates + self._compute_site_scores(rows.groups[:, -1]), learned

    def _compute_site_scores(self, hosts: Ids) -> Floats:
        """Return the part of each link that depends on the evidence on the pages of its host."""
        # A table of all groups instead of `np.unique`, which sorts thousands of links.
        names = self.group_rates.names
        is_host = np.zeros(len(names), np.bool_)
        is_host[hosts] = True
        scores: Floats = np.zeros(len(names), np.float32)
        for number in is_host.nonzero()[0].tolist():
            scores[number] = self.host_preference.compute(names[number])
        return scores[hosts]

    def _compute_site_score(self, url: str) -> float:
        """Return the part of one link, rounded like the parts of many links."""
        return float(np.float32(self.host_preference.compute(get_host(url))))

    def describe_unlearned_page(self, visit: Visit) -> PageScores:
        """Return the record of a page that the model does not learn from: its links have no computed priorities."""
        return PageScores(None, _compute_distance(visit), {})

    def score_links(self, links: Sequence[Link], page_scores: PageScores) -> list[Priority]:
        """Return the priorities of links of one page, given the result of `learn` for its visit.

        A link that the pool had no room for has the score of its URL in the pool. If the model has not learned from the
        page, all links have the prior score.
        """
        _, distance, priorities = page_scores
        if page_scores.page is None:
            return [Priority(logistic(float(_PRIOR_VECTOR[0])), distance) for _ in links]
        return [
            priorities.get((link.url, link.position)) or Priority(self.pool.get_score(link.url), distance)
            for link in links
        ]

    def explain(self, link: Link) -> tuple[tuple[str, float], ...]:
        """Return the contributions to the log-odds of a link's score, with the strongest learned features by name.

        They add up to the log-odds of the last score that the frontier got. The last two parts are the learned features
        without a name, and the effect of other links to the same URL and of exploration. `learn` removes the link, so
        the caller must call this method first.
        """
        rows = self.pool.get_rows(link.url)
        if not rows:
            return ()
        site = self._compute_site_score(link.url)
        shares_by_row = [self.regression.score_features(features) for features, _, _ in rows]
        sums = [
            float(known @ _PRIOR_VECTOR)
            + self.group_rates.compute_weighted_rate(groups, _GROUP_WEIGHT_VALUES)
            + float(np.add.reduce(shares))
            + site
            for shares, (_, known, groups) in zip(shares_by_row, rows, strict=True)
        ]
        best = sums.index(max(sums))
        features, known, groups = rows[best]
        contributions = dict(zip(PRIOR_WEIGHTS, (known * _PRIOR_VECTOR).tolist(), strict=True))
        contributions |= zip(
            GROUP_WEIGHTS, (self.group_rates.compute_rates(groups) * _GROUP_WEIGHT_VECTOR).tolist(), strict=True
        )
        contributions[_SITE] = site
        shares = shares_by_row[best]
        strongest = np.argsort(-np.abs(shares), kind="stable")[:_MAX_NAMED_FEATURES]
        names = name_features(features[strongest], self._feature_extractor.get_texts_by_hash(link))
        for name, share in zip(names, shares[strongest].tolist(), strict=True):
            if name:
                contributions[name] = contributions.get(name, 0.0) + share
        contributions[_OTHER_FEATURES] = sums[best] - sum(contributions.values())
        contributions[_VARIANT] = _VARIANT_PENALTY if self.url_variants.is_known_page(link.url) else 0.0
        contributions[_OTHER_LINKS] = (
            _compute_log_odds(self.pool.get_score(link.url)) - sums[best] - contributions[_VARIANT]
        )
        return tuple([(name, round(value, 3)) for name, value in contributions.items() if abs(value) >= 0.0005])

    def rescore_links(self) -> Mapping[str, float]:
        """Return new scores of waiting URLs that have changed and are near the front of the frontier."""
        rows, starts = self.pool.get_all_rows()
        if not len(self.pool):
            return {}
        self.regression.set_prior_weights(*self.term_rewards.compute_weights(self.group_rates.base_rate))
        known, neighbours, learned = self._compute_parts(rows, starts)
        neighbours = neighbours + _EXPLORATION * self.group_rates.sample_deviations(rows.groups[:, -1])
        trust = self._feature_extractor.topic_terms.trust
        neighbours += _NOVELTY * self.group_rates.compute_novelty(rows.groups[:, -1], trust)
        log_odds = self.pool.aggregate_by_url(known + neighbours + learned)
        self._raise_untried_hosts(log_odds, rows.groups[:, -1])
        best = self._penalise_variants(log_odds)
        current = np.array(self.pool.frontier_scores)
        alive = best > 0
        cutoff = _find_cutoff(best)
        moved = alive & (np.abs(best - current) > _MIN_SCORE_CHANGE) & ((best >= cutoff) | (current >= cutoff))
        changed = {}
        for number in np.flatnonzero(moved).tolist():
            changed[self.pool.urls[number]] = self.pool.frontier_scores[number] = float(best[number])
        self._enforce_limits(best)
        return changed

    def _raise_untried_hosts(self, log_odds: Floats, hosts: Ids) -> None:
        """Give the best link of each of a few hosts without fetched pages the best of all scores. `hosts`: by row."""
        trials = min(_MAX_TRIALS, self.host_preference.count_trials(self.group_rates.visits))
        if not trials:
            return
        names = self.group_rates.names
        is_untried = np.zeros(len(names), np.bool_)
        is_untried[hosts] = True
        for number in is_untried.nonzero()[0].tolist():
            is_untried[number] = not self.host_preference.is_known(names[number])
        if not is_untried.any():
            return
        host_by_url = np.zeros(len(log_odds), np.int64)
        host_by_url[np.array(self.pool.row_owners, np.int64)] = hosts
        candidates = np.flatnonzero(is_untried[host_by_url] & (log_odds > -np.inf))
        best, tried = log_odds.max(), set[int]()
        for number in candidates[np.argsort(-log_odds[candidates], kind="stable")].tolist():
            if len(tried) == trials:
                break
            if host_by_url[number] not in tried:
                tried.add(host_by_url[number])
                log_odds[number] = best

    def _penalise_variants(self, log_odds: Floats) -> Floats:
        """Return the scores of all URLs. The best ones that are predicted to be known pages get a low score."""
        if self.url_variants.has_rules:
            best = np.flatnonzero(log_odds >= max(_find_cutoff(log_odds), -_MAX_LOG_ODDS))
            variants = self._find_variants([self.pool.urls[number] for number in best.tolist()])
            log_odds[best[variants]] += _VARIANT_PENALTY
        return _logistic_array(log_odds)

    def _enforce_limits(self, scores: Floats) -> None:
        """Enforce the size limit of the pool: drop the worst fifth of the URLs, and groups without links."""
        if len(self.pool) > self._max_urls:
            order = np.argsort(scores, kind="stable")
            worst = order[scores[order] > 0][: len(self.pool) // 5]
            for number in worst.tolist():
                self.pool.remove(self.pool.urls[number])
        if self.pool.drop_dead_rows() and len(self.group_rates) > _MAX_IDLE_GROUPS:
            used = np.unique(self.pool.get_all_rows()[0].groups)
            if len(self.group_rates) > _MAX_IDLE_GROUPS + len(used):
                self.pool.renumber_groups(self.group_rates.drop_idle_groups(used, _MAX_IDLE_GROUPS))

    def get_state(self) -> dict[str, JsonValue]:
        """Return the model as plain values."""
        slots, weights, squares, given = self.regression.export_weights()
        return {
            "slots": pack_array(slots),
            "weights": pack_array(weights),
            "squares": pack_array(squares),
            "rates": self.group_rates.get_state(),
            "reward": self.reward.get_state(),
            "pool": self.pool.get_state(),
            "worth": self.term_rewards.get_state(),
            "given": pack_array(given),
            "variants": self.url_variants.get_state(),
            "sites": self.host_preference.get_state(),
        }

    def restore_state(self, state: Mapping[str, JsonValue]) -> None:
        """Restore the values of `get_state`."""
        saved = convert(state, LinkModelState, strict=False)
        slots = unpack_array(saved.slots, np.int32)
        given = unpack_array(saved.given, np.float32) if saved.given is not None else np.zeros(len(slots), np.float32)
        self.regression.load_weights(
            slots, unpack_array(saved.weights, np.float32), unpack_array(saved.squares, np.float32), given
        )
        if saved.worth is not None:
            self.term_rewards.restore_state(saved.worth)
        if saved.variants is not None:
            self.url_variants.restore_state(saved.variants)
        self.host_preference.restore_state(saved.sites)
        self.group_rates.restore_state(saved.rates)
        self.reward.restore_state(saved.reward)
        self.pool.restore_state(saved.pool)


def _compute_distance(visit: Visit) -> int:
    """Return the distance of an irrelevant page from the last relevant page: one more than that of its parent."""
    payload = visit.priority.payload
    return min((payload if isinstance(payload, int) else 0) + 1, _MAX_DISTANCE)


def _find_cutoff(values: Floats) -> float:
    """Return the smallest of the best values, whose URLs have exact scores."""
    return float(np.partition(values, -_EXACT_URLS)[-_EXACT_URLS]) if len(values) > _EXACT_URLS else -np.inf


def _compute_log_odds(score: float) -> float:
    """Return the inverse of the logistic function."""
    return log(max(score, 1e-9) / max(1 - score, 1e-9))


def _logistic_array(z: Floats) -> Floats:
    """Return the logistic function of an array."""
    return (1 / (1 + np.exp(-z))).astype(np.float32)
