"""Every strategy fetches the pages of a small web in the recorded order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.helpers.scripts import load_script

from topicrawl import strategies

record_orders = load_script("record_orders")
ORDERS = json.loads(record_orders.ORDERS.read_text("utf-8")) if record_orders.ORDERS.exists() else {}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return record_orders.OrderBenchmark.build(tmp_path_factory.mktemp("orders"))


@pytest.mark.parametrize("name", strategies.list_strategies())
def test_a_strategy_fetches_in_the_recorded_order(name: str, field: Any) -> None:
    assert name in ORDERS, f"no order is recorded: python tools/record_orders.py {name}"
    assert field.fetch_order(name) == ORDERS[name], f"if the change is intended: python tools/record_orders.py {name}"
