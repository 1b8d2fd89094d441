"""One request as the hooks saw it: what went in, what came out, how long it took."""

from __future__ import annotations

from typing import Any


class Seen:
    """What `before` and `after` note of a request; set `outputs` inside `observe`.

    `inputs` and `outputs` are arrays (batch first), mappings of arrays by name, or tuples in the
    model's order. `seconds` is the time between the hooks, `at` the Unix time at the second one.
    `refused` is a request that the model was never asked: its inputs are counted, and nothing else.
    `request_id` is the one under which labels may come later, where there is one.
    """

    __slots__ = (
        "at",
        "failed",
        "inputs",
        "outputs",
        "refused",
        "request_id",
        "seconds",
        "size",
        "started",
    )

    def __init__(self, inputs: Any) -> None:
        self.inputs = inputs
        self.outputs: Any = None
        self.failed = False
        self.refused = False
        self.request_id = ""
        self.started = 0.0
        self.seconds = 0.0
        self.at = 0.0
        self.size = 0
