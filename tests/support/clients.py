"""Clients of a served model in tests: many requests at once, and what `/drift` counted."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import requests
import served


def send(server, count: int, shift: float = 0.0, seed: int = 0, clients: int = 4) -> int:
    """Sends one row a request from several clients; how many were answered 200."""
    own = threading.local()

    def one(row) -> bool:
        if not hasattr(own, "session"):
            own.session = requests.Session()
        try:
            body = {"instances": [row]}
            answer = own.session.post(server.address + "/predict", json=body, timeout=30)
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError):
            del own.session
            return False
        assert answer.status_code == 200, answer.text
        return True

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(one, served.rows(count, seed, shift=shift).tolist()))


def counted(server, least: int) -> int:
    """The total of `/drift`, once it is at least `least`."""

    def arrived() -> int:
        total = server.drift()["window"]["requests_total"]
        return total if total >= least else 0

    return served.until(arrived, 20)
