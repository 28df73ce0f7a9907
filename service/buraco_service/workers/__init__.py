"""Several processes on one port: the supervisor's side and the worker's."""
