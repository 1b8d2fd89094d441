"""The two live pages: templates, static files, and what they say in each language."""
