"""`buraco serve` and the other commands as processes: settings, workers, stops."""
