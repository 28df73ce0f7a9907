"""Databases of earlier versions, and what those versions answered about the tables in them."""
