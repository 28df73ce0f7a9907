"""Checks of positions from elsewhere: could play have led there?"""
