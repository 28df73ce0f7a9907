"""Tables in a file of SQLite."""
