"""The commands of `buraco` that belong to the service, and the program of a worker."""
