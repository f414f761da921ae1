"use strict";
// The page: controls in, drawing out. Nothing here knows a formula.
(() => {
  const { MOST, History, basisOf, fromHash, initialState, isEqual, isInterval, startFromTarget, toHash, toPython, withChoices, withHeight } = chebact.state;
  const { FormulaError, compile } = chebact.formula;
  const { short } = chebact.text;
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const STARTS = {
    ReLU: "relu(x)", GELU: "gelu(x)", SiLU: "silu(x)", tanh: "tanh(x)", sigmoid: "sigmoid(x)", "|x|": "|x|",
    "leaky ReLU": "leaky_relu(x)", softplus: "softplus(x)", ELU: "elu(x)", Mish: "mish(x)", "sin πx": "sin(pi x)",
    step: "step(x)", "Runge": "1 / (1 + 25 x^2)", identity: "x", zero: "0",
  };

  const plot = new chebact.Plot($("plot"));
  const learned = new chebact.Learned(data, (next, options) => show(next(state), options));
  const past = new History(initialize());
  let state = past.state, cache = {}, mode = "reset", pending = false, settled = true;
  const seen = { hover: null, focus: null, x: null };

  const handles = new chebact.Handles(plot, {
    height: (index) => state.values[index],
    change(index, height, kind) {
      state = withHeight(state, index, height ?? resetState().values[index] ?? 0);
      settled = kind !== "drag";
      mode = kind === "drag" ? "drag" : "grow";
      if (settled) past.push(state, kind === "key" ? `key ${index}` : null);
      redraw();
    },
    end() { settled = true; mode = "grow"; past.push(state); redraw(); },
    look(changes) { Object.assign(seen, changes); redraw(); },
  });

  function initialize() {
    const asked = location.hash.length > 1 ? fromHash(location.hash) : null;
    if (location.hash.length > 1 && !asked) say("The address names nothing that can be shown, so this is the usual start.");
    return asked ?? (data.sets.length ? learned.state(0) : startFromTarget(initialState()));
  }

  /** What Reset leads back to: the heights of f, or the channel as it was learned. */
  function resetState() {
    if (state.target) return startFromTarget(state);
    return state.origin ? learned.state(state.origin.set, state.origin.replica, state.origin.channel, state) : state;
  }

  function say(text) { $("said").textContent = text; }

  /** Show another state, as a step that can be undone. */
  function show(next, { fit = "reset", tag = null } = {}) {
    state = next;
    settled = true;
    mode = fit;
    past.push(state, tag);
    redraw();
  }

  function attempt(choices, options) {
    try {
      show(withChoices(state, choices), options);
      $("complaint").textContent = "";
      $("formula").removeAttribute("aria-invalid");
    } catch (error) {
      if (!(error instanceof FormulaError)) throw error;
      $("complaint").textContent = `${error.message[0].toUpperCase()}${error.message.slice(1)}.`;
      $("formula").setAttribute("aria-invalid", "true");
    }
  }

  function redraw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => { pending = false; draw(); });
  }

  /** What depends on the choices but not on the heights is kept from frame to frame. */
  function cachedParts() {
    const key = JSON.stringify([state.degree, state.tails, state.regressionNodes, state.interval, state.target]);
    if (cache.key !== key) {
      const basis = basisOf(state), target = state.target ? compile(state.target) : null;
      cache = { key, basis, target, bound: null, error: null };
      if (target) Object.assign(cache, { bound: chebact.analysis.bound(target, basis), error: chebact.analysis.errorOf(target, basis) });
    }
    return cache;
  }

  function draw() {
    const { basis, target } = cachedParts();
    const box = $("canvas").getBoundingClientRect();
    if (box.width < 10 || box.height < 10) return;
    plot.place(state, [Math.round(box.width), Math.round(box.height)]);
    const active = handles.drag?.index ?? seen.hover ?? seen.focus;
    const dragging = mode === "drag"; // then the scale stays under the pointer
    plot.compute(state, basis, target, dragging ? "grow" : mode, dragging);
    const share = still.matches || mode === "reset" || dragging ? 1 : 0.28;
    const moving = Object.values(plot.ranges).map((each) => each.step(share)).some(Boolean);
    plot.paint(state, basis, target, learned.inputsOf(state), active);
    plot.mark(handles.drag ? null : seen.x);
    handles.place(state, basis, active);
    if (!moving && !dragging) mode = "grow";
    updatePanel();
    showReadout(basis, target, active);
    if (moving) redraw();
  }

  function showReadout(basis, target, active) {
    const { x } = seen, shown = active ?? null;
    const node = shown !== null ? basis.nodes[shown] : x;
    if (node === null) { $("readout").textContent = ""; return; }
    const parts = [["x", node], ["σ", basis.value(state.values, node)], ["σ′", basis.derivative(state.values, node)]];
    if (target) parts.push(["f", target.at(node)]);
    $("readout").textContent = parts.map(([name, number]) => `${name} = ${short(number)}`).join("   ");
  }

  function updatePanel() {
    const { basis, bound } = cache;
    setValue("degree", state.degree);
    setValue("degree-number", state.degree);
    const most = Math.max(MOST.offered, state.degree);
    for (const id of ["degree", "degree-number"]) $(id).max = most;
    setText("degree-limit", `1 to ${most}`);
    $("k").max = state.degree + 1;
    setValue("k", state.regressionNodes);
    $("k-shown").textContent = state.regressionNodes;
    $("k").disabled = !chebact.maths.TAILS[state.tails].usesNodes;
    $("k-row").classList.toggle("off", $("k").disabled);
    setValue("left", state.interval[0]);
    setValue("right", state.interval[1]);
    setValue("view", state.view);
    if (!$("formula").hasAttribute("aria-invalid")) setValue("formula", state.target);
    for (const input of document.getElementsByName("tails")) input.checked = input.value === state.tails;
    for (const input of document.getElementsByName("shown")) input.checked = state.shown.includes(input.value);
    for (const button of $("starts").children) button.setAttribute("aria-pressed", STARTS[button.textContent] === state.target);
    $("undo").disabled = !past.canUndo;
    $("redo").disabled = !past.canRedo;
    $("reset").disabled = isEqual(resetState(), state);
    $("target-key").hidden = !state.target || !state.shown.includes("target");
    learned.panel(state);
    showNumbers(basis, bound);
    heightFields(basis);
    setText("python", toPython(state));
    if (settled) remember();
  }

  function showNumbers(basis, bound) {
    const slopes = basis.straight ? basis.slopes(state.values).map((slope) => short(slope)).join(",  ") : "no tails";
    setText("slopes", slopes);
    const miss = cache.error?.(state.values) ?? null;
    setText("error", miss ? short(miss.size, 3) : "no f");
    $("error").dataset.value = miss ? miss.size : "";
    const held = bound && bound.stretched !== undefined;
    for (const [id, size] of [["bound", bound?.stretched], ["printed", bound?.printed]]) {
      setText(id, held ? short(size, 3) : "none");
      $(id).dataset.value = held ? size : "";
    }
    setText("verdict", verdict(miss, bound));
  }

  function verdict(miss, bound) {
    if (!miss) return "";
    if (bound.corner !== undefined) {
      return `f has a corner or a jump near x = ${short(bound.corner, 2)}, so equation (1) says nothing about it.`;
    }
    if (bound.unbounded !== undefined) return "A derivative of f is unbounded on the interval, so equation (1) says nothing about it.";
    if (state.moved) return "The bound is for the heights of f itself; some were moved.";
    return miss.size < 1e-13 ? "Exact, but for rounding." : `The largest gap is at x = ${short(Number(miss.x.toFixed(3)), 3)}.`;
  }

  function setValue(id, value) {
    const input = $(id), text = String(value);
    if (document.activeElement === input && input.type !== "range") return; // not while it is being typed
    if (input.value !== text) input.value = text;
  }

  function setText(id, text) {
    if ($(id).textContent !== text) $(id).textContent = text;
  }

  function heightFields(basis) {
    if (!$("heights-box").open) return;
    const list = $("heights");
    while (list.childElementCount > state.degree + 1) list.lastChild.remove();
    while (list.childElementCount <= state.degree) list.append(heightField(list.childElementCount));
    [...list.children].forEach((item, j) => {
      const [where, input] = item.firstChild.children;
      where.textContent = `y${j + 1} at x = ${short(basis.nodes[j])}`;
      if (document.activeElement !== input) input.value = String(state.values[j]);
    });
  }

  function heightField(index) {
    const item = document.createElement("li"), label = document.createElement("label");
    const where = document.createElement("span"), input = document.createElement("input");
    Object.assign(input, { type: "number", step: "any" });
    input.addEventListener("input", () => {
      const height = input.valueAsNumber;
      if (Number.isFinite(height)) show(withHeight(state, index, height), { fit: "grow", tag: `field ${index}` });
    });
    label.append(where, input);
    item.append(label);
    return item;
  }

  let writing = null;
  function remember() {
    clearTimeout(writing);
    writing = setTimeout(() => {
      const hash = `#${toHash(state)}`;
      if (location.hash !== hash) history.replaceState(null, "", hash);
    }, 200);
  }

  async function copy(text, button, done) {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      const copied = document.execCommand("copy");
      field.remove();
      if (!copied) { say("The browser does not let a page copy: select the text and copy it by hand."); return; }
    }
    say(done);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 1200);
  }

  function goTo(other) {
    state = other;
    settled = true;
    mode = "reset";
    $("formula").removeAttribute("aria-invalid");
    $("complaint").textContent = "";
    redraw();
  }

  function listen() {
    for (const [name, formula] of Object.entries(STARTS)) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
      button.addEventListener("click", () => start(formula));
      $("starts").append(button);
    }
    const start = (formula) => {
      $("formula").removeAttribute("aria-invalid");
      $("formula").value = formula;
      if (state.target === formula) show(startFromTarget(state));
      else attempt({ target: formula });
    };
    $("formula").addEventListener("input", (event) => attempt({ target: event.target.value.trim() }, { tag: "formula" }));
    $("degree").addEventListener("input", (event) => attempt({ degree: event.target.valueAsNumber }, { tag: "degree" }));
    $("degree-number").addEventListener("input", (event) => {
      const { validity, valueAsNumber } = event.target;
      if (validity.valid && valueAsNumber) attempt({ degree: valueAsNumber }, { tag: "degree" });
      else if (event.target.value) say(`Degree must be an integer from 1 to ${event.target.max}, got ${event.target.value}.`);
    });
    $("k").addEventListener("input", (event) => attempt({ regressionNodes: event.target.valueAsNumber }, { tag: "k", fit: "fit" }));
    $("view").addEventListener("input", (event) => attempt({ view: event.target.valueAsNumber }, { tag: "view" }));
    for (const id of ["left", "right"]) {
      $(id).addEventListener("change", () => {
        const interval = [$("left").valueAsNumber, $("right").valueAsNumber];
        if (isInterval(interval)) attempt({ interval });
        else say("The left end must be smaller than the right end.");
      });
    }
    for (const input of document.getElementsByName("tails")) {
      input.addEventListener("change", () => attempt({ tails: input.value }, { fit: "fit" }));
    }
    for (const input of document.getElementsByName("shown")) {
      input.addEventListener("change", () => {
        const shown = [...document.getElementsByName("shown")].filter((each) => each.checked).map((each) => each.value);
        attempt({ shown });
      });
    }
    $("undo").addEventListener("click", () => goTo(past.undo()));
    $("redo").addEventListener("click", () => goTo(past.redo()));
    $("reset").addEventListener("click", () => show(resetState()));
    $("share").addEventListener("click", (event) => {
      history.replaceState(null, "", `#${toHash(state)}`);
      copy(location.href, event.target, "The address is copied; it holds all that is shown.");
    });
    $("copy").addEventListener("click", (event) => copy(toPython(state), event.target, "The Python is copied."));
    $("save-svg").addEventListener("click", () => chebact.picture.saveSvg($("plot")));
    $("save-png").addEventListener("click", () => chebact.picture.savePng($("plot")));
    $("heights-box").addEventListener("toggle", redraw);
    $("panel").addEventListener("submit", (event) => event.preventDefault());
    addEventListener("keydown", (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.type === "text" || event.target.type === "number") return;
      const key = event.key.toLowerCase();
      if (key !== "z" && key !== "y") return;
      event.preventDefault();
      goTo(key === "y" || event.shiftKey ? past.redo() : past.undo());
    });
    addEventListener("hashchange", () => {
      const asked = fromHash(location.hash);
      if (asked && !isEqual(asked, state)) show(asked);
    });
    new ResizeObserver(redraw).observe($("canvas"));
  }

  listen();
  redraw();
})();
