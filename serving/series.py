"""Names under which a package's counts, verdicts and alerts stand in the store."""

from __future__ import annotations

from dataclasses import dataclass

from driftline.metadata.package import ModelPackage
from driftline.metadata.schema import ModelMetadata

FAST_BUCKETS = 60
SLOW_BUCKET = 3600
SLOW_BUCKETS = 168


@dataclass(frozen=True, slots=True)
class Series:
    """All names of one package: several models and versions lie side by side in one store.

    `base` is ``<model>/<version>/<first digits of the digest>``; `bucket` the seconds of the fast
    ring's buckets. Both rings hold the same counts.
    """

    base: str
    bucket: int

    @classmethod
    def of(cls, package: ModelPackage | ModelMetadata, bucket: int) -> Series:
        """The names of a package."""
        metadata = package.metadata if isinstance(package, ModelPackage) else package
        model = metadata.model
        return cls(f"{model.name}/{model.version}/{metadata.metadata_sha256[:12]}", bucket)

    @property
    def widths(self) -> dict[int, int]:
        """Seconds a bucket lasts → seconds its ring spans."""
        spans = {self.bucket: self.bucket * FAST_BUCKETS}
        spans[SLOW_BUCKET] = SLOW_BUCKET * SLOW_BUCKETS
        return spans

    def model(self, width: int) -> str:
        """The series of the package's own signals."""
        return f"{self.base}/{width}"

    def service(self, width: int) -> str:
        """The series of the service's signals."""
        return f"{self.base}/service/{width}"

    @property
    def labels(self) -> str:
        """The series of labels that arrived, in buckets of `SLOW_BUCKET` seconds."""
        return f"{self.base}/labels/{SLOW_BUCKET}"

    @property
    def keep(self) -> dict[str, int]:
        """Every series with the seconds that its buckets matter."""
        kept = {
            name(width): seconds
            for width, seconds in self.widths.items()
            for name in (self.model, self.service)
        }
        return {**kept, self.labels: self.widths[SLOW_BUCKET]}

    @property
    def verdict(self) -> str:
        """The key of the newest verdict's document."""
        return f"verdict/{self.base}"

    @property
    def timeline(self) -> str:
        """The log of verdicts over time."""
        return f"timeline/{self.base}"

    @property
    def lease(self) -> str:
        """The lease of the one that evaluates."""
        return f"evaluator/{self.base}"

    def counter(self, name: str) -> str:
        """A counter's name in the store."""
        return f"{self.base}|{name}"
