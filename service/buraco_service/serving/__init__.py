"""The server: ports, what every call has in common, the two services."""
