"""A report's first words: how it stands and what to do, for somebody who reads no further."""

from __future__ import annotations

from .contents import Told, ordered

_HEADLINES = {
    "drift": "The traffic is no longer what the model was trained on.",
    "warning": "The traffic has changed a little; nothing needs to be done at once.",
    "stable": "The traffic looks like what the model was trained on.",
    "insufficient_data": "Too few requests have come yet to say anything.",
    "no_data": "No requests have come.",
}


def headline(drift: Told) -> str:
    """One sentence without a figure."""
    return _HEADLINES[drift["state"]]


def next_steps(drift: Told) -> list[str]:
    """What somebody should look at next, the most pressing first; always at least one thing."""
    steps: list[str] = []
    changed = [each for each in ordered(drift) if each["state"] == "drift"]
    groups = {each["group"] for each in changed}
    names = _listed([each["name"] for each in changed])
    if any(each["name"].endswith(":missing") for each in changed):
        steps.append("Values are missing that used to be there: ask whoever delivers the data.")
    if any(each["name"].endswith((":unseen", "wrong_type")) for each in changed):
        steps.append("There are new categories or wrong types: compare with the model's signature.")
    if "input" in groups:
        steps.append(
            f"Look at where {names} come from: a changed source, unit or preprocessing is more "
            "often the cause than a changed world."
        )
    if groups and "input" not in groups:
        steps.append(
            "Only what the model answers has changed, not what it is asked, as far as that is "
            "watched: look for inputs that no signal describes, and whether it is the right model."
        )
    accuracy = drift["accuracy"]
    labelled = (accuracy.get("labelled") or {}).get("harmful")
    if labelled:
        steps.insert(0, "Labels show that accuracy has fallen: roll back or retrain.")
    elif groups:
        steps.append(
            "Send labels of recent requests to /feedback: they say whether the change does harm."
        )
    if drift["latency"].get("regressed"):
        steps.append("Answers take longer than usual: look at load, batch sizes and the machine.")
    if drift["state"] == "insufficient_data":
        steps.append("Wait: how many requests each signal needs stands in the table below.")
    return steps or ["Nothing needs to be done."]


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more signals"
