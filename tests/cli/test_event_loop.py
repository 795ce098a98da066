"""Event loop of the commands: it returns free memory to the system."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = Path(__file__).with_name("memory_trim_probe.py")


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc")
@pytest.mark.parametrize(("seconds", "is_returned"), [("0.01", True), ("60", False)])
def test_free_memory_is_returned_at_regular_intervals(seconds: str, is_returned: bool) -> None:
    ran = subprocess.run([sys.executable, PROBE, seconds], capture_output=True, text=True, check=True)
    assert (float(ran.stdout) > 100) is is_returned
