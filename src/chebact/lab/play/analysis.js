"use strict";
// How far the polynomial is from the function it started from, and how far equation (1) of the paper lets it be.
chebact.analysis = (() => {
  const { dot } = chebact.maths;
  const COARSE = 1201, FINE = 24, ROUNDS = 3; // a prime, so that no point but the ends lies where people put a pole
  const POLE = 1000; // what grows so much when looked at closely has no largest

  const along = ([left, right], count) =>
    Array.from({ length: count + 1 }, (_, i) => (i === count ? right : left + (right - left) * i / count));

  /**
   * The largest |g| on an interval, where it is, and how much it grew from the first grid to the finer ones around its
   * largest; NaN if g is not finite somewhere on them. `known` may hold g on the first grid.
   */
  function largest(g, interval, known = null) {
    let [left, right] = interval, best = { size: -1, x: left }, before = 0;
    for (let round = 0; round <= ROUNDS; round++) {
      const count = round ? FINE : COARSE, places = along([left, right], count);
      for (let i = 0; i <= count; i++) {
        const x = places[i], size = Math.abs(known && !round ? known[i] : g(x));
        if (!Number.isFinite(size)) return { size: NaN, x };
        if (size > best.size) best = { size, x };
      }
      if (!round) before = best.size;
      const step = (right - left) / count;
      left = Math.max(interval[0], best.x - step);
      right = Math.min(interval[1], best.x + step);
    }
    return { ...best, growth: best.size / before };
  }

  /** A function of the heights: the largest |f - P| between the ends. What does not depend on them is computed once. */
  function errorOf(target, basis) {
    const places = along(basis.interval, COARSE), heights = places.map(target.at), rows = places.map(basis.row);
    return (values) => {
      const known = rows.map((row, i) => heights[i] - dot(row, values));
      return largest((x) => target.at(x) - basis.value(values, x), basis.interval, known);
    };
  }

  /**
   * With m = degree + 1 nodes, max|f^(m)| / (2^(m-1) m!), as printed, and times stretch^m, because the nodes are stretched.
   * The series gives f^(m) / m! as it stands. A function with a corner between the ends has no such bound.
   */
  function bound(target, basis) {
    const count = basis.degree + 1, [left, right] = basis.interval, half = (right - left) / 2;
    const sweep = new chebact.formula.Sweep();
    for (const x of along(basis.interval, COARSE)) target.series(x, 0, sweep);
    if (sweep.corner !== null) return { corner: sweep.corner };
    const { size, x, growth } = largest((place) => target.series(place, count, sweep)[count], basis.interval);
    if (!Number.isFinite(size) || growth > POLE) return { unbounded: x };
    const printed = 2 * size * (half / 2) ** count;
    return { printed, stretched: printed * basis.stretch ** count, derivative: size };
  }

  return { errorOf, bound };
})();
