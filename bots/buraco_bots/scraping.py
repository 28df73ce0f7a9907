"""Reads metrics in the Prometheus text format."""

from __future__ import annotations

from collections import defaultdict
from http.client import HTTPConnection, HTTPException
from typing import Final

TIMEOUT_SECONDS: Final = 5.0


def scrape(address: str) -> dict[str, float]:
    """Return the values at `host:port` by metric, added up over its labels; empty if there is no answer.

    Block up to TIMEOUT_SECONDS for each read. Raise ValueError for an answer in another form.
    """
    connection = HTTPConnection(address, timeout=TIMEOUT_SECONDS)
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
            series, value = line.rsplit(" ", 1)
            values[series.partition("{")[0]] += float(value)
    return dict(values)
