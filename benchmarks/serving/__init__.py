"""What `benchmarks.serve` is made of: applications, models, load, and the table."""
