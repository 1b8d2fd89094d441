"""A package for a model of any framework that is a function of NumPy arrays.

::

    from driftline.train_side.function import package_function

    package_function(
        "packages/iris", model.predict_proba,
        training=[(x_train, y_train)], reference=[(x_test, y_test)],
        inputs=Tabular(("sepal", "petal")), task=Classification(names, head="probabilities"),
        model_name="iris",
    )

MindSpore is not imported. The package holds what the hooks compare with, and no model: the
application keeps its own.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata as distributions
from pathlib import Path
from typing import Any

import numpy as np

from driftline.metadata.errors import InputError
from driftline.metadata.host import host_fingerprint
from driftline.metadata.package import ModelPackage
from driftline.metadata.quality import Health
from driftline.metadata.schema import Framework, ModelInfo

from .batches import Batch, batch_of, input_names
from .latency import latency_baseline
from .packaging import Serving, Training, assembled, concluded
from .parts import Chosen, checked, first_of, parts_of
from .reference_pass import ReferencePass
from .signature import Signature
from .statistics import DataStatistics

Batches = Iterable[Sequence[Any]]
SEED = 0


def package_function(
    path: Path | str,
    predict: Callable[..., Any],
    *,
    training: Batches,
    reference: Batches,
    inputs: Chosen,
    task: Chosen,
    model_name: str,
    model_version: str = "1",
) -> ModelPackage:
    """The package, written to `path`.

    Args:
        path: a folder, or a file whose name ends in ``.zip``; an older package is replaced.
        predict: from the input arrays, batch first, to the output array or a dict of them.
        training: batches (inputs…, label) that the model was trained on.
        reference: batches that it was not trained on.
        inputs: the extractor of the first input, or extractors by input name.
        task: the extractor of the output, or extractors by output name.
        model_name: the name it is watched under.
        model_version: its version.

    Raises:
        SettingError, InputError: an extractor or an array does not fit; names which.
        PackageError: the package cannot be written.
    """
    checked(inputs, "inputs")
    checked(task, "task")
    stats: DataStatistics | None = None
    for batch in map(batch_of, training):
        if stats is None:
            names = input_names(training, len(batch.inputs))
            if isinstance(inputs, dict) and len(inputs) == len(batch.inputs):
                names = tuple(inputs)
            stats = DataStatistics(parts_of(inputs, names, "inputs"), names, first_of(task))
        stats.add(batch)
    if stats is None:
        raise InputError("training", "holds no batch")
    stats.settle()
    ins, outs = Signature(), Signature()
    found: ReferencePass | None = None
    one: Batch | None = None
    for batch in map(batch_of, reference):
        outputs = _named(predict(*batch.inputs))
        if found is None:
            one = batch
            found = ReferencePass(stats.parts, parts_of(task, list(outputs), "task"))
        ins.observe(dict(zip(stats.names, batch.inputs, strict=True)))
        outs.observe(outputs)
        found.add(stats.names, batch, outputs)
    if found is None or one is None:
        raise InputError("reference", "holds no batch")
    findings = concluded(found, source="held_out", seed=SEED)
    first = [each[:1] for each in one.inputs]
    metadata = assembled(
        ModelInfo(
            name=model_name,
            version=model_version,
            architecture=_owner(predict)[0],
            parameters=0,
            description="A function of NumPy arrays; the application keeps the model.",
        ),
        Training(stats.stats(), Health(steps=0, epochs=0, seconds=0.0), None),
        findings,
        Serving(
            ins.specs, outs.specs, latency_baseline(lambda: predict(*first)), _framework(predict)
        ),
    )
    return ModelPackage.write(path, metadata, {})


def _named(outputs: Any) -> dict[str, Any]:
    if isinstance(outputs, dict):
        return {str(name): np.asarray(array) for name, array in outputs.items()}
    return {"output": np.asarray(outputs)}


def _owner(predict: Callable[..., Any]) -> tuple[str, str]:
    """The name of the model's class or function, and of the package that it comes from."""
    owner = getattr(predict, "__self__", predict)
    kind = owner if isinstance(owner, type) or hasattr(owner, "__qualname__") else type(owner)
    return str(kind.__qualname__), str(kind.__module__).split(".")[0]


def _framework(predict: Callable[..., Any]) -> Framework:
    module = _owner(predict)[1]
    named = distributions.packages_distributions().get(module, [])
    return Framework(
        name=named[0] if named else "python",
        version=distributions.version(named[0]) if named else platform.python_version(),
        mode="function",
        device="CPU",
        python=platform.python_version(),
        numpy=np.__version__,
        driftline=distributions.version("driftline"),
        host=host_fingerprint(),
    )
