"use strict";
// The drawing: the curve with its tails and handles, below it the derivative and the basis functions, on one x axis.
chebact.Plot = (() => {
  const { dot } = chebact.maths;
  const { Range, element, line, pathOf, ticks } = chebact.drawing;
  const LAYERS = ["main", "derivative", "basis"];
  const SPACE = { left: 52, right: 14, top: 10, bottom: 24, between: 12 };
  const PARTS = ["left", "inside", "right"];
  const LABELS = {
    main: ["σ(x)", "The activation"],
    derivative: ["σ′(x)", "Its derivative"],
    basis: ["φ(x)", "How much the height at each node counts at x"],
  };
  const STEPS = 640;

  const along = (from, to, count) =>
    Array.from({ length: count + 1 }, (_, i) => (i === count ? to : from + (to - from) * i / count));

  return class Plot {
    constructor(svg) {
      this.svg = svg;
      this.ranges = { main: new Range(0.001), derivative: new Range(0.001), basis: new Range(1) };
      this.panels = Object.fromEntries(LAYERS.map((name) => [name, this.panel(name)]));
      this.cross = line(svg, "cross");
      this.handles = element("g", { class: "handles" }, svg);
      this.size = [800, 600];
      this.done = {};
    }

    panel(name) {
      const clip = element("clipPath", { id: `clip-${name}` }, element("defs", {}, this.svg));
      const group = element("g", { class: `panel ${name}` }, this.svg);
      const parts = { group, clip: element("rect", {}, clip), outside: [] };
      for (let side = 0; side < 2; side++) parts.outside.push(element("rect", { class: "outside" }, group));
      parts.grid = element("g", { class: "grid" }, group);
      parts.drawing = element("g", { "clip-path": `url(#clip-${name})` }, group);
      for (const kind of ["inputs", "gap", "stems", "target", "tail", "curve"]) {
        parts[kind] = element("path", { class: kind }, parts.drawing);
      }
      parts.functions = element("g", { class: "functions" }, parts.drawing);
      parts.label = element("text", { class: "panel-label" }, group);
      return parts;
    }

    /** Where everything is, in pixels, for this size and these panels. */
    place(state, [width, height]) {
      this.size = [width, height];
      this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const [left, right] = state.interval, half = (right - left) / 2, middle = (left + right) / 2;
      this.reach = [middle - half * state.view, middle + half * state.view];
      const shown = LAYERS.filter((name) => name === "main" || state.shown.includes(name));
      const room = height - SPACE.top - SPACE.bottom - SPACE.between * (shown.length - 1);
      const small = shown.length > 1 ? Math.max(64, room * (shown.length > 2 ? 0.21 : 0.26)) : 0;
      let top = SPACE.top;
      this.boxes = {};
      for (const name of shown) {
        const tall = name === "main" ? room - small * (shown.length - 1) : small;
        this.boxes[name] = { top, bottom: top + tall };
        top += tall + SPACE.between;
      }
      this.bottom = top - SPACE.between;
      for (const name of LAYERS) this.panels[name].group.toggleAttribute("hidden", !shown.includes(name));
    }

    x(place) {
      const [low, high] = this.reach;
      return SPACE.left + (place - low) / (high - low) * (this.size[0] - SPACE.left - SPACE.right);
    }

    xBack(pixel) {
      const [low, high] = this.reach;
      return low + (pixel - SPACE.left) / (this.size[0] - SPACE.left - SPACE.right) * (high - low);
    }

    y(name, height) {
      const { top, bottom } = this.boxes[name], { low, high } = this.ranges[name];
      return bottom - (height - low) / (high - low) * (bottom - top);
    }

    unitsPerPixel() {
      const { top, bottom } = this.boxes.main, { low, high } = this.ranges.main;
      return (high - low) / (bottom - top);
    }

    /** The basis functions along the x axis: what depends on the heights is a product with these rows. */
    sample(state, basis) {
      const key = JSON.stringify([state.degree, state.tails, state.regressionNodes, state.interval, this.reach]);
      if (this.sampled?.key === key) return this.sampled;
      const [left, right] = state.interval, [low, high] = this.reach;
      const few = basis.straight ? 1 : STEPS / 4;
      const parts = { left: along(low, left, few), inside: along(left, right, STEPS), right: along(right, high, few) };
      const hair = (right - left) * 1e-9; // an end belongs to the straight line, which may have another slope
      const inner = (x) => Math.min(Math.max(x, left + hair), right - hair);
      this.sampled = { key };
      for (const [name, places] of Object.entries(parts)) {
        const slope = name === "inside" ? (x) => basis.derivativeRow(inner(x)) : basis.derivativeRow;
        this.sampled[name] = { places, rows: places.map(basis.row), slopes: places.map(slope) };
      }
      const all = this.sampled.inside.rows.flat();
      this.sampled.extremes = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
      return this.sampled;
    }

    /** Work out all heights and say what the vertical ranges should be; `mode` is that of Range.want. */
    compute(state, basis, target, mode, held) {
      const sampled = this.sample(state, basis), { ranges } = this;
      const product = (rows) => rows.map((row) => dot(row, state.values));
      this.heights = {};
      this.slopes = {};
      for (const part of PARTS) {
        this.heights[part] = product(sampled[part].rows);
        this.slopes[part] = product(sampled[part].slopes);
      }
      this.followed = target && state.shown.includes("target") ? this.follow(target, sampled) : null;
      const { left, inside, right } = this.heights;
      if (!held) ranges.main.want([...inside, ...state.values, ...(this.followed?.inside ?? [])], [...left, ...right], mode);
      ranges.derivative.want(this.slopes.inside, [...this.slopes.left, ...this.slopes.right], mode);
      ranges.basis.want(sampled.extremes, [], mode);
    }

    /** The function that the shape started from, along the x axis and between the ends. */
    follow(target, sampled) {
      if (this.followed?.target === target && this.followed.key === sampled.key) return this.followed;
      const places = along(...this.reach, STEPS / 2);
      return {
        target, key: sampled.key, places, heights: places.map(target.at), inside: sampled.inside.places.map(target.at),
      };
    }

    /** Draw everything but the handles; what cannot have changed since the last time is left alone. */
    paint(state, basis, target, inputs, active) {
      for (const name of Object.keys(this.boxes)) {
        const { low, high } = this.ranges[name];
        this.once(`frame ${name}`, [this.size, this.reach, this.boxes, state.interval, low, high], () => this.frame(name, state));
      }
      this.curves("main", this.heights);
      if (this.boxes.derivative) this.curves("derivative", this.slopes);
      if (this.boxes.basis) {
        const { low, high } = this.ranges.basis;
        this.once("functions", [this.sampled.key, this.size, this.boxes, low, high], () => this.functions(state));
        [...this.panels.basis.functions.children].forEach((path, j) => path.classList.toggle("active", j === active));
      }
      this.target();
      const { low, high } = this.ranges.main;
      this.once("inputs", [inputs, this.size, this.boxes, this.reach], () => this.inputs(inputs));
      this.stems(state, basis, Math.min(Math.max(0, low), high));
    }

    once(what, given, draw) {
      const key = JSON.stringify(given);
      if (this.done[what] === key) return;
      this.done[what] = key;
      draw();
    }

    frame(name, state) {
      const { grid, clip, outside, label } = this.panels[name], { top, bottom } = this.boxes[name];
      const [low, high] = [SPACE.left, this.size[0] - SPACE.right];
      Object.entries({ x: low, y: top, width: high - low, height: bottom - top })
        .forEach(([key, value]) => clip.setAttribute(key, value));
      const ends = state.interval.map((x) => this.x(x));
      [[low, ends[0]], [ends[1], high]].forEach(([from, to], side) => {
        Object.entries({ x: from, y: top, width: Math.max(0, to - from), height: bottom - top })
          .forEach(([key, value]) => outside[side].setAttribute(key, value));
      });
      grid.replaceChildren();
      const range = this.ranges[name];
      for (const tick of ticks(range.low, range.high, Math.max(2, (bottom - top) / 52))) {
        const y = this.y(name, tick);
        line(grid, tick === 0 ? "axis" : "rule", low, y, high, y);
        if (y > top + 4 && y < bottom - 2) {
          element("text", { class: "tick", x: low - 7, y: y + 3.5, "text-anchor": "end" }, grid).textContent =
            chebact.text.short(tick);
        }
      }
      for (const tick of ticks(...this.reach, Math.max(3, (high - low) / 90))) {
        const x = this.x(tick);
        line(grid, "rule", x, top, x, bottom);
        if (bottom === this.bottom) {
          element("text", { class: "tick", x, y: bottom + 16, "text-anchor": "middle" }, grid).textContent =
            chebact.text.short(tick);
        }
      }
      ends.forEach((x) => line(grid, "end", x, top, x, bottom));
      const [text, tip] = LABELS[name];
      label.textContent = text;
      element("title", {}, label).textContent = tip;
      label.setAttribute("x", low + 8);
      label.setAttribute("y", top + 16);
    }

    path(name, places, heights) {
      const { top, bottom } = this.boxes[name];
      const far = 4 * (bottom - top); // an SVG path need not leave its panel by more than that
      return pathOf(places, heights, (x) => this.x(x), (y) => Math.min(Math.max(this.y(name, y), top - far), bottom + far));
    }

    curves(name, heights) {
      const { curve, tail } = this.panels[name], { sampled } = this;
      curve.setAttribute("d", this.path(name, sampled.inside.places, heights.inside));
      tail.setAttribute("d", ["left", "right"].map((side) => this.path(name, sampled[side].places, heights[side])).join(""));
    }

    functions(state) {
      const { functions } = this.panels.basis, { sampled } = this;
      functions.replaceChildren();
      for (let j = 0; j <= state.degree; j++) {
        const parts = PARTS.map((part) => this.path("basis", sampled[part].places, sampled[part].rows.map((row) => row[j])));
        const path = element("path", { d: parts.join("") }, functions);
        path.style.setProperty("--hue", 210 + 170 * j / state.degree);
      }
    }

    target() {
      const { target: path, gap } = this.panels.main, { followed, sampled } = this;
      if (!followed) {
        for (const empty of [path, gap]) empty.setAttribute("d", "");
        delete this.done.target;
        return;
      }
      const { low, high } = this.ranges.main;
      this.once("target", [followed.target.text, followed.key, this.size, this.boxes, low, high], () => {
        path.setAttribute("d", this.path("main", followed.places, followed.heights));
      });
      const there = sampled.inside.places, back = there.toReversed();
      gap.setAttribute("d", this.path("main", [...there, ...back], [...this.heights.inside, ...followed.inside.toReversed()]));
    }

    /** The inputs that reached this channel, as bars that stand on the floor. */
    inputs(inputs) {
      const { inputs: path } = this.panels.main, { top, bottom } = this.boxes.main;
      if (!inputs) { path.setAttribute("d", ""); return; }
      const most = Math.max(1, ...inputs.counts), step = (inputs.high - inputs.low) / inputs.counts.length;
      path.setAttribute("d", inputs.counts.map((count, i) => {
        const [from, to] = [this.x(inputs.low + i * step), this.x(inputs.low + (i + 1) * step)];
        const y = bottom - count / most * (bottom - top) * 0.3;
        return `M${from} ${bottom}V${y}H${Math.max(from, to - 1)}V${bottom}Z`;
      }).join(""));
    }

    /** A thin line from every node on the ground to its handle. */
    stems(state, basis, ground) {
      const { stems } = this.panels.main;
      const foot = this.y("main", ground).toFixed(2);
      stems.setAttribute("d", basis.nodes.map((x, j) =>
        `M${this.x(x).toFixed(2)} ${foot}V${this.y("main", state.values[j]).toFixed(2)}`).join(""));
    }

    /** The vertical line at x, or none. */
    mark(x) {
      this.cross.toggleAttribute("hidden", x === null);
      if (x === null) return;
      for (const [key, value] of Object.entries({ x1: this.x(x), x2: this.x(x), y1: SPACE.top, y2: this.bottom })) {
        this.cross.setAttribute(key, value);
      }
    }
  };
})();
