"""What every store forgets by itself, so that nothing in it grows for ever."""

from __future__ import annotations

DAY = 86_400.0

# A source (a worker, a training run) that has been silent for so long will not repeat a call.
SOURCE_SILENCE = 7 * DAY
# Buckets nobody added to: the evaluator prunes its own series, this catches retired ones.
BUCKET_SILENCE = 60 * DAY
# Entries of a log nobody appended to; its last sequence stays known, so none is ever given twice.
LOG_SILENCE = 180 * DAY
# How often a store looks for the above.
CLEANING = 3_600.0
