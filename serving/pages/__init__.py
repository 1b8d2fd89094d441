"""The live pages: templates and static files."""
