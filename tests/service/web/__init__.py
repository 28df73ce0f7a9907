"""The web port: its protocols, its pages, and what strangers do to it."""
