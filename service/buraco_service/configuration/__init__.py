"""The settings: their declarations, and how they are parsed and checked."""
