"""Index updates in this process and in a subprocess."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.helpers.search_collections import create_collection, make_page

from topicrawl.errors import CollectionError
from topicrawl.search import Query, SearchIndex
from topicrawl.search.indexers import InProcessIndexer, SubprocessIndexer


def test_subprocess_has_low_priority_and_is_restarted_after_it_dies(tmp_path: Path) -> None:
    directory = create_collection(tmp_path / "c", [make_page(1, "barn owl")])
    indexer, other = SubprocessIndexer(), InProcessIndexer()
    assert (indexer.index_slice(directory), indexer.index_slice(directory)) == (1, 0)
    process = indexer._process
    assert process is not None
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
    with pytest.raises(CollectionError, match="nowhere"):
        indexer.index_slice(tmp_path / "nowhere")
    create_collection(directory, [make_page(2, "snowy owl")], first=2)
    assert other.index_slice(directory) == 0  # the subprocess has locked the index
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(CollectionError, match="a new process continues"):
        indexer.index_slice(directory)
    assert other.index_slice(directory) == 1
    indexer.stop()
    indexer.close()
    other.close()
    index = SearchIndex(directory)
    assert index.search(Query("owl")).total == 2
    index.close()
