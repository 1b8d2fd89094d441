"""The page is written from results, and rivals' statistics are those of SciPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import ks_2samp

from benchmarks.detection import document
from benchmarks.detection.changes import CHANGES
from benchmarks.detection.clean import ALPHAS
from benchmarks.detection.pages_clean import broken
from benchmarks.detection.rivals import RIVALS, ks_statistic
from benchmarks.detection.versions import code_digest


def small() -> document.Results:
    rates = [
        {"alpha": alpha, "alarms": alarms, "windows": 1000}
        for alpha, alarms in zip(ALPHAS, (2, 9, 0), strict=True)
    ]
    delays = {"driftline": [50, None], **{name: [100, 100] for name in RIVALS}}
    looks = [
        {"shift": shift, "share": share, "rows": 10, "driftline": 0.5, "BBSDs": 0.25}
        for shift, share in (("none", 0.0), ("noise", 1.0))
    ]
    found = {
        "clean": [{"traffic": "Gaussian", "reference": 200, "rates": rates}],
        "delays": [
            *({"kind": kind, "delays": delays} for kind in CHANGES),
            {"rates": dict.fromkeys(RIVALS, 3), "windows": 300},
        ],
        "loudly": [{"collection": "MNIST", "accuracy": 0.9, "held_out": 100, "found": looks}],
        "small": [{"rows": 30, "windows": 100, "hits": {"driftline": 1, "PSI": 99}}],
        "speed": [{"signals": 20, "flags": 40, "driftline": 5.0, "ks_2samp": 50.0}],
    }
    return {name: {"scale": "quick", "found": part} for name, part in found.items()}


def test_the_page_tells_what_was_found(tmp_path: Path) -> None:
    text = document.write(small(), tmp_path).read_text()
    assert "| Gaussian | 200 | 1,000 | 2 | 1.0 | 4.0 | yes |" in text
    assert "Not kept: Gaussian." in text
    assert "50 (50 %)" in text
    assert "1 in 100" in text
    assert "50 / 25" in text
    assert "--quick" in text
    pictures = sorted(each.name for each in (tmp_path / "detection").iterdir())
    assert pictures == ["delays.svg", "loudly-mnist.svg"]
    assert all((tmp_path / "detection" / name).stat().st_size < 150_000 for name in pictures)


def test_a_promise_that_was_not_kept_is_named_with_its_budget() -> None:
    """2 of 1,000 are within chance of 1, 9 are not within chance of 0.1."""
    assert broken(small()["clean"]["found"]) == ["Gaussian (reference 200) at 1/10,000"]


def test_sections_without_results_are_left_out(tmp_path: Path) -> None:
    text = document.write({"small": small()["small"]}, tmp_path).read_text()
    assert "Small windows" in text
    assert "Failing Loudly" not in text


def test_the_ks_statistic_is_that_of_scipy_with_ties_and_missing_values() -> None:
    random = np.random.default_rng(1)
    reference = random.poisson(4, 500).astype(float)
    windows = random.poisson(5, (3, 40)).astype(float)
    windows[0, :5] = np.nan
    found = ks_statistic(np.sort(reference), windows)
    own = [ks_2samp(reference, each[np.isfinite(each)]).statistic for each in windows]
    np.testing.assert_allclose(found, own, atol=1e-12)


def test_sections_of_different_code_are_told(tmp_path: Path) -> None:
    """A page of one version says nothing; one that is mixed, or of unknown code, names them."""
    results = small()
    for section in results.values():
        section["code"] = "aaaa1111"
    assert "One warning" not in document.write(results, tmp_path).read_text()
    results["delays"]["code"] = "bbbb2222"
    text = document.write(results, tmp_path).read_text()
    assert "clean aaaa1111, delays bbbb2222" in text
    del results["delays"]["code"]
    assert "delays unknown" in document.write(results, tmp_path).read_text()


def test_the_digest_changes_with_the_code_that_judges(tmp_path: Path) -> None:
    """Any line in either room; nothing outside of them."""
    (tmp_path / "drift").mkdir()
    (tmp_path / "drift" / "judge.py").write_text("a = 1\n")
    before = code_digest(tmp_path)
    (tmp_path / "other.py").write_text("b = 1\n")
    assert code_digest(tmp_path) == before
    (tmp_path / "drift" / "judge.py").write_text("a = 2\n")
    assert code_digest(tmp_path) != before
