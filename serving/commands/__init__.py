"""The commands of ``driftline``, one file a group."""
