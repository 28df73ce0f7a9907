"""Who may call, and how much: keys, tokens, TLS, limits."""
