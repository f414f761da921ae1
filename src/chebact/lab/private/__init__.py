"""Private inference: polynomial networks on encrypted rows, beside fixed polynomials and ReLU in the clear."""
