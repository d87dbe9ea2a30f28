"""How fast this package is beside its peers, and in how much memory: `make bench` measures, checks and tells."""
