"""Tests that run what deploy/ ships: image, chart, and replicas as far as one machine can run them."""
