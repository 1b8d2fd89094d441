"""Off line: recorded traffic through the same monitor, reports, and two packages side by side."""
