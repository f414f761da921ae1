"use strict";
// The activation itself, in double precision: sigma(x) = sum_j y_j phi_j(x). Nodes, and so values, go from right to left.
globalThis.chebact = {};

chebact.maths = (() => {
  /** Nodes and weights on [-1, 1]: cosines are written as sines, so that the ends are exact. */
  function unit(degree) {
    const step = Math.PI / (2 * (degree + 1));
    const nodes = [], weights = [];
    for (let j = 0; j <= degree; j++) {
      nodes.push(Math.sin((degree - 2 * j) * step) / Math.sin(degree * step));
      weights.push((j % 2 ? -1 : 1) * Math.sin((2 * j + 1) * step));
    }
    return { degree, step, nodes, weights, stretch: 1 / Math.cos(step) };
  }

  /** The matrix from heights at the nodes to slopes at the nodes, on [-1, 1]. */
  function differentiation({ degree, step, weights }) {
    return weights.map((own, i) => {
      const row = weights.map((other, j) => {
        if (i === j) return 0;
        const distance = 2 * Math.cos((degree - i - j) * step) * Math.sin((j - i) * step) / Math.sin(degree * step);
        return other / own / distance;
      });
      row[i] = -row.reduce((sum, entry) => sum + entry, 0);
      return row;
    });
  }

  /** The least-squares slope through the nodes of these indices, as weights of all values. */
  function regression(places, indices) {
    const end = places[indices[0]];
    const shifted = indices.map((j) => places[j] - end);
    const mean = shifted.reduce((sum, place) => sum + place, 0) / indices.length;
    const squares = shifted.reduce((sum, place) => sum + (place - mean) ** 2, 0);
    const weights = places.map(() => 0);
    indices.forEach((j, index) => { weights[j] = (shifted[index] - mean) / squares; });
    return weights;
  }

  /** phi_0 ... phi_degree at t, which is not a node: the second barycentric form inside, the first one outside. */
  function lagrange({ degree, nodes, weights, stretch }, t) {
    const row = weights.map((weight, j) => weight / (t - nodes[j]));
    let factor = stretch / (degree + 1) / 2;
    if (Math.abs(t) <= 1) factor = 1 / row.reduce((sum, entry) => sum + entry, 0);
    else for (const node of nodes) factor *= 2 * (t - node) / stretch;
    return row.map((entry) => entry * factor);
  }

  function dot(row, values) {
    let sum = 0;
    for (let j = 0; j < row.length; j++) sum += row[j] * values[j];
    return sum;
  }

  const only = (places, index) => places.map((_, j) => (j === index ? 1 : 0));

  /**
   * The kinds of tails, a copy of TAIL_ROWS in basis.py. `lines` gives the two straight lines as weights of the values:
   * height at the left end, slope, height at the right end, slope; null where the polynomial itself continues.
   * `usesNodes`: the lines depend on regressionNodes. The page makes its radio buttons from the names.
   */
  const TAILS = {
    extrapolate: {
      lines: ({ degree, places, matrix }) => [only(places, degree), matrix[degree], only(places, 0), matrix[0]],
    },
    regression: {
      usesNodes: true,
      lines: ({ degree, places, regressionNodes }) => {
        const right = Array.from({ length: regressionNodes }, (_, j) => j);
        const slopes = [right.map((j) => degree - j), right].map((indices) => regression(places, indices));
        return [only(places, degree), slopes[0], only(places, 0), slopes[1]];
      },
    },
    none: { lines: null },
  };

  /** The functions phi_j and their derivatives for one choice of degree, tails, k and interval. */
  function basis({ degree, tails, regressionNodes, interval: [left, right] }) {
    const own = unit(degree), middle = (left + right) / 2, half = (right - left) / 2;
    const places = own.nodes.map((t) => middle + half * t);
    places[0] = right;
    places[degree] = left;
    const matrix = differentiation(own).map((row) => row.map((entry) => entry / half));
    const straight = TAILS[tails].lines !== null;
    const lines = straight ? TAILS[tails].lines({ degree, places, matrix, regressionNodes }) : null;
    const slopes = straight ? [lines[1], lines[3]] : [matrix[degree], matrix[0]];

    function row(x) {
      const node = places.indexOf(x);
      if (node >= 0) return only(places, node);
      if (straight && x < left) return line(lines[0], lines[1], x - left);
      if (straight && x > right) return line(lines[2], lines[3], x - right);
      return lagrange(own, (x - middle) / half);
    }

    function line(height, slope, distance) {
      return slope.map((entry, j) => height[j] + entry * distance);
    }

    function derivativeRow(x) {
      if (straight && x <= left) return slopes[0];
      if (straight && x >= right) return slopes[1];
      const heights = row(x);
      return places.map((_, j) => heights.reduce((sum, entry, i) => sum + entry * matrix[i][j], 0));
    }

    return {
      degree, tails, interval: [left, right], nodes: places, stretch: own.stretch, straight, lines, row, derivativeRow,
      value: (values, x) => dot(row(x), values),
      derivative: (values, x) => dot(derivativeRow(x), values),
      slopes: (values) => slopes.map((slope) => dot(slope, values)),
    };
  }

  return { TAILS, basis, dot };
})();
