"""What ``/openapi.json`` says, made of the routes, the types and the package's metadata."""
