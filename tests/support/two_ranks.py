"""One rank of three data-parallel trainings; started by ``msrun``, twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.communication import get_rank, init
from watched import MODES, Losses, cross_entropy, rows

from driftline.train_side.monitor import TrainingMonitor
from driftline.train_side.policies import Log, Stop
from driftline.train_side.settings import MonitorSettings, Sampling


def trained(arrays: Any, monitor: TrainingMonitor | None) -> dict[str, Any]:
    data = ms.dataset.NumpySlicesDataset(arrays, shuffle=False).batch(16)
    ms.set_seed(7)
    network = nn.SequentialCell(nn.Dense(12, 16), nn.Tanh(), nn.Dense(16, 3))
    optimizer = nn.Momentum(network.trainable_params(), 0.1, 0.9)
    losses = Losses()
    callbacks = [losses] if monitor is None else [losses, monitor]
    ms.Model(network, cross_entropy(), optimizer).train(4, data, callbacks=callbacks)
    health = monitor.health() if monitor is not None else None
    return {
        "losses": losses.values,
        "rows": health.rows_seen if health else None,
        "ranks": health.ranks if health else None,
        "events": [event.sentence for event in health.events] if health else [],
        "weights": [each.asnumpy().tolist() for each in network.get_parameters()],
    }


if __name__ == "__main__":
    mode, folder = sys.argv[1], Path(sys.argv[2])
    ms.set_context(mode=MODES[mode])
    init()
    rank = get_rank()
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=2
    )
    x, y = rows(160, seed=rank)
    settings = MonitorSettings(sampling=Sampling(every=1))
    monitor = TrainingMonitor(folder / "watched", sinks=(), settings=settings)
    told = {"alone": trained((x, y), None), "watched": trained((x, y), monitor)}
    if rank == 1:
        x = x.copy()
        x[40, 3] = np.nan  # in its third batch
    monitor = TrainingMonitor(
        folder / "nan", sinks=(), settings=settings, policies={"non_finite": (Log(), Stop())}
    )
    told["nan"] = trained((x, y), monitor)
    (folder / f"rank{rank}.json").write_text(json.dumps(told))
