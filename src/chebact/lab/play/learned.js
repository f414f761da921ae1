"use strict";
// The learned activations that came with the page, from a record or a saved model.
chebact.Learned = (() => {
  const { first, same } = chebact.state;
  const $ = (id) => document.getElementById(id);

  return class Learned {
    constructor({ source, sets }, show) {
      Object.assign(this, { sets, show });
      if (!sets.length) return;
      $("learned").hidden = false;
      $("source").textContent = source;
      sets.forEach((set, index) => {
        $("set").append(Object.assign(document.createElement("option"), { value: index, textContent: set.name }));
      });
      $("set").addEventListener("change", () => { this.bound(); this.open(); });
      for (const id of ["replica", "channel"]) {
        $(id).addEventListener("input", () => { if ($(id).validity.valid && $(id).value) this.open(); });
      }
    }

    get set() { return this.sets[Number($("set").value)]; }
    get index() { return Number($("replica").value) * this.set.channels + Number($("channel").value); }

    bound() {
      const { replicas, channels } = this.set;
      $("replica-label").hidden = replicas === 1;
      for (const [id, count] of [["replica", replicas], ["channel", channels]]) {
        $(id).max = count - 1;
        if (Number($(id).value) >= count) $(id).value = 0;
      }
      $("channels").textContent = channels === 1 ? "the only one" : `of 0 to ${channels - 1}`;
    }

    /** Show the first set, unless the address says what to show. */
    begin(state, addressed) {
      if (!this.sets.length) return;
      this.bound();
      if (!addressed) this.open(state);
    }

    open() {
      const { degree, tails, regressionNodes, interval, rows, inputs } = this.set;
      const values = rows[this.index];
      this.opened = { values, inputs: inputs?.[this.index] ?? null };
      this.show({
        ...first(), degree, tails: tails ?? "extrapolate", regressionNodes: regressionNodes ?? 2,
        interval: interval ?? [-1, 1], target: "", values, moved: true,
      }, { tag: "learned" });
    }

    /** The histogram that belongs to what is shown: gone once another shape is. */
    inputsOf(state) {
      const inputs = this.opened && same(this.opened.values, state.values) ? this.opened.inputs : null;
      $("inputs-key").hidden = !inputs;
      $("outside").hidden = !inputs;
      if (inputs) $("outside").textContent = `${chebact.text.short(100 * inputs.outside, 3)} % of the inputs fall outside the interval.`;
      return inputs;
    }
  };
})();
