// The order of signals: what matters first.

const STATES = ["drift", "warning", "insufficient_data", "stable", "no_data"];
const SEVERITIES = ["major", "moderate", "minor", null];

/** What matters stands first: state, severity, effect, evidence. */
export function ranked(signals) {
  const key = (each) => {
    const told = STATES.indexOf(each.state);
    // There are two or three flags beside each column, and most never stir.
    return [told, SEVERITIES.indexOf(each.severity), told > 1 && each.kind === "flag" ? 1 : 0, -(each.effect?.psi ?? 0), -(each.evidence ?? -300)];
  };
  return [...signals].sort((a, b) => {
    const [left, right] = [key(a), key(b)];
    const at = left.findIndex((value, index) => value !== right[index]);
    return at < 0 ? a.name.localeCompare(b.name) : left[at] - right[at];
  });
}
