"""What deploy/ ships, run and not read: image, chart, and a cluster of what can run on one machine."""
