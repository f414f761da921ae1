"use strict";
// The handles at the nodes: sliders for mouse, touch and keyboard.
chebact.Handles = (() => {
  const { element } = chebact.drawing;
  const REACH = { mouse: 26, touch: 28, pen: 28 };

  return class Handles {
    /**
     * `change(index, height, kind)` is called for every step; kind is "drag", "key" or "home" (back to the function).
     * `height(index)` gives what is not drawn yet, too.
     */
    constructor(plot, { height, change, end, look }) {
      Object.assign(this, { plot, height, change, end, look, drag: null, list: [] });
      const { svg } = plot;
      svg.addEventListener("pointerdown", (event) => this.down(event));
      // the page must not scroll along; browsers do not heed touch-action on parts of an SVG
      svg.addEventListener("touchstart", (event) => {
        if (this.nearest(event.changedTouches[0], REACH.touch) !== null) event.preventDefault();
      }, { passive: false });
      svg.addEventListener("pointermove", (event) => this.move(event));
      svg.addEventListener("pointerup", () => this.release());
      svg.addEventListener("pointercancel", () => this.release());
      svg.addEventListener("lostpointercapture", () => this.release());
      svg.addEventListener("pointerleave", () => this.look({ hover: null, x: null }));
      svg.addEventListener("dblclick", (event) => {
        const index = this.nearest(event, REACH.mouse);
        if (index !== null) this.change(index, null, "home");
      });
      this.chip = element("g", { class: "chip", "aria-hidden": "true" }, plot.svg);
      this.chipBack = element("rect", { rx: 5, height: 22 }, this.chip);
      this.chipText = element("text", { y: 15, "text-anchor": "middle" }, this.chip);
    }

    /** Handles from left to right, so that the Tab key goes that way; `list[j]` belongs to node j. */
    build(count) {
      if (this.list.length === count) return;
      this.list = Array.from({ length: count }, (_, j) => this.handle(j));
      this.plot.handles.replaceChildren(...[...this.list].reverse());
    }

    handle(index) {
      const group = element("g", {
        class: "handle", role: "slider", tabindex: "0", "aria-orientation": "vertical", "data-node": index + 1,
      });
      element("circle", { class: "hit", r: 28 }, group);
      element("circle", { class: "ring", r: 12 }, group);
      element("circle", { class: "dot" }, group);
      group.addEventListener("keydown", (event) => this.key(event, index));
      group.addEventListener("focus", () => this.look({ focus: index }));
      group.addEventListener("blur", () => this.look({ focus: null }));
      return group;
    }

    place(state, basis, active) {
      this.build(state.degree + 1);
      const { low, high } = this.plot.ranges.main;
      this.list.forEach((handle, j) => {
        const [x, y] = this.at(basis, state, j);
        handle.setAttribute("transform", `translate(${x.toFixed(2)} ${y.toFixed(2)})`);
        handle.classList.toggle("active", j === active);
        handle.lastChild.setAttribute("r", state.degree > 14 ? 4.5 : 7);
        const node = chebact.text.short(basis.nodes[j]);
        handle.setAttribute("aria-label", `Height at node ${j + 1} of ${state.degree + 1}, x = ${node}`);
        handle.setAttribute("aria-valuenow", state.values[j]);
        handle.setAttribute("aria-valuetext", chebact.text.short(state.values[j]));
        handle.setAttribute("aria-valuemin", Math.min(low, state.values[j]));
        handle.setAttribute("aria-valuemax", Math.max(high, state.values[j]));
      });
      this.positions = state.values.map((_, j) => this.at(basis, state, j));
      this.label(state, active);
    }

    at(basis, state, index) {
      return [this.plot.x(basis.nodes[index]), this.plot.y("main", state.values[index])];
    }

    label(state, active) {
      this.chip.toggleAttribute("hidden", active === null);
      if (active === null) return;
      this.chipText.textContent = `y${subscript(active + 1)} = ${chebact.text.short(state.values[active])}`;
      const width = 16 + 7 * this.chipText.textContent.length, [x, y] = this.positions[active];
      this.chipBack.setAttribute("width", width);
      this.chipBack.setAttribute("x", -width / 2);
      const left = Math.min(Math.max(x, width / 2 + 2), this.plot.size[0] - width / 2 - 2);
      this.chip.setAttribute("transform", `translate(${left} ${y > 52 ? y - 42 : y + 20})`);
    }

    nearest(event, reach) {
      const [x, y] = this.pixel(event);
      let best = null, least = reach;
      this.positions?.forEach(([left, top], j) => {
        const distance = Math.hypot(left - x, top - y);
        if (distance < least) [best, least] = [j, distance];
      });
      return best;
    }

    pixel(event) {
      const box = this.plot.svg.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    down(event) {
      if (event.button !== 0 || this.drag) return;
      const index = this.nearest(event, REACH[event.pointerType] ?? REACH.mouse);
      if (index === null) return;
      event.preventDefault();
      this.plot.svg.setPointerCapture(event.pointerId);
      this.list[index].focus({ preventScroll: true });
      this.drag = { index, pointer: event.pointerId, shift: this.positions[index][1] - this.pixel(event)[1], moved: false };
      this.plot.svg.classList.add("dragging");
    }

    move(event) {
      const [x, y] = this.pixel(event);
      if (!this.drag) {
        const index = this.nearest(event, REACH[event.pointerType] ?? REACH.mouse);
        this.plot.svg.classList.toggle("over", index !== null);
        this.look({ hover: index, x: this.plot.xBack(x) });
        return;
      }
      if (event.pointerId !== this.drag.pointer) return;
      const { bottom } = this.plot.boxes.main, unit = this.plot.unitsPerPixel();
      const height = this.plot.ranges.main.low + (bottom - (y + this.drag.shift)) * unit;
      this.drag.moved = true;
      this.change(this.drag.index, roundToStep(height, 10 ** Math.floor(Math.log10(unit))), "drag");
    }

    release() {
      if (!this.drag) return;
      const { moved } = this.drag;
      this.drag = null;
      this.plot.svg.classList.remove("dragging");
      if (moved) this.end();
    }

    key(event, index) {
      const { low, high } = this.plot.ranges.main, step = 10 ** Math.floor(Math.log10(high - low)) / 100;
      const height = this.height(index), fast = event.shiftKey ? 10 : 1;
      const wanted = {
        ArrowUp: height + step * fast, ArrowRight: height + step * fast, PageUp: height + step * 10,
        ArrowDown: height - step * fast, ArrowLeft: height - step * fast, PageDown: height - step * 10,
        Home: low, End: high,
      }[event.key];
      if (wanted === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.change(index, roundToStep(wanted, step / 10), "key");
    }
  };

  /** The multiple of a power of ten, without the noise of binary fractions. */
  function roundToStep(height, step) {
    const digits = Math.max(0, -Math.round(Math.log10(step)));
    const near = digits <= 20 ? Number((Math.round(height / step) * step).toFixed(digits)) : height;
    return near === 0 ? 0 : near;
  }

  function subscript(number) {
    return [...String(number)].map((digit) => String.fromCharCode(0x2080 + Number(digit))).join("");
  }
})();
