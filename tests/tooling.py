"""The scripts of tools/, loaded as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TOOLS = Path(__file__).parent.parent / "tools"


def loaded(name: str) -> ModuleType:
    """The script tools/NAME.py."""
    found = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    # Its dataclasses look their own module up.
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module
