"""`chebact fit` and `chebact predict`: one's own table, without Python."""
