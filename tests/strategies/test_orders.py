"""Every strategy fetches the pages of a small web in the order that was recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.tooling import loaded

from topicrawl import strategies

record_orders = loaded("record_orders")
ORDERS = json.loads(record_orders.ORDERS.read_text("utf-8")) if record_orders.ORDERS.exists() else {}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return record_orders.Field.made(tmp_path_factory.mktemp("orders"))


@pytest.mark.parametrize("name", strategies.available())
def test_a_strategy_goes_its_way(name: str, field: Any) -> None:
    assert name in ORDERS, f"no order is recorded: python tools/record_orders.py {name}"
    assert field.order(name) == ORDERS[name], f"if this is wanted: python tools/record_orders.py {name}"
