"""Tables of a user: the cells of a file by column, and the numbers that a model takes."""
