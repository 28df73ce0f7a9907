"""Who is admitted, and as whom: limits, API keys, seat tokens, certificates."""
