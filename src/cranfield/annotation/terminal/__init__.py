"""Judging in a terminal."""
