"""The tests of the whole repository, one folder a part."""
