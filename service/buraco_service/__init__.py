"""The gRPC service around the rules."""
