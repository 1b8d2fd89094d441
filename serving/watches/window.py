"""What a window's requests say: confidence, latency, failures.

Since when is not told: the window goes back far before what is wrong in it, up to an hour, so its
alert began when it was first seen.
"""

from __future__ import annotations

from driftline.metadata.thresholds import Thresholds

from ..alerts.condition import Condition
from ..alerts.tolerance import Tolerance
from ..evaluation.standing import Standing
from ..known import Version
from .share import percent, too_large


def low_confidence(
    standing: Standing, version: Version, tolerance: Tolerance, limits: Thresholds | None
) -> Condition:
    """Too many predictions of little confidence; `limits` are known of the version served here."""
    service = standing.service
    share, total = service.low_confidence or 0.0, service.predictions
    usual = service.usual_low_confidence
    tolerated = max(tolerance.low_confidence, min(1.5 * (usual or 0.0), 1.0))
    known, known_zh = "how many were on the reference data is not known", "参考数据上的比例未知"
    if usual is not None:
        known = f"about {percent(usual)} were on the reference data"
        known_zh = f"参考数据上约为 {percent(usual)}"
    bound = "" if limits is None or limits.low_confidence is None else f" {limits.low_confidence:g}"
    return Condition(
        kind="low_confidence",
        model=version[0],
        version=version[1],
        firing=too_large(round(share * total), total, tolerated),
        severity="major" if share > 0.5 else "moderate",
        sentence_en=(
            f"{percent(share)} of {total:,} predictions are below the confidence limit{bound}; "
            f"{known}, {percent(tolerated)} are tolerated."
        ),
        sentence_zh=(
            f"{total:,} 次预测中有 {percent(share)} 低于置信度下限{bound};"
            f"{known_zh},容许 {percent(tolerated)}。"
        ),
    )


def slow(
    standing: Standing, version: Version, tolerance: Tolerance, limits: Thresholds | None
) -> Condition:
    """Too many requests over the latency limit."""
    service = standing.service
    share, total = service.slow or 0.0, service.requests
    known = limits is not None and limits.latency_ms is not None
    bound = f"{limits.latency_ms:g} ms" if known and limits is not None else "the limit"
    bound_zh = bound if known else "上限"
    p95 = "?" if service.p95_ms is None else f"{service.p95_ms:.3g}"
    return Condition(
        kind="latency",
        model=version[0],
        version=version[1],
        firing=too_large(round(share * total), total, tolerance.slow),
        severity="minor",
        sentence_en=(
            f"{percent(share)} of {total:,} requests took more than {bound} "
            f"(95th percentile {p95} ms); {percent(tolerance.slow)} are tolerated."
        ),
        sentence_zh=(
            f"{total:,} 个请求中有 {percent(share)} 超过 {bound_zh}"
            f"(第 95 百分位 {p95} ms),容许 {percent(tolerance.slow)}。"
        ),
    )


def failed(standing: Standing, version: Version, tolerance: Tolerance) -> Condition:
    """Too many requests that the model failed to answer."""
    share, total = standing.service.errors or 0.0, standing.service.requests
    return Condition(
        kind="health",
        model=version[0],
        version=version[1],
        name="failures",
        firing=too_large(round(share * total), total, tolerance.failed),
        severity="major",
        sentence_en=f"The model failed {percent(share)} of {total:,} requests.",
        sentence_zh=f"模型处理 {total:,} 个请求,失败 {percent(share)}。",
    )
