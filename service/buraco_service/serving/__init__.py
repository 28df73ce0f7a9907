"""The server: ports, what every call has in common, and the two services."""
