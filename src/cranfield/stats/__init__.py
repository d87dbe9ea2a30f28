"""Statistics of scores and rankings."""
