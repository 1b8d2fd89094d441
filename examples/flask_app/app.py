"""The application; what watches it are the five lines that name driftline.

``python -m examples.flask_app.package && flask --app examples.flask_app.app run``
"""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from flask import Flask, abort, request

from driftline.serving.extension import Driftline

BUILD = Path(os.environ.get("WINE_BUILD", "build/wine"))
model = pickle.loads((BUILD / "model.pkl").read_bytes())
app = Flask(__name__)
driftline = Driftline(app, package=BUILD / "package", store=str(BUILD / "state.db"))


def rows_in(body: Any) -> np.ndarray:
    """Its rows of 13 finite numbers; 422 where it has no such."""
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        rows = np.array(body["rows"], dtype=float)
        if rows.shape == (len(rows), 13) and len(rows) and np.isfinite(rows).all():
            return rows
    abort(422, "rows: a list of rows of 13 finite numbers is wanted")


@app.post("/predict")
def predict() -> dict[str, Any]:
    """Rows of 13 numbers → the probability of each kind of wine."""
    rows = rows_in(request.get_json())
    with driftline.observe(rows) as seen:
        seen.outputs = model.predict_proba(rows)
    return {"request_id": seen.request_id, "probabilities": seen.outputs.tolist()}
