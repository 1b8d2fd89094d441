"""Rules: each looks at the record and says when something is wrong."""
