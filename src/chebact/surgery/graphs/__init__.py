"""The graph of a forward method: traced, searched for what it would lose, and written back as code."""

__all__: list[str] = []
