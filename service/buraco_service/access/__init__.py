"""Who is let in, and as whom: limits, API keys, seat tokens, certificates."""
