"""Labels that arrive late: joined with what was predicted, and counted as right or wrong."""
