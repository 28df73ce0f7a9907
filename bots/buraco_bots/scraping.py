"""Reading metrics in the Prometheus text format."""

from __future__ import annotations

from collections import defaultdict
from http.client import HTTPConnection, HTTPException
from typing import Final

TIMEOUT: Final = 5.0
"""Seconds."""


def scrape(address: str) -> dict[str, float]:
    """The values at `host:port`, those of all labels of a metric added up; empty where none can be had. Blocks."""
    connection = HTTPConnection(address, timeout=TIMEOUT)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    except (OSError, HTTPException):
        return {}
    finally:
        connection.close()
    values: defaultdict[str, float] = defaultdict(float)
    for line in text.splitlines():
        if line and not line.startswith("#"):
            labelled, value = line.rsplit(" ", 1)
            values[labelled.partition("{")[0]] += float(value)
    return dict(values)
