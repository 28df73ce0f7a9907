"""What hostile and broken clients do to a server, and how everybody else fares meanwhile."""
