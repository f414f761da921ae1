"""Where a model applies activations: seen in a run, found in its code, with the channels of each."""

__all__: list[str] = []
