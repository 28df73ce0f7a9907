"""Databases that earlier versions have left, and what those versions said of the tables in them."""
