"""What is started: the commands of `buraco` that are the service's, and the worker of a supervisor."""
