"""Stores of tables: the interface in `base`, one folder for each database, `urls.open_store` to open one."""
