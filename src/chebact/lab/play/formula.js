"use strict";
// Formulas in x, read by hand and never run as code. What `to_formula` of the library writes is read too: 2 (x + 1), x^2, T4(x).
chebact.formula = (() => {
  const jets = chebact.jets;
  const LONGEST = 300, DEEPEST = 40, HIGHEST = 200;
  const CONSTANTS = { pi: Math.PI, e: Math.E };
  const SMOOTH = ["exp", "log", "sqrt", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "sigmoid", "softplus", "erf"];
  // written in the language itself
  const WRITTEN = {
    relu: "(x + |x|) / 2", leaky_relu: "0.505 x + 0.495 |x|", gelu: "x (1 + erf(x / sqrt(2))) / 2", silu: "x sigmoid(x)",
    mish: "x tanh(softplus(x))",
  };
  const SAME = { ln: "log", swish: "silu", logistic: "sigmoid" };
  const NAMES = [...SMOOTH, ...Object.keys(WRITTEN), "elu", "abs", "sign", "step", "max", "min"];

  class FormulaError extends Error {}

  /** Why a formula has no derivative somewhere, found while it is evaluated from left to right. */
  class Sweep {
    constructor() {
      this.signs = new Map();
      this.corner = null;
    }

    pass(place, a, x) {
      const sign = Math.sign(a[0]), before = this.signs.get(place);
      if (a.every((entry) => entry === 0)) return 0;
      if (sign === 0 || (before !== undefined && before !== sign)) this.corner ??= x;
      this.signs.set(place, sign);
      return sign;
    }
  }

  function tokenize(text) {
    const found = [], pattern = /\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\*\*|[-+*\/^(),|]))/y;
    const trimmed = text.replaceAll("−", "-").replaceAll("·", "*").replaceAll("×", "*").replaceAll("π", "pi").trim();
    if (!trimmed) throw new FormulaError("a formula in x is wanted, as in x^2 or tanh(2 x)");
    if (trimmed.length > LONGEST) throw new FormulaError(`at most ${LONGEST} characters are read`);
    while (pattern.lastIndex < trimmed.length) {
      const at = pattern.lastIndex, match = pattern.exec(trimmed);
      if (!match) throw new FormulaError(`“${trimmed.slice(at).trim()[0]}” is not understood`);
      if (match[1] !== undefined) found.push({ kind: "number", value: Number(match[1]), text: match[1] });
      else if (match[2] !== undefined) found.push({ kind: "name", text: match[2] });
      else found.push({ kind: "sign", text: match[3] === "**" ? "^" : match[3] });
    }
    return found;
  }

  /** A function of (x as a series, sweep) from the text; a FormulaError says what was not understood. */
  function parse(text) {
    const list = tokenize(text);
    let index = 0, depth = 0, bars = 0;
    const next = () => list[index];
    const is = (sign) => index < list.length && list[index].kind === "sign" && list[index].text === sign;
    const take = (sign) => is(sign) && ++index > 0;
    const said = () => (next() ? `“${next().text}”` : "the end");

    function demand(sign) {
      if (!take(sign)) throw new FormulaError(`“${sign}” is wanted before ${said()}`);
    }

    function parseNested(read) {
      if (++depth > DEEPEST) throw new FormulaError("too many brackets inside each other");
      const result = read();
      depth--;
      return result;
    }

    function parseSum() {
      let left = parseProduct();
      for (;;) {
        const a = left;
        if (take("+")) { const b = parseProduct(); left = (x, s) => jets.add(a(x, s), b(x, s)); }
        else if (take("-")) { const b = parseProduct(); left = (x, s) => jets.subtract(a(x, s), b(x, s)); }
        else return left;
      }
    }

    function startsFactor() {
      const token = next();
      return token && (token.kind !== "sign" || token.text === "(" || (token.text === "|" && bars === 0));
    }

    function parseProduct() {
      let left = parseSigned();
      for (;;) {
        const a = left;
        if (take("/")) { const b = parseSigned(); left = (x, s) => jets.divide(a(x, s), b(x, s)); }
        else if (take("*")) { const b = parseSigned(); left = (x, s) => jets.multiply(a(x, s), b(x, s)); }
        else if (startsFactor()) { const b = parsePower(); left = (x, s) => jets.multiply(a(x, s), b(x, s)); }
        else return left;
      }
    }

    function parseSigned() {
      return parseNested(() => {
        if (take("-")) { const a = parseSigned(); return (x, s) => jets.scale(a(x, s), -1); }
        return take("+") ? parseSigned() : parsePower();
      });
    }

    function parsePower() {
      const base = parseAtom();
      if (!take("^")) return base;
      const exponent = parseSigned();
      return (x, s) => {
        const b = exponent(x, s);
        const fixed = b.slice(1).every((entry) => entry === 0);
        return fixed ? jets.power(base(x, s), b[0]) : jets.exp(jets.multiply(b, jets.log(base(x, s))));
      };
    }

    function parseAtom() {
      const token = next();
      if (token && token.kind === "number") {
        index++;
        return (x) => jets.constant(token.value, x.length - 1);
      }
      if (token && token.kind === "name") { index++; return parseName(token.text); }
      if (take("(")) return parseBracketed(")");
      if (take("|")) {
        const inside = parseNested(() => { bars++; const read = parseSum(); bars--; return read; });
        demand("|");
        return magnitude(inside);
      }
      throw new FormulaError(`a number, x or a function is wanted before ${said()}`);
    }

    function parseBracketed(end) {
      const outer = bars;
      bars = 0;
      const inside = parseNested(parseSum);
      bars = outer;
      demand(end);
      return inside;
    }

    function parseName(word) {
      if (word === "x") return (x) => x;
      if (Object.hasOwn(CONSTANTS, word)) return (x) => jets.constant(CONSTANTS[word], x.length - 1);
      const own = Object.hasOwn(SAME, word) ? SAME[word] : word;
      const index = /^T_?(\d{1,3})$/.exec(own);
      if (!NAMES.includes(own) && !(index && Number(index[1]) <= HIGHEST)) {
        throw new FormulaError(`“${word}” is not known: x, pi, e and ${NAMES.join(", ")} are`);
      }
      demand("(");
      if (own !== "max" && own !== "min") {
        const inside = parseBracketed(")");
        return index ? (x, s) => jets.chebyshev(inside(x, s), Number(index[1])) : applyFunction(own, inside);
      }
      const first = parseBracketed(","), second = parseBracketed(")");
      const difference = magnitude((x, s) => jets.subtract(first(x, s), second(x, s)));
      const side = own === "max" ? 0.5 : -0.5;
      return (x, s) => jets.add(jets.scale(jets.add(first(x, s), second(x, s)), 0.5), jets.scale(difference(x, s), side));
    }

    const read = parseSum();
    if (index < list.length) throw new FormulaError(`${said()} is not wanted there`);
    return read;
  }

  function magnitude(inside) {
    const place = {};
    return (x, s) => { const a = inside(x, s); return jets.scale(a, s.pass(place, a, x[0])); };
  }

  function applyFunction(name, inside) {
    if (SMOOTH.includes(name)) return (x, s) => jets[name](inside(x, s));
    if (name === "abs") return magnitude(inside);
    if (Object.hasOwn(WRITTEN, name)) {
      const outer = parse(WRITTEN[name]);
      return (x, s) => outer(inside(x, s), s);
    }
    const place = {};
    return (x, s) => {
      const a = inside(x, s), sign = s.pass(place, a, x[0]);
      if (name === "elu") return sign > 0 ? a : jets.add(jets.exp(a), jets.constant(-1, a.length - 1));
      return jets.constant(name === "sign" ? sign : sign > 0 ? 1 : 0, a.length - 1);
    };
  }

  /** A formula that was read: `at(x)` its value, `series(x, order, sweep)` its Taylor coefficients. */
  function compile(text) {
    const read = parse(text);
    return {
      text,
      at: (x) => read(jets.variable(x, 0), new Sweep())[0],
      series: (x, order, sweep) => read(jets.variable(x, order), sweep),
    };
  }

  return { compile, FormulaError, Sweep, NAMES };
})();
