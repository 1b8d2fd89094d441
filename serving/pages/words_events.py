"""What the events of a training say, in English and in Simplified Chinese, by the rule's kind.

A training says a sentence in English, with its values in it; here stands each sentence that its
rules have, the values as gaps, beside its Chinese. What is not here is told as it came.
"""

from __future__ import annotations

import re

# Where a sentence begins like another, the longer one stands first.
EVENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "frozen_learning_rate": (
        (
            "The learning rate is {rate} since step {since}: nothing is learned.",
            "自第 {since} 步起学习率为 {rate}:模型没有在学习。",
        ),
        (
            "The learning rate has a schedule, and is {rate} all the time since step {since}.",
            "学习率设有调度,但自第 {since} 步起一直是 {rate}。",
        ),
    ),
    "gradient_concentration": (
        (
            "The last gradient norms vary by {cv} of their mean, below {limit}: they are clipped, "
            "or the batches are alike.",
            "最近的梯度范数波动仅为均值的 {cv} 倍,低于 {limit}:梯度可能被裁剪,或各批数据过于相似。",
        ),
    ),
    "gradient_dispersion": (
        (
            "The last gradient norms vary by {cv} times their mean, above {limit}.",
            "最近的梯度范数波动达均值的 {cv} 倍,高于 {limit}。",
        ),
    ),
    "gradient_explosion": (
        (
            "The gradient norm is {norm}, above {limit} (largest in {layer}: {largest}).",
            "梯度范数为 {norm},高于 {limit}(最大的是 {layer}:{largest})。",
        ),
        (
            "The gradient norm is {norm}, above {limit}.",
            "梯度范数为 {norm},高于 {limit}。",
        ),
    ),
    "gradient_vanishing": (
        (
            "The gradient norm is {norm}, below {limit}: nothing is learned.",
            "梯度范数为 {norm},低于 {limit}:模型没有在学习。",
        ),
        (
            "The gradient of {list} and {more} more is below {limit}: it does not learn.",
            "{list} 以及另外 {more} 层的梯度低于 {limit}:这些层没有在学习。",
        ),
        (
            "The gradient of {list} is below {limit}: it does not learn.",
            "{list} 的梯度低于 {limit}:没有在学习。",
        ),
    ),
    "loss_rise": (
        (
            "The loss is {loss}, above {factor} times its mean of {mean} since step {since}.",
            "自第 {since} 步起,损失高于其均值 {mean} 的 {factor} 倍,现为 {loss}。",
        ),
    ),
    "non_finite": (
        (
            "{list} and {more} more are not finite (NaN or infinite).",
            "{list} 以及另外 {more} 项不是有限数(NaN 或无穷大)。",
        ),
        ("{list} are not finite (NaN or infinite).", "{list} 不是有限数(NaN 或无穷大)。"),
        ("{list} is not finite (NaN or infinite).", "{list} 不是有限数(NaN 或无穷大)。"),
    ),
    "oscillation": (
        (
            "The loss of epoch {epoch} has a standard deviation of {sd}, {times} times that of the "
            "{epochs} epochs before.",
            "第 {epoch} 轮损失的标准差为 {sd},是此前 {epochs} 轮的 {times} 倍。",
        ),
    ),
    "over_temperature": (
        (
            "{device} is at {now} °C, above {limit} °C.",
            "{device} 的温度为 {now} °C,高于 {limit} °C。",
        ),
    ),
    "throughput_drop": (
        (
            "Throughput is {now} samples/s, {drop} under its baseline of {usual}; {waiting} of the "
            "time it waits for data.",
            "吞吐量为 {now} 样本/秒,比基线 {usual} 低 {drop};其中 {waiting} 的时间在等待数据。",
        ),
        (
            "Throughput is {now} samples/s, {drop} under its baseline of {usual}.",
            "吞吐量为 {now} 样本/秒,比基线 {usual} 低 {drop}。",
        ),
    ),
    "resumed": (
        (
            "The process before this one stopped without an end after step {step}, at {time}.",
            "上一个进程在第 {step} 步之后({time})意外中断。",
        ),
        (
            "The process before this one ended after step {step}, at {time}: {list}.",
            "上一个进程在第 {step} 步之后({time})结束:{list}。",
        ),
    ),
    "ended": (
        ("The training has finished.", "训练已完成。"),
        ("The training has stopped.", "训练已停止。"),
        ("It ended: {list}.", "训练异常结束:{list}。"),
    ),
}
# What stands in a list, one after the other.
TERMS = (
    ("the loss", "损失"),
    ("the learning rate", "学习率"),
    ("the gradient norm", "梯度范数"),
    ("the norm of the parameters", "参数范数"),
    ("the gradient of {layer}", "{layer} 的梯度"),
    ("interrupted by {signal}", "被 {signal} 中断"),
)
# Another process of the same training has found it.
_RANK = re.compile(r"rank (\d+): (.*)", re.DOTALL)


def _pattern(english: str) -> re.Pattern[str]:
    """A client says the sentence: a single gap may hold anything, so that none takes long."""
    parts = re.split(r"\{(\w+)\}", english)
    gaps = [r".+" if name == "list" else r"\S+?" for name in parts[1::2]]
    named = [f"(?P<{name}>{gap})" for name, gap in zip(parts[1::2], gaps, strict=True)]
    fixed = [re.escape(part) for part in parts[::2]]
    return re.compile("".join(a + b for a, b in zip(fixed, [*named, ""], strict=True)), re.DOTALL)


_EVENTS = {
    kind: [(_pattern(english), chinese) for english, chinese in said]
    for kind, said in EVENTS.items()
}
_TERMS = [(_pattern(english), chinese) for english, chinese in TERMS]


def in_chinese(rule: str, sentence: str) -> str | None:
    """The sentence of a rule's event in Chinese; None where it is none of those known here."""
    found = _RANK.fullmatch(sentence)
    if found:
        said = in_chinese(rule, found[2])
        return None if said is None else f"进程 {found[1]}:{said}"
    for pattern, chinese in _EVENTS.get(rule, ()):
        if match := pattern.fullmatch(sentence):
            values = match.groupdict()
            if "list" in values:
                values["list"] = "、".join(_term(each) for each in values["list"].split(", "))
            return chinese.format(**values)
    return None


def _term(english: str) -> str:
    for pattern, chinese in _TERMS:
        if match := pattern.fullmatch(english[:1].lower() + english[1:]):
            return chinese.format(**match.groupdict())
    return english
