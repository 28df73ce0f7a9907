"""The settings: how they are declared, written, read and checked."""
