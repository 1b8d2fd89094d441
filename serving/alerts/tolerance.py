"""How much of what is normal now and then is too much: plain shares, beside the verdicts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Share = Annotated[float, Meta(ge=0, le=1)]


class Tolerance(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Shares beyond which an alert fires, once chance is ruled out.

    - `low_confidence`: of predictions under the confidence limit; at least one and a half times
      what was usual on the reference data is tolerated in any case.
    - `slow`: of requests over the latency limit.
    - `failed`: of requests that the model failed to answer.
    - `schema`: of requests that did not fit the signature, over the last five minutes.
    - `accuracy_loss`: how far expected accuracy may lie below the packaged one. Of accuracy by
      labels the package's thresholds say it.
    """

    low_confidence: Share = 0.05
    slow: Share = 0.05
    failed: Share = 0.05
    schema: Share = 0.05
    accuracy_loss: Share = 0.05
