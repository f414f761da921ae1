"""The synthetic experiment: recipes, trainings, the published table, and what the report shows of them."""
