"""The image experiment: image sets, the shake-shake network and its training, and what the report shows."""
