"""Facts to learn from: recipes and readers. Nothing here trains."""

from chebact.data.synthetic import DATASETS, RECIPE_FORMS, plotted_slice, published_split, sample, target

__all__ = ["DATASETS", "RECIPE_FORMS", "plotted_slice", "published_split", "sample", "target"]
