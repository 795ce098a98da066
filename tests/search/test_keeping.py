"""An index is written in a process beside the server as it is written here."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.search.made import made, owls

from topicrawl.errors import CollectionError
from topicrawl.search import Index, Query
from topicrawl.search.keeping import KeepingBeside, KeepingHere


def test_a_process_beside_writes_an_index_steps_back_and_is_replaced_when_it_dies(tmp_path: Path) -> None:
    directory = made(tmp_path / "c", [owls(1, "barn owl")])
    keeping, other = KeepingBeside(), KeepingHere()
    assert (keeping.add(directory), keeping.add(directory)) == (1, 0)
    process = keeping._process
    assert process is not None
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == os.getpriority(os.PRIO_PROCESS, 0) + 10
    with pytest.raises(CollectionError, match="nowhere"):
        keeping.add(tmp_path / "nowhere")
    made(directory, [owls(2, "snowy owl")], first=2)
    assert other.add(directory) == 0  # it is in use
    process.send_signal(signal.SIGKILL)
    process.wait()
    with pytest.raises(CollectionError, match="another will go on"):
        keeping.add(directory)
    assert other.add(directory) == 1
    keeping.stop()
    keeping.close()
    other.close()
    index = Index(directory)
    assert index.search(Query("owl")).pages == 2
    index.close()
