"""The two desks of a service: of its model, and of the trainings that push to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evaluation.desk import TRAININGS, Desk
from ..evaluation.judging import Caught
from ..stores.store import Store
from ..watches.model import ModelWatch
from ..watches.outage import Outage
from ..watches.training import TrainingWatch

if TYPE_CHECKING:
    from ..alerts.alerts import AlertSettings
    from .session import Plan


def desks(plan: Plan, store: Store, holder: str, caught: Caught) -> tuple[Desk, Desk]:
    """The desk of the plan's model, and that of trainings; both tell whom the plan names. `caught`
    is told of what the model's watch could not look at."""
    metadata = plan.package.metadata
    own = (metadata.model.name, metadata.model.version)
    watch = ModelWatch(
        store,
        own,
        tolerance=plan.alerts.tolerance,
        limits=plan.thresholds,
        caught=caught,
    )
    model = Desk(own[0], store, plan.alerts, holder=holder, watch=watch, outage=Outage(own))
    return model, trainings(plan.alerts, store, holder)


def trainings(settings: AlertSettings, store: Store, holder: str) -> Desk:
    """The desk of the trainings in `store`, whoever runs it; one of all of them is at work."""
    return Desk(TRAININGS, store, settings, holder=holder, watch=TrainingWatch(store))
