"""The application; what watches it are the five lines that name driftline.

``python -m examples.flask_app.package && flask --app examples.flask_app.app run``
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from flask import Flask, request

from driftline.serving.extension import Driftline

BUILD = Path(os.environ.get("WINE_BUILD", "build/wine"))
model = pickle.loads((BUILD / "model.pkl").read_bytes())
app = Flask(__name__)
driftline = Driftline(app, package=BUILD / "package", store=str(BUILD / "state.db"))


@app.post("/predict")
def predict() -> dict[str, Any]:
    """Rows of 13 numbers → the probability of each kind of wine."""
    rows = np.array(request.get_json()["rows"], dtype=float)
    with driftline.observe(rows) as seen:
        seen.outputs = model.predict_proba(rows)
    return {"request_id": seen.request_id, "probabilities": seen.outputs.tolist()}
