"""What a rule is, and how it is kept from repeating itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from driftline.metadata.registry import Registry

from ..epochs import Epoch
from ..point import Severity
from ..record import Record


@dataclass(frozen=True, slots=True)
class View:
    """What a rule is shown: the values of a new point, or an epoch that has ended, and the record.

    `values` is empty at the end of an epoch, `epoch` is None at a point.
    """

    values: Mapping[str, float]
    record: Record
    epoch: Epoch | None = None


class Rule:
    """Says in a sentence what is wrong now; None if nothing is.

    `needs` names the values without which the rule is not asked; ``"epoch"`` is the end of an
    epoch. `patience` is how many times in a row it has to find something before it is believed,
    `calm` how many times in a row it must find nothing before it may speak again. A view that
    lacks what the rule looks at counts neither way.
    """

    kind: ClassVar[str]
    severity: ClassVar[Severity] = "warning"
    needs: ClassVar[frozenset[str]]
    patience: int = 1
    calm: int = 20

    def judges(self, view: View) -> bool:
        """True if the view shows something that the rule can judge."""
        if view.epoch is not None:
            return "epoch" in self.needs
        return not self.needs or not self.needs.isdisjoint(view.values)

    def check(self, view: View) -> str | None:
        """The sentence, beginning with a capital letter, ending with a full stop."""
        raise NotImplementedError

    def rests_on(self, view: View) -> frozenset[str]:
        """The names of the values that a finding in this view rests on.

        A later view without one of them, in which nothing is found, does not say that it is over.
        """
        return self.needs.intersection(view.values)


class Episode:
    """Lets a rule speak once for each stretch of time in which it finds something."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.active = False
        self._found = self._quiet = 0
        self._rests_on: frozenset[str] = frozenset()

    def ask(self, view: View) -> str | None:
        """The rule's sentence at the begin of an episode, else None."""
        if not self.rule.judges(view):
            return None
        sentence = self.rule.check(view)
        if sentence is None:
            if view.epoch is None and not self._rests_on <= view.values.keys():
                return None
            self._found = 0
            self._quiet += 1
            if self._quiet >= self.rule.calm:
                self.active = False
            return None
        self._rests_on = self.rule.rests_on(view)
        self._quiet = 0
        self._found += 1
        if self.active or self._found < self.rule.patience:
            return None
        self.active = True
        return sentence


RULES: Registry[Rule] = Registry("rule")
