"use strict";
// Small parts of every drawing: SVG elements, paths, ticks, and a vertical range that follows what it has to show.
chebact.drawing = (() => {
  function element(name, attributes = {}, parent = null) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent?.append(made);
    return made;
  }

  function line(parent, kind, x1 = 0, y1 = 0, x2 = 0, y2 = 0) {
    return element("line", { class: kind, x1, y1, x2, y2 }, parent);
  }

  function pathOf(places, heights, x, y) {
    let path = "", pen = "M";
    for (let i = 0; i < places.length; i++) {
      if (!Number.isFinite(heights[i])) { pen = "M"; continue; }
      path += `${pen}${x(places[i]).toFixed(2)} ${y(heights[i]).toFixed(2)}`;
      pen = "L";
    }
    return path;
  }

  /** Round numbers between low and high, about so many. */
  function ticks(low, high, count) {
    const rough = (high - low) / count, ten = 10 ** Math.floor(Math.log10(rough));
    const step = ten * [1, 2, 5, 10].find((factor) => factor * ten >= rough * 0.999);
    const found = [];
    for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k === 0 ? 0 : Number((k * step).toPrecision(12)));
    return found;
  }

  class Range {
    constructor(least) {
      this.least = least;
      [this.low, this.high] = [-1, 1];
      this.goal = [-1, 1];
      this.fresh = true;
    }

    /**
     * Say what is to be seen: all of `inside`, and of `outside` what is not too far away. Mode "fit" moves only where
     * something would be cut off or most of the room would be empty, "grow" never shrinks, "reset" fits anew.
     */
    want(inside, outside, mode) {
      let low = Infinity, high = -Infinity;
      for (const height of inside) {
        if (Number.isFinite(height)) [low, high] = [Math.min(low, height), Math.max(high, height)];
      }
      if (low > high) return;
      const least = high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-9) ? this.least : 1; // a constant has no scale
      const beyond = Math.max(high - low, least) * 0.6;
      let [bottom, top] = [low, high];
      for (const height of outside) {
        if (Number.isNaN(height)) continue;
        bottom = Math.min(bottom, Math.max(height, low - beyond));
        top = Math.max(top, Math.min(height, high + beyond));
      }
      const missing = Math.max(0, least * 2 - (top - bottom)) / 2, edge = Math.max(top - bottom, least) * 0.09;
      const wanted = [bottom - missing - edge, top + missing + edge];
      const [from, to] = this.goal, room = to - from;
      const fits = low >= from && high <= to && wanted[1] - wanted[0] > room * 0.5 && wanted[1] - wanted[0] < room * 1.4;
      if (mode === "grow") this.goal = [low < from ? wanted[0] : from, high > to ? wanted[1] : to];
      else if (mode === "reset" || this.fresh || !fits) this.goal = wanted;
      if (this.fresh) [this.low, this.high] = this.goal;
      this.fresh = false;
    }

    /** Go a part of the way to the goal; whether there is more to go. */
    step(share) {
      const room = this.goal[1] - this.goal[0];
      const close = Math.abs(this.low - this.goal[0]) + Math.abs(this.high - this.goal[1]) < room * 0.002;
      if (close || share >= 1) [this.low, this.high] = this.goal;
      else {
        this.low += (this.goal[0] - this.low) * share;
        this.high += (this.goal[1] - this.high) * share;
      }
      return !close && share < 1;
    }
  }

  return { Range, element, line, pathOf, ticks };
})();
