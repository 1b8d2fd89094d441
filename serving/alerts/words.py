"""An alert in words that a person on call can act on, in English and in Simplified Chinese."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from driftline.drift.verdict import Language

from .alert import Alert, Message
from .fitting import cut

TITLE_BYTES = 300

_KINDS = {
    "drift": ("Drift", "数据漂移"),
    "limit": ("Limit exceeded", "超出限值"),
    "low_confidence": ("Low confidence", "置信度偏低"),
    "latency": ("Slow inference", "推理延迟变慢"),
    "accuracy": ("Accuracy dropped", "准确率下降"),
    "schema": ("Inputs do not fit", "输入不符合约定"),
    "health": ("Monitoring degraded", "监控自身异常"),
    "training": ("Training", "训练事件"),
}
_SEVERITIES = {
    "minor": ("minor", "轻微"),
    "moderate": ("moderate", "中等"),
    "major": ("major", "严重"),
}
_LOOK_AT = {
    "drift": (
        "Look at the signals below: a changed source, unit or preprocessing first, then whether "
        "the population itself moved.",
        "请查看下列信号:先排查数据来源、单位或预处理是否改变,再判断总体是否变化。",
    ),
    "limit": (
        "Look at what moved the mean: a changed source or preprocessing comes first.",
        "请查看均值变化的原因:先排查数据来源或预处理是否改变。",
    ),
    "low_confidence": (
        "Look at the requests with low confidence: new classes, bad images, or input drift.",
        "请查看低置信度的请求:是否有新类别、低质量图像或输入漂移。",
    ),
    "latency": (
        "Look at load, batch sizes and the machine; compare with the packaged baseline.",
        "请查看负载、批大小与机器状态,并与打包时的基线比较。",
    ),
    "accuracy": (
        "Look at recent labels class by class; retrain or roll back if it lasts.",
        "请按类别查看近期标签;若持续下降,请考虑重新训练或回滚。",
    ),
    "schema": (
        "Look at what the clients send: shape, type and range against the model's signature.",
        "请对照模型签名检查客户端发送的形状、类型与取值范围。",
    ),
    "health": (
        "Look at the store and the service log; predictions go on, verdicts may be late.",
        "请检查存储与服务日志;预测不受影响,但判定可能延迟。",
    ),
    "training": (
        "Look at the run's curves around this step before letting it go on.",
        "请先查看该步附近的训练曲线,再决定是否继续。",
    ),
}


class Told(Struct, frozen=True):
    """A title of one line and at most 300 bytes, lines of plain text, a line a signal, and a link
    or ``""``."""

    title: str
    lines: tuple[str, ...]
    signals: tuple[str, ...]
    link: str


def told(message: Message, language: Language) -> Told:
    """The message in words."""
    words = (_chinese if language == "zh" else _english)(message)
    return replace(words, title=cut(words.title, TITLE_BYTES))


def link_text(language: Language) -> str:
    """What a link to the page is called."""
    return "打开漂移页面" if language == "zh" else "Open the drift page"


def footer(message: Message) -> str:
    """Names the sender and the alert, under whose id it can be acknowledged; no other alert's
    message ends so, and a message that is sent again ends as it did."""
    return f"driftline · {message.alert.id}"


def _english(message: Message) -> Told:
    alert = message.alert
    kind, name = _KINDS[alert.kind][0], _name(alert)
    if message.state == "resolved":
        title = f"[resolved] {kind}: {name}"
        over = f"Over since {_time(alert.until)}; it lasted {_lasted(alert, 0)}."
        return Told(title, (over, f"It was: {alert.sentence.en}"), (), alert.link)
    sure = _sure(alert, "Evidence 10^{} (10^{} needed): {}", "more than enough", "enough")
    worse = "" if message.before is None else f", worse than {_SEVERITIES[message.before][0]}"
    lines = (
        alert.sentence.en,
        f"Since {_time(alert.since)}, told {_time(message.at)}.",
        *sure,
        _LOOK_AT[alert.kind][0],
    )
    title = f"[{_SEVERITIES[alert.severity][0]}{worse}] {kind}: {name}"
    return Told(title, lines, _signals(alert, 0), alert.link)


def _chinese(message: Message) -> Told:
    alert = message.alert
    kind, name = _KINDS[alert.kind][1], _name(alert)
    if message.state == "resolved":
        over = f"自 {_time(alert.until)} 起恢复,持续 {_lasted(alert, 1)}。"
        return Told(f"[已恢复] {kind}:{name}", (over, f"此前:{alert.sentence.zh}"), (), alert.link)
    worse = "" if message.before is None else f",由{_SEVERITIES[message.before][1]}加重"
    lines = (
        alert.sentence.zh,
        f"始于 {_time(alert.since)},通知于 {_time(message.at)}。",
        *_sure(alert, "证据强度 10^{}(阈值 10^{}):{}", "远超阈值", "达到阈值"),
        _LOOK_AT[alert.kind][1],
    )
    title = f"[{_SEVERITIES[alert.severity][1]}{worse}] {kind}:{name}"
    return Told(title, lines, _signals(alert, 1), alert.link)


def _signals(alert: Alert, language: int) -> tuple[str, ...]:
    lines = [
        f"{each.name} ({each.group}, {_SEVERITIES[each.severity][0]}): {each.sentence.en}"
        if language == 0
        else f"{each.name}({each.group},{_SEVERITIES[each.severity][1]}):{each.sentence.zh}"
        for each in alert.signals
    ]
    more = alert.signal_count - len(alert.signals)
    if more > 0:
        lines.append(f"and {more} more" if language == 0 else f"另有 {more} 个信号")
    return tuple(lines)


def _sure(alert: Alert, text: str, more: str, enough: str) -> tuple[str, ...]:
    found, needed = alert.evidence_log10, alert.needed_log10
    if found is None or needed is None:
        return ()
    return (text.format(f"{found:.1f}", f"{needed:.1f}", more if found > needed + 1 else enough),)


def _name(alert: Alert) -> str:
    name = f"{alert.model}/{alert.version}"
    return f"{name} · {alert.name}" if alert.name else name


def _time(at: datetime | None) -> str:
    return "?" if at is None else at.strftime("%Y-%m-%d %H:%M:%SZ")


def _lasted(alert: Alert, language: int) -> str:
    seconds = int(((alert.until or alert.opened) - alert.since).total_seconds())
    for length, words in ((86400, ("d", " 天")), (3600, ("h", " 小时")), (60, ("min", " 分钟"))):
        if seconds >= 2 * length:
            unit = words[language]
            return f"{seconds // length}{' ' if language == 0 else ''}{unit}"
    return f"{max(seconds, 0)} s" if language == 0 else f"{max(seconds, 0)} 秒"
