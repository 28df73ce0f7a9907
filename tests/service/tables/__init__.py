"""The use cases of tables, on stores and replicas."""
