"""Verdicts in words, for the person on call: English and Chinese."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from .verdict import Breach, Language, MemberVerdict, MultivariateVerdict, SignalVerdict, Verdict

_LOG_YEAR = math.log10(365.25 * 86400)
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
_CHINESE_UNITS = {"d": "天", "h": "小时", "min": "分钟", "s": "秒"}
_SEVERITY = {"minor": "轻微", "moderate": "中等", "major": "严重"}


def sentence(
    verdict: Verdict | MemberVerdict | Breach, language: Language = "en", width: int = 60
) -> str:
    """What a verdict, a member's verdict or a breached limit says; buckets last `width` seconds."""
    chinese = language == "zh"
    if isinstance(verdict, Breach):
        return (_breach_zh if chinese else _breach_en)(verdict)
    if isinstance(verdict, SignalVerdict):
        return (_signal_zh if chinese else _signal_en)(verdict, width)
    if isinstance(verdict, MultivariateVerdict):
        return (_together_zh if chinese else _together_en)(verdict, width)
    assert isinstance(verdict, Verdict)
    return (_overall_zh if chinese else _overall_en)(verdict, width)


def _overall_en(verdict: Verdict, width: int) -> str:
    assumes = " This assumes independent requests." if verdict.independent else ""
    if verdict.state == "no_data":
        return "No requests in the window."
    rows = f"{verdict.window_rows:,} rows"
    if verdict.state == "insufficient_data":
        needed = _needed(verdict)
        return f"{rows} so far; about {needed:,} are needed before quiet means stable.{assumes}"
    if verdict.state == "stable":
        return f"No change in {len(verdict.signals)} signals over {rows}.{assumes}"
    changed, many = _changed(verdict), _together(verdict)
    if many and not (changed and changed[0].state == verdict.state):
        alone = "drifted" if verdict.state == "drift" else "surely changed"
        return f"{_together_en(many[0], width)} None of them has {alone} by itself.{assumes}"
    if not changed:
        since = _time(verdict.onset)
        return (
            f"The signals together have changed since {since}, none of them surely by itself; "
            f"{_rarity_en(verdict.evidence_log10, width)}.{assumes}"
        )
    names = _list([each.name for each in changed], " and ", "{} and {} more")
    weight = "Drift" if verdict.state == "drift" else "A small change"
    first = _signal_en(changed[0], width)
    return f"{weight} in {names} since {_time(verdict.onset)}. {first}{assumes}"


def _overall_zh(verdict: Verdict, width: int) -> str:
    assumes = "(假定各请求相互独立。)" if verdict.independent else ""
    if verdict.state == "no_data":
        return "窗口内没有请求。"
    rows = f"{verdict.window_rows:,} 行"
    if verdict.state == "insufficient_data":
        needed = _needed(verdict)
        return f"目前只有 {rows};约需 {needed:,} 行才能判定为稳定。{assumes}"
    if verdict.state == "stable":
        return f"{rows}数据中 {len(verdict.signals)} 个信号均无变化。{assumes}"
    changed, many = _changed(verdict), _together(verdict)
    if many and not (changed and changed[0].state == verdict.state):
        alone = "漂移" if verdict.state == "drift" else "确定的变化"
        return f"{_together_zh(many[0], width)}其中没有任何一个单独发生{alone}。{assumes}"
    if not changed:
        return (
            f"自 {_time(verdict.onset)} 起各信号整体发生变化,尚无法确定是哪一个;"
            f"{_rarity_zh(verdict.evidence_log10, width)}。{assumes}"
        )
    names = _list([each.name for each in changed], "、", "{}等(另有 {} 个)")
    weight = "漂移" if verdict.state == "drift" else "轻微变化"
    first = sentence(changed[0], "zh", width)
    return f"自 {_time(verdict.onset)} 起 {names} 出现{weight}。{first}{assumes}"


def _signal_en(each: SignalVerdict, width: int) -> str:
    if each.state == "no_data":
        return f"{each.name} has no values in the window."
    if each.state == "insufficient_data":
        return f"{each.name}: {each.window_size:,} values; about {each.needed:,} are needed."
    if each.state == "stable" or each.effect is None:
        return f"{each.name} is as in the reference ({each.window_size:,} values)."
    words = {"up": "rose by {} σ", "down": "fell by {} σ"}
    moved = _moved(each, words, "rose from {} to {}", "changed; {} went from {} to {}", "other")
    return (
        f"{each.name} {moved} since {_time(each.onset)}; PSI {each.effect.psi:.2f} "
        f"({each.severity}); {_rarity_en(each.evidence_log10, width)}."
    )


def _signal_zh(each: SignalVerdict, width: int) -> str:
    if each.state == "no_data":
        return f"{each.name} 在窗口内没有数值。"
    if each.state == "insufficient_data":
        return f"{each.name}:现有 {each.window_size:,} 个数值,约需 {each.needed:,} 个。"
    if each.state == "stable" or each.effect is None:
        return f"{each.name} 与参考一致({each.window_size:,} 个数值)。"
    words = {"up": "上升了 {} σ", "down": "下降了 {} σ"}
    moved = _moved(each, words, "由 {} 升至 {}", "分布改变;{} 由 {} 变为 {}", "其他")
    return (
        f"自 {_time(each.onset)} 起 {each.name} {moved};PSI {each.effect.psi:.2f}"
        f"({_SEVERITY[each.severity or 'minor']});{_rarity_zh(each.evidence_log10, width)}。"
    )


