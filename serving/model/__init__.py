"""The packaged model: its signature, its predictions, and how they are read."""
