"""Stores: where counts of all workers meet; adding the same delta twice counts once."""

from __future__ import annotations

from .opening import open_store, register_store
from .store import Delta, Entry, Lease, Store

__all__ = ["Delta", "Entry", "Lease", "Store", "open_store", "register_store"]
