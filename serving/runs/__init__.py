"""Runs: trainings that push their points here; kept, made coarser, read back, streamed."""
