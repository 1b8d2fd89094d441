"""Stores: where counts of all workers meet; adding the same delta twice counts once."""
