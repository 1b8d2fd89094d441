"""Watches: each looks at one thing and says, as conditions, what holds there just now."""
