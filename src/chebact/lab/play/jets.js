"use strict";
// Taylor series at a point, cut off after some order: arrays with f, f', f''/2!, ... A series of order 0 is a number.
chebact.jets = (() => {
  const ROOT_PI = Math.sqrt(Math.PI);

  const constant = (number, order) => [number, ...new Array(order).fill(0)];
  const variable = (x, order) => constant(x, order).map((entry, k) => (k === 1 ? 1 : entry));
  const add = (a, b) => a.map((entry, k) => entry + b[k]);
  const subtract = (a, b) => a.map((entry, k) => entry - b[k]);
  const scale = (a, factor) => a.map((entry) => entry * factor);

  function multiply(a, b) {
    return a.map((_, k) => {
      let sum = 0;
      for (let i = 0; i <= k; i++) sum += a[i] * b[k - i];
      return sum;
    });
  }

  function divide(a, b) {
    const quotient = [];
    a.forEach((entry, k) => {
      let sum = entry;
      for (let i = 1; i <= k; i++) sum -= b[i] * quotient[k - i];
      quotient.push(sum / b[0]);
    });
    return quotient;
  }

  /** The series u with u' = a' s, where s may be known only as far as u is: s(k) gives its k-th term. */
  function integrate(value, a, s) {
    const u = [value];
    for (let k = 1; k < a.length; k++) {
      let sum = 0;
      for (let i = 1; i <= k; i++) sum += i * a[i] * s(k - i, u);
      u.push(sum / k);
    }
    return u;
  }

  const fromSeries = (series) => (k) => series[k];
  const square = (u, k) => {
    let sum = 0;
    for (let i = 0; i <= k; i++) sum += u[i] * u[k - i];
    return sum;
  };
  const addNumber = (a, number) => a.map((entry, k) => (k ? entry : entry + number));

  const exp = (a) => integrate(Math.exp(a[0]), a, (k, u) => u[k]);
  const log = (a) => integrate(Math.log(a[0]), a, fromSeries(divide(constant(1, a.length - 1), a)));
  const tanh = (a) => integrate(Math.tanh(a[0]), a, (k, u) => (k ? 0 : 1) - square(u, k));
  const atan = (a) => integrate(Math.atan(a[0]), a, fromSeries(divide(constant(1, a.length - 1), addNumber(multiply(a, a), 1))));
  const sigmoid = (a) => {
    const value = a[0] < 0 ? Math.exp(a[0]) / (1 + Math.exp(a[0])) : 1 / (1 + Math.exp(-a[0]));
    return integrate(value, a, (k, u) => u[k] - square(u, k));
  };
  const softplus = (a) => {
    const value = Math.max(a[0], 0) + Math.log1p(Math.exp(-Math.abs(a[0])));
    return integrate(value, a, fromSeries(sigmoid(a)));
  };
  const erf = (a) => integrate(errorFunction(a[0]), a, fromSeries(scale(exp(scale(multiply(a, a), -1)), 2 / ROOT_PI)));

  function sineAndCosine(a) {
    const sine = [Math.sin(a[0])], cosine = [Math.cos(a[0])];
    for (let k = 1; k < a.length; k++) {
      let up = 0, down = 0;
      for (let i = 1; i <= k; i++) {
        up += i * a[i] * cosine[k - i];
        down -= i * a[i] * sine[k - i];
      }
      sine.push(up / k);
      cosine.push(down / k);
    }
    return [sine, cosine];
  }

  function hyperbolic(a, sign) {
    const both = add(exp(a), scale(exp(scale(a, -1)), sign));
    const series = scale(both, 0.5);
    series[0] = sign > 0 ? Math.cosh(a[0]) : Math.sinh(a[0]);
    return series;
  }

  /** a to a fixed power; whole powers by multiplication, because a may be zero there. */
  function power(a, exponent) {
    if (Number.isInteger(exponent) && Math.abs(exponent) <= 64) {
      let result = constant(1, a.length - 1);
      for (let count = 0; count < Math.abs(exponent); count++) result = multiply(result, a);
      result[0] = a[0] ** Math.abs(exponent);
      return exponent < 0 ? divide(constant(1, a.length - 1), result) : result;
    }
    const result = [a[0] ** exponent];
    for (let k = 1; k < a.length; k++) {
      let sum = 0;
      for (let i = 1; i <= k; i++) sum += (i * exponent - (k - i)) * a[i] * result[k - i];
      result.push(sum / (k * a[0]));
    }
    return result;
  }

  /** The error function: its series near zero, a continued fraction far from it. */
  function errorFunction(x) {
    const size = Math.abs(x);
    if (size > 6) return Math.sign(x);
    if (size < 2.5) {
      let term = x, sum = x;
      for (let k = 1; Math.abs(term) > 1e-18 * Math.abs(sum); k++) {
        term *= 2 * x * x / (2 * k + 1);
        sum += term;
      }
      return 2 / ROOT_PI * Math.exp(-x * x) * sum;
    }
    let fraction = 0;
    for (let k = 80; k > 0; k--) fraction = k / 2 / (size + fraction);
    return Math.sign(x) * (1 - Math.exp(-x * x) / ROOT_PI / (size + fraction));
  }

  /** T_k(a) by its recurrence. */
  function chebyshev(a, index) {
    let last = constant(1, a.length - 1), current = a;
    if (index === 0) return last;
    for (let k = 1; k < index; k++) [last, current] = [current, subtract(scale(multiply(a, current), 2), last)];
    return current;
  }

  return {
    constant, variable, add, subtract, scale, multiply, divide, power, exp, log, tanh, atan, sigmoid, softplus, erf,
    chebyshev, sin: (a) => sineAndCosine(a)[0], cos: (a) => sineAndCosine(a)[1],
    tan: (a) => divide(...sineAndCosine(a)), sinh: (a) => hyperbolic(a, -1), cosh: (a) => hyperbolic(a, 1),
    sqrt: (a) => power(a, 0.5),
  };
})();
