"""The experiments: they run and write records, and never draw."""
