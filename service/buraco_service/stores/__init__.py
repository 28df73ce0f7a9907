"""Where tables are kept: the interface in `base`, its backends, and `urls.open_store` to get one."""
