"""Step 1. What we look for: words with weights, example pages, and a filter where there is one.

A topic lives in `topic.toml`, readable and editable by hand:

    name = "dengue fever"
    languages = ["en"]
    threshold = 0.16

    [words]
    dengue = 1.0
    fever = 1.0

    [words.de]        # with "de" among the languages: the words for pages in German
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

from topicrawl.topic.filter import Filter, Thresholds
from topicrawl.topic.reading import examples, load, toml_table
from topicrawl.topic.topic import Topic, usual_threshold

__all__ = ["Filter", "Thresholds", "Topic", "examples", "load", "toml_table", "usual_threshold"]
