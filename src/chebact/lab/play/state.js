"use strict";
// The state of the page: degree, tails, k, interval, heights and the function they started from; its history, address and Python.
chebact.state = (() => {
  const { TAILS, basis } = chebact.maths;
  const MOST = { offered: 30, read: 100 };
  const SHOWN = ["derivative", "basis", "target"];
  const KEPT = 200;

  const initialState = () => ({
    degree: 3, tails: "extrapolate", regressionNodes: 2, interval: [-1, 1], target: "gelu(x)", values: [], moved: false,
    view: 2.4, shown: [...SHOWN], origin: null,
  });

  const basisOf = (state) => basis(state);
  const isEqual = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  /** The heights of the function at the nodes; a FormulaError where it is not finite. */
  function targetHeights(state) {
    const target = chebact.formula.compile(state.target);
    return basisOf(state).nodes.map((x) => {
      const height = target.at(x);
      if (!Number.isFinite(height)) {
        throw new chebact.formula.FormulaError(`the formula is not finite at the node x = ${chebact.text.short(x)}`);
      }
      return height === 0 ? 0 : height; // not -0
    });
  }

  const startFromTarget = (state) => ({ ...state, values: targetHeights(state), moved: false, origin: null });

  /** The same shape with other choices: heights come from the function while they are its own, else from the curve. */
  function withChoices(state, choices) {
    const next = { ...state, ...choices };
    next.regressionNodes = Math.max(2, Math.min(next.regressionNodes, next.degree + 1));
    const placed = next.degree !== state.degree || !isEqual(next.interval, state.interval);
    if (next.target !== state.target) return startFromTarget(next);
    if (!placed) return next;
    if (!state.moved && next.target) return startFromTarget(next);
    const before = basisOf(state);
    if (isEqual(next.interval, state.interval)) next.values = basisOf(next).nodes.map((x) => before.value(state.values, x));
    return { ...next, moved: true }; // on another interval the heights move along with their nodes
  }

  const withHeight = (state, index, height) => ({ ...state, values: state.values.with(index, height), moved: true });

  class History {
    constructor(state) {
      this.past = [state];
      this.index = 0;
      this.tag = null;
    }

    get state() { return this.past[this.index]; }
    get canUndo() { return this.index > 0; }
    get canRedo() { return this.index < this.past.length - 1; }

    /** Add a state; steps with the same tag (a run of arrow keys on one node) are one step back. */
    push(state, tag = null) {
      if (isEqual(state, this.state)) return;
      const joined = tag !== null && tag === this.tag && this.canUndo;
      this.past = [...this.past.slice(0, this.index + (joined ? 0 : 1)), state].slice(-KEPT);
      this.index = this.past.length - 1;
      this.tag = tag;
    }

    undo() { if (this.canUndo) this.index--; this.tag = null; return this.state; }
    redo() { if (this.canRedo) this.index++; this.tag = null; return this.state; }
  }

  function toHash(state) {
    const parts = new URLSearchParams();
    parts.set("n", state.degree);
    parts.set("tails", state.tails);
    if (TAILS[state.tails].usesNodes) parts.set("k", state.regressionNodes);
    if (!isEqual(state.interval, [-1, 1])) parts.set("on", state.interval.join());
    if (state.target) parts.set("f", state.target);
    if (state.moved) parts.set("y", state.values.join());
    if (state.view !== initialState().view) parts.set("view", state.view);
    if (!isEqual(state.shown, SHOWN)) parts.set("show", state.shown.join());
    return parts.toString();
  }

  const parseInteger = (text, least, most) => {
    const number = Number(text);
    return text !== null && Number.isInteger(number) && number >= least && number <= most ? number : null;
  };
  const parseNumbers = (text) => {
    const list = text.split(",").map((part) => (part.trim() ? Number(part) : NaN));
    return list.every(Number.isFinite) ? list : null;
  };
  const isInterval = (pair) =>
    Boolean(pair) && pair.length === 2 && pair.every(Number.isFinite) && pair[1] - pair[0] > 1e-6 && pair[1] - pair[0] < 1e6;

  /** The state that an address names, or null where it names none that can be shown. */
  function fromHash(hash) {
    const parts = new URLSearchParams(hash.replace(/^#/, "")), state = initialState();
    const asked = (name, fallback, read) => (parts.has(name) ? read(parts.get(name)) : fallback);
    state.degree = asked("n", state.degree, (text) => parseInteger(text, 1, MOST.read));
    if (state.degree === null) return null;
    state.tails = asked("tails", state.tails, (text) => (Object.hasOwn(TAILS, text) ? text : null));
    state.regressionNodes = asked("k", 2, (text) => parseInteger(text, 2, state.degree + 1));
    state.interval = asked("on", state.interval, parseNumbers);
    state.view = asked("view", state.view, (text) => (Number(text) >= 1 && Number(text) <= 10 ? Number(text) : null));
    state.shown = asked("show", state.shown, (text) => SHOWN.filter((name) => text.split(",").includes(name)));
    if ([state.tails, state.regressionNodes, state.view].includes(null) || !isInterval(state.interval)) return null;
    state.target = parts.get("f") ?? (parts.has("y") ? "" : state.target);
    try {
      if (state.target) Object.assign(state, startFromTarget(state));
    } catch (error) {
      if (error instanceof chebact.formula.FormulaError) return null;
      throw error;
    }
    if (!parts.has("y")) return state;
    const values = parseNumbers(parts.get("y"));
    return values && values.length === state.degree + 1 ? { ...state, values, moved: true } : null;
  }

  /** The Python that builds this module, to the last bit: in float32 where that holds the heights, else in float64. */
  function toPython(state) {
    const single = state.values.every((height) => Math.fround(height) === height);
    const choices = ["groups=1", `degree=${state.degree}`, `tails="${state.tails}"`];
    if (TAILS[state.tails].usesNodes) choices.push(`regression_nodes=${state.regressionNodes}`);
    if (!isEqual(state.interval, [-1, 1])) choices.push(`interval=(${state.interval.map(chebact.text.python).join(", ")})`);
    choices.push("init=heights");
    if (!single) choices.push("dtype=torch.float64");
    return [
      single ? "import chebact" : "import chebact, torch",
      `heights = [${state.values.map(chebact.text.python).join(", ")}]  # at the nodes, from right to left`,
      `activation = chebact.ChebyshevLagrange(${choices.join(", ")})`, "",
    ].join("\n");
  }

  return { MOST, SHOWN, History, basisOf, fromHash, initialState, isEqual, isInterval, startFromTarget, toHash, toPython, withChoices, withHeight };
})();
