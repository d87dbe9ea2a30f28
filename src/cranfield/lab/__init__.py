"""A laboratory: collections, an index of their text, systems that search it, and what these cost."""
