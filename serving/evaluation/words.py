"""What is said of performance, in English and in Chinese."""

from __future__ import annotations

from driftline.drift.harm import Harm
from driftline.drift.latency import Latency
from driftline.drift.quality import Estimate

from ..alerts.alert import Text


def latency_words(found: Latency) -> Text:
    """One sentence on latency against its baseline."""
    usual = found.usual
    if usual is None or found.seconds is None or found.rate is None:
        why = found.reason or "no requests yet"
        return Text(f"No baseline of latency: {why}.", "延迟尚无基线。")
    package = usual.source == "package"
    then = "in the package's timings" if package else "in this service's first stable stretch"
    then_zh = "打包时的计时" if package else "本服务最初的稳定时段"
    now, before = _percent(found.rate), _percent(found.usual_rate)
    mark = f"{found.seconds * 1000:.3g}"
    word, word_zh = ("Slower", "变慢") if found.regressed else ("As usual", "正常")
    return Text(
        f"{word}: {now} of requests take more than {mark} ms; {before} did {then}.",
        f"{word_zh}:{now} 的请求超过 {mark} ms,{then_zh}为 {before}。",
    )


def harm_words(found: Harm) -> Text:
    """One sentence on accuracy by labels."""
    if found.accuracy is None:
        return Text("No label has arrived.", "尚未收到标签。")
    now, base, loss = _percent(found.accuracy), _percent(found.packaged), _percent(found.tolerance)
    if found.harmful:
        return Text(
            f"Accuracy fell by more than {loss} below the packaged {base}: "
            f"{now} of {found.rows:,} labelled predictions were right.",
            f"准确率比打包时的 {base} 下降超过 {loss}:{found.rows:,} 个有标签的预测中 {now} 正确。",
        )
    return Text(
        f"{now} of {found.rows:,} labelled predictions were right; {base} when packaged.",
        f"{found.rows:,} 个有标签的预测中 {now} 正确;打包时为 {base}。",
    )


def estimate_words(found: Estimate) -> Text:
    """One sentence on expected accuracy."""
    low, high, base = _percent(found.low), _percent(found.high), _percent(found.packaged)
    doubt = f" Not to be relied on: {found.unreliable}." if found.unreliable else ""
    doubt_zh = "该估计不可靠。" if found.unreliable else ""
    return Text(
        f"Expected accuracy of {found.rows:,} predictions: {_percent(found.cbpe)} "
        f"({low} to {high}); {base} when packaged.{doubt}",
        f"{found.rows:,} 个预测的预期准确率:{_percent(found.cbpe)}({low} 至 {high});"
        f"打包时为 {base}。{doubt_zh}",
    )


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.3g} %"
