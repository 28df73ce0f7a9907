"""The text forms: what is written, what is read, and what is refused where."""
