"""Topics: words with weights, example pages, and optionally a filter.

A topic is stored in `topic.toml`, which the user can edit:

    name = "dengue fever"
    languages = ["en"]
    threshold = 0.5

    [words]
    dengue = 1.0
    fever = 1.0

    [words.de]        # words for pages in German; "de" must be one of the languages
    denguefieber = 1.0

    [filter]
    terms = ["dengue", "fever", "mosquito"]
    pairs = ["dengue fever"]

    [thresholds]
    terms = 0.5

    [examples]
    relevant = ["https://example.org/dengue.html"]
    irrelevant = []
"""

from topicrawl.topic.files import load_examples, load_toml, load_topic
from topicrawl.topic.filter import Thresholds, TopicFilter
from topicrawl.topic.topic import DEFAULT_THRESHOLD, Topic, compute_similarity_threshold

__all__ = [
    "DEFAULT_THRESHOLD",
    "Thresholds",
    "Topic",
    "TopicFilter",
    "compute_similarity_threshold",
    "load_examples",
    "load_toml",
    "load_topic",
]
