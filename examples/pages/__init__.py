"""The live pages, with something to look at."""
