"""Studies of one axis each: degree, points, noise, size, interval, tails, regularisation, and the learned shapes."""
