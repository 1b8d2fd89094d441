"""What a monitored training came to, as the metadata hold it."""

from __future__ import annotations

import numpy as np

from driftline.metadata.quality import Health

from .record import Record
from .session import Session

WORST = 3
EVENTS = 100


def health_of(
    session: Session,
    *,
    precision: str | None = None,
    loss_scale: float | None = None,
    finite: bool | None = None,
    ranks: int = 1,
) -> Health:
    """The fingerprint of the run so far, over all its lives, with other ranks' share and the last
    100 events."""
    import mindspore as ms

    record = session.record
    rows = session.rows + session.others_rows
    seconds = session.seconds
    seed = ms.get_seed()
    epochs = [epoch for epoch in record.epochs.closed if epoch.loss.count]
    scale = record.last("loss_scale")
    seen = finite is not False and record.losses.finite
    return Health(
        steps=session.last_step,
        epochs=record.epochs.count,
        seconds=seconds,
        rows_seen=rows or None,
        final_loss=record.losses.final,
        best_loss=record.losses.best,
        loss_by_epoch=tuple(epoch.loss.mean for epoch in epochs),
        loss_sd_by_epoch=tuple(epoch.loss.sd for epoch in epochs),
        finite=None if finite is None and seen else seen,
        gradient_norm_quantiles=_quantiles(record),
        worst_layers=tuple(f"{name}: {words}" for name, words in record.layers.worst(WORST)),
        events=tuple(notice.event() for notice in list(record.notices)[-EVENTS:]),
        rows_per_second=rows / seconds if rows else None,
        precision=precision,
        loss_scale=scale if scale is not None else loss_scale,
        overflows=int(record.overflows + record.others_overflows) if scale is not None else None,
        seed=None if seed is None else int(seed),
        ranks=ranks,
    )


def _quantiles(record: Record) -> tuple[float, ...] | None:
    """The 5th, 50th and 95th percentile of the gradient norm."""
    _, norms = record.norms.series()
    if not len(norms):
        return None
    return tuple(float(each) for each in np.quantile(norms, (0.05, 0.5, 0.95)))
