"use strict";
// The drawing: the curve with its tails and handles, below it the derivative and the basis functions, on one x axis.
chebact.Plot = (() => {
  const { dot } = chebact.maths;
  const { Range, element, line, pathOf, ticks } = chebact.drawing;
  const LAYERS = ["main", "derivative", "basis"];
  const SPACE = { left: 44, right: 14, top: 10, bottom: 24, between: 12 };
  const STEPS = 640;

  return class Plot {
    constructor(svg) {
      this.svg = svg;
      this.ranges = { main: new Range(0.5), derivative: new Range(0.5), basis: new Range(1) };
      this.panels = Object.fromEntries(LAYERS.map((name) => [name, this.panel(name)]));
      this.cross = line(svg, "cross");
      this.handles = element("g", { class: "handles" }, svg);
      this.size = [800, 600];
    }

    panel(name) {
      const clip = element("clipPath", { id: `clip-${name}` }, element("defs", {}, this.svg));
      const group = element("g", { class: `panel ${name}` }, this.svg);
      const parts = { group, clip: element("rect", {}, clip), outside: [] };
      for (let side = 0; side < 2; side++) parts.outside.push(element("rect", { class: "outside" }, group));
      parts.grid = element("g", { class: "grid" }, group);
      parts.drawing = element("g", { "clip-path": `url(#clip-${name})` }, group);
      for (const kind of ["inputs", "gap", "target", "tail", "curve"]) {
        parts[kind] = element("path", { class: kind }, parts.drawing);
      }
      parts.functions = element("g", { class: "functions" }, parts.drawing);
      parts.dots = element("g", { class: "dots" }, parts.drawing);
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
      const along = (from, to, count) =>
        Array.from({ length: count + 1 }, (_, i) => (i === count ? to : from + (to - from) * i / count));
      const few = basis.straight ? 1 : STEPS / 4;
      const parts = { left: along(low, left, few), inside: along(left, right, STEPS), right: along(right, high, few) };
      const hair = (right - left) * 1e-9; // an end belongs to the straight line, which may have another slope
      const inner = (x) => Math.min(Math.max(x, left + hair), right - hair);
      this.sampled = { key };
      for (const [name, places] of Object.entries(parts)) {
        const slope = name === "inside" ? (x) => basis.derivativeRow(inner(x)) : basis.derivativeRow;
        this.sampled[name] = { places, rows: places.map(basis.row), slopes: places.map(slope) };
      }
      return this.sampled;
    }

    /** Draw everything but the handles; `mode` says what may become of the vertical ranges. */
    draw(state, basis, target, { inputs = null, active = null, mode = "fit" } = {}) {
      const sampled = this.sample(state, basis);
      const heights = {}, slopes = {};
      for (const part of ["left", "inside", "right"]) {
        heights[part] = sampled[part].rows.map((row) => dot(row, state.values));
        slopes[part] = sampled[part].slopes.map((row) => dot(row, state.values));
      }
      const wanted = target && state.shown.includes("target") ? sampled.inside.places.map(target.at) : [];
      if (mode !== "keep") {
        this.ranges.main.want([...heights.inside, ...state.values, ...wanted], [...heights.left, ...heights.right], mode);
        this.ranges.derivative.want(slopes.inside, [...slopes.left, ...slopes.right], mode);
        this.ranges.basis.want(sampled.inside.rows.flat(), [], mode);
      }
      for (const name of Object.keys(this.boxes)) this.frame(name, state);
      this.curves("main", sampled, heights);
      if (this.boxes.derivative) this.curves("derivative", sampled, slopes);
      if (this.boxes.basis) this.functions(state, sampled, active);
      this.target(state, sampled, target, heights.inside);
      this.inputs(inputs);
      this.stems(state, basis);
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
      label.textContent = { main: "σ(x)", derivative: "σ′(x)", basis: "φ(x)" }[name];
      label.setAttribute("x", low + 8);
      label.setAttribute("y", top + 16);
    }

    path(name, places, heights) {
      const { top, bottom } = this.boxes[name];
      const far = 4 * (bottom - top); // an SVG path need not leave its panel by more than that
      return pathOf(places, heights, (x) => this.x(x), (y) => Math.min(Math.max(this.y(name, y), top - far), bottom + far));
    }

    curves(name, sampled, heights) {
      const { curve, tail } = this.panels[name];
      curve.setAttribute("d", this.path(name, sampled.inside.places, heights.inside));
      tail.setAttribute("d", ["left", "right"].map((side) => this.path(name, sampled[side].places, heights[side])).join(""));
    }

    functions(state, sampled, active) {
      const { functions } = this.panels.basis;
      while (functions.childElementCount > state.degree + 1) functions.lastChild.remove();
      while (functions.childElementCount <= state.degree) element("path", {}, functions);
      [...functions.children].forEach((path, j) => {
        const parts = ["left", "inside", "right"].map((part) =>
          this.path("basis", sampled[part].places, sampled[part].rows.map((row) => row[j])));
        path.setAttribute("d", parts.join(""));
        path.setAttribute("class", j === active ? "active" : "");
        path.style.setProperty("--hue", 210 + 170 * j / state.degree);
      });
    }

    target(state, sampled, target, inside) {
      const { target: path, gap } = this.panels.main;
      const shown = target && state.shown.includes("target");
      if (!shown) {
        path.setAttribute("d", "");
        gap.setAttribute("d", "");
        return;
      }
      const [low, high] = this.reach, count = STEPS / 2;
      const places = Array.from({ length: count + 1 }, (_, i) => low + (high - low) * i / count);
      path.setAttribute("d", this.path("main", places, places.map(target.at)));
      const there = sampled.inside.places, back = [...there].reverse();
      gap.setAttribute("d", this.path("main", [...there, ...back], [...inside, ...back.map(target.at)]));
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

    stems(state, basis) {
      const { dots } = this.panels.main, { low, high } = this.ranges.main;
      dots.replaceChildren();
      const ground = this.y("main", Math.min(Math.max(0, low), high));
      basis.nodes.forEach((x, j) => line(dots, "stem", this.x(x), ground, this.x(x), this.y("main", state.values[j])));
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
