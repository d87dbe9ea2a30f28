"""Pooling: which documents of which runs to judge, in what order, and what a pool is made of."""

from cranfield.pooling.asking import Asker, Setting
from cranfield.pooling.lists import Lists, ranked_lists
from cranfield.pooling.making import make_pool
from cranfield.pooling.pool import Pool, read_pool, write_pool
from cranfield.pooling.replay import replay
from cranfield.pooling.strategies import STRATEGIES, Strategy, strategy_of

__all__ = [
    "STRATEGIES",
    "Asker",
    "Lists",
    "Pool",
    "Setting",
    "Strategy",
    "make_pool",
    "ranked_lists",
    "read_pool",
    "replay",
    "strategy_of",
    "write_pool",
]
