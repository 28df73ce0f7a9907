"""Bots, the arena, matches over gRPC and the fleet."""
