"""The arena: many models on many tables, all with the same splits."""
