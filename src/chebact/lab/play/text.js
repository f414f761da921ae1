"use strict";
// Numbers in writing.
chebact.text = (() => {
  const MINUS = "\u2212";

  /** For people: so many digits, a real minus sign, small numbers with a power of ten. */
  function short(number, digits = 4) {
    if (number === 0) return "0";
    if (!Number.isFinite(number)) return number > 0 ? "∞" : number < 0 ? `${MINUS}∞` : "undefined";
    const size = Math.abs(number);
    const text = size < 1e-3 || size >= 1e5
      ? number.toExponential(digits - 2).replace(/\.?0*e/, "e").replace("e", " × 10^").replace("^+", "^")
      : String(Number(number.toPrecision(digits)));
    return text.replaceAll("-", MINUS);
  }

  /** The same with the power of ten raised, as nodes for the page. */
  function raised(number, digits = 3) {
    const [front, power] = short(number, digits).split("^");
    if (power === undefined) return [front];
    const sup = document.createElement("sup");
    sup.textContent = power;
    return [front, sup];
  }

  /** For Python: the shortest text that is read back as the same float. */
  function python(number) {
    const text = Object.is(number, -0) ? "-0.0" : String(number);
    return /[.e]/.test(text) ? text : `${text}.0`;
  }

  return { short, raised, python };
})();