def _together_en(each: MultivariateVerdict, width: int) -> str:
    if each.state == "no_data":
        return f"{each.name}: no values in the window."
    if each.state == "insufficient_data":
        return f"{each.name}: {each.window_size:,} values; about {each.needed:,} are needed."
    if each.state == "stable":
        return f"{each.name}: as in the reference ({each.window_size:,} values)."
    most = ", ".join(f"{name} {shift:+.2f} σ" for name, shift in list(each.moved.items())[:3])
    return (
        f"{each.name}: moved by {_figure(each.distance)} σ since {_time(each.onset)}, most {most} "
        f"({each.severity}); {_rarity_en(each.evidence_log10, width)}."
    )


def _together_zh(each: MultivariateVerdict, width: int) -> str:
    group = {"input": "输入", "output": "输出"}.get(each.group, each.group)
    name = f"{group}信号整体"
    if each.state == "no_data":
        return f"{name}在窗口内没有数值。"
    if each.state == "insufficient_data":
        return f"{name}:现有 {each.window_size:,} 个数值,约需 {each.needed:,} 个。"
    if each.state == "stable":
        return f"{name}与参考一致({each.window_size:,} 个数值)。"
    most = "、".join(f"{name} {shift:+.2f} σ" for name, shift in list(each.moved.items())[:3])
    return (
        f"自 {_time(each.onset)} 起{name}移动了 {_figure(each.distance)} σ,其中变化最大的是 {most}"
        f"({_SEVERITY[each.severity or 'minor']});{_rarity_zh(each.evidence_log10, width)}。"
    )


def _breach_en(breach: Breach) -> str:
    what = {
        "mean_change": "differs from the reference's by {} (allowed: {})",
        "mean_low": "is {}, below {}",
        "mean_high": "is {}, above {}",
    }[breach.limit].format(f"{breach.found:.4g}", f"{breach.allowed:.4g}")
    return f"The mean of {breach.column} {what}."


def _breach_zh(breach: Breach) -> str:
    what = {
        "mean_change": "与参考相差 {}(允许 {})",
        "mean_low": "为 {},低于 {}",
        "mean_high": "为 {},高于 {}",
    }[breach.limit].format(f"{breach.found:.4g}", f"{breach.allowed:.4g}")
    return f"{breach.column} 的均值{what}。"


def _moved(each: SignalVerdict, shift: dict[str, str], rose: str, changed: str, other: str) -> str:
    effect = each.effect
    assert effect is not None
    before, now = _percent(effect.reference_rate), _percent(effect.rate)
    if each.kind == "flag":
        return rose.format(before, now)
    sd = effect.mean_shift_sd
    # A shift of the mean tells the story when it accounts for the distance; else the cell does.
    if sd is not None and abs(sd) >= 0.1 and (effect.w1_sd is None or abs(sd) > effect.w1_sd / 2):
        return shift["up" if sd > 0 else "down"].format(_figure(abs(sd)))
    return changed.format(other if effect.cell == "other" else effect.cell, before, now)


def _needed(verdict: Verdict) -> int:
    main = [each.needed for each in verdict.signals if each.kind != "flag"]
    return min(main or [each.needed for each in verdict.signals], default=0)


def _changed(verdict: Verdict) -> list[SignalVerdict]:
    """The signals that changed, those in drift and with most evidence first."""
    found = [each for each in verdict.signals if each.state in ("drift", "warning")]
    return sorted(found, key=lambda each: (each.state != "drift", -each.evidence_log10))


def _together(verdict: Verdict) -> list[MultivariateVerdict]:
    """Signals together that changed, those with most evidence first."""
    found = [each for each in verdict.multivariates if each.state in ("drift", "warning")]
    return sorted(found, key=lambda each: (each.state != "drift", -each.evidence_log10))


def _list(names: list[str], joint: str, more: str) -> str:
    if len(names) <= 3:
        return joint.join(names) if len(names) < 3 else f"{names[0]}, {joint.join(names[1:])}"
    return more.format(", ".join(names[:3]), len(names) - 3)


def _rarity_en(evidence: float, width: int) -> str:
    return f"without a change such evidence comes less than once in {_span(evidence, width)}"


def _rarity_zh(evidence: float, width: int) -> str:
    return f"若无变化,如此证据平均 {_span(evidence, width, chinese=True)}才出现不到一次"


def _span(evidence: float, width: int, *, chinese: bool = False) -> str:
    """A bucket's length times 10^evidence, rounded down to something one can say."""
    logarithm = evidence + math.log10(width)
    if logarithm >= _LOG_YEAR + 3:
        return "一千年" if chinese else "a thousand years"
    if logarithm >= _LOG_YEAR:
        years = math.floor(10 ** (logarithm - _LOG_YEAR))
        return f"{years} 年" if chinese else _plural(years, "year")
    seconds = 10**logarithm
    unit, length = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    number = max(math.floor(seconds / length), 1)
    return f"{number} {_CHINESE_UNITS[unit]}" if chinese else f"{number} {unit}"


def _plural(number: int, word: str) -> str:
    return f"{number} {word}" + ("s" if number != 1 else "")


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{_figure(100 * share)} %"


def _figure(number: float) -> str:
    """Two figures, and never an exponent for what is large."""
    return f"{number:.2g}" if abs(number) < 99.5 else f"{number:,.0f}"


def _time(seconds: int | None) -> str:
    """``14:05Z``, with the date, since an onset may lie days back."""
    if seconds is None:
        return "?"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%MZ")
