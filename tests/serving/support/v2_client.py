"""Run as a program: NVIDIA's own client against a server, since gevent wants a process of its own.

``python v2_client.py HOST:PORT ROWS.npz`` prints what it was told as JSON.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException


def main(address: str, expected: str) -> None:
    with np.load(expected) as arrays:
        rows, logits = arrays["rows"], arrays["logits"]
    client = http.InferenceServerClient(address, concurrency=4)
    told = {
        "live": client.is_server_live(),
        "ready": client.is_server_ready() and client.is_model_ready("toy", "1"),
        "server": client.get_server_metadata()["name"],
        "listed": client.get_model_repository_index(),
        "metadata": client.get_model_metadata("toy"),
        "furthest": {},
    }
    for inputs in (False, True):
        for outputs in (False, True, None):
            sent = http.InferInput("x", rows.shape, "FP32")
            sent.set_data_from_numpy(rows, binary_data=inputs)
            wanted = None
            if outputs is not None:
                wanted = [http.InferRequestedOutput("logits", binary_data=outputs)]
            answer = client.infer("toy", [sent], outputs=wanted, request_id="seven")
            assert answer.get_response()["id"] == "seven"
            found = answer.as_numpy("logits")
            assert found.dtype == np.float32
            furthest = float(np.abs(found - logits).max())
            told["furthest"][f"binary in {inputs}, out {outputs}"] = furthest
    told["several"] = _several(client, rows, logits)
    told["errors"] = {name: _error(client, *each) for name, each in _wrong(rows).items()}
    print(json.dumps(told))


def _several(client, rows: np.ndarray, logits: np.ndarray) -> float:
    """The largest difference of 64 requests under way at once, one row each."""
    waiting = []
    for row in rows[:64]:
        sent = http.InferInput("x", (1, 4), "FP32")
        sent.set_data_from_numpy(row[None])
        waiting.append(client.async_infer("toy", [sent]))
    found = [each.get_result().as_numpy("logits")[0] for each in waiting]
    return float(np.abs(np.array(found) - logits[:64]).max())


def _wrong(rows: np.ndarray):
    return {
        "no model": ("other", "x", rows),
        "no input": ("toy", "y", rows),
        "shape": ("toy", "x", rows[:, :3]),
    }


def _error(client, model: str, name: str, rows: np.ndarray) -> list[str]:
    sent = http.InferInput(name, rows.shape, "FP32")
    sent.set_data_from_numpy(rows)
    try:
        client.infer(model, [sent])
    except InferenceServerException as error:
        return [error.status(), error.message()]
    return []


if __name__ == "__main__":
    main(*sys.argv[1:])
