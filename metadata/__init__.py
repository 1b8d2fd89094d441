"""What is known about a model: its format, signals, reference and package."""
