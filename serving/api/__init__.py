"""The HTTP interface, one blueprint a file."""
