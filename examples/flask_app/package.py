"""Trains scikit-learn on its wine data and packages what it knew.

``python -m examples.flask_app.package``
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftline.train_side import Classification, Tabular
from driftline.train_side.function import package_function

BUILD = Path("build/wine")


def draws(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Wines like those of scikit-learn's 178: drawn with replacement, each with a little noise."""
    random = np.random.default_rng(seed)
    wines = load_wine()
    chosen = random.integers(0, len(wines.target), size=count)
    noise = random.normal(0, 0.1, size=(count, wines.data.shape[1])) * wines.data.std(axis=0)
    return wines.data[chosen] + noise, wines.target[chosen]


def main(build: Path = BUILD) -> None:
    """Leaves ``model.pkl`` and ``package`` in `build`."""
    build.mkdir(parents=True, exist_ok=True)
    wines = load_wine()
    x, y = draws(2_000, seed=1)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000)).fit(x, y)
    (build / "model.pkl").write_bytes(pickle.dumps(model))
    names = [name.replace("/", "_") for name in wines.feature_names]
    package_function(
        build / "package",
        model.predict_proba,
        training=[(x, y)],
        reference=[draws(5_000, seed=2)],
        inputs=Tabular(tuple(names)),
        task=Classification(tuple(wines.target_names), head="probabilities"),
        model_name="wine",
    )


if __name__ == "__main__":
    main()
