"use strict";
// Numbers in writing.
chebact.text = (() => {
  const MINUS = "\u2212";

  const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

  /** For people: so many digits, a real minus sign, very small and very large numbers with a power of ten. */
  function short(number, digits = 4) {
    if (number === 0) return "0";
    if (!Number.isFinite(number)) return number > 0 ? "∞" : number < 0 ? `${MINUS}∞` : "undefined";
    const size = Math.abs(number);
    if (size >= 1e-3 && size < 1e5) return String(Number(number.toPrecision(digits))).replace("-", MINUS);
    const [front, power] = number.toExponential(digits - 2).split("e");
    const raised = [...power.replace("+", "")].map((sign) => RAISED[sign]).join("");
    return `${String(Number(front)).replace("-", MINUS)} × 10${raised}`;
  }

  /** For Python: the shortest text that is read back as the same float. */
  function python(number) {
    const text = Object.is(number, -0) ? "-0.0" : String(number);
    return /[.e]/.test(text) ? text : `${text}.0`;
  }

  return { short, python };
})();
