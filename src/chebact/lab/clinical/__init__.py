"""The clinical experiment: tables of recordings, models in folds, the published tables, and what the report shows."""
