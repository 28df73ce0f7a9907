"""The store in Redis or Valkey, one server or a cluster."""
