"use strict";
// The learned activations that came with the page, from a record or a saved model.
chebact.Learned = (() => {
  const { initialState } = chebact.state;
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
      $("set").addEventListener("change", () => this.open());
      for (const id of ["replica", "channel"]) {
        $(id).addEventListener("input", () => { if ($(id).validity.valid && $(id).value) this.open({ tag: "channel" }); });
      }
    }

    /** The state that shows one channel, whatever was there before but for the width and the panels. */
    state(set, replica = 0, channel = 0, before = initialState()) {
      const { degree, tails, regressionNodes, interval, rows, channels } = this.sets[set];
      return {
        ...before, degree, tails: tails ?? "extrapolate", regressionNodes: regressionNodes ?? 2,
        interval: interval ?? [-1, 1], target: "", values: rows[replica * channels + channel], moved: true,
        origin: { set, replica, channel },
      };
    }

    /** Show what the controls name; a set that has no such channel shows its first. */
    open(options) {
      const set = Number($("set").value), { replicas, channels } = this.sets[set];
      const within = (id, count) => (Number($(id).value) < count ? Number($(id).value) : 0);
      this.show((before) => this.state(set, within("replica", replicas), within("channel", channels), before), options);
    }

    /** Bring the controls to what is shown. */
    panel({ origin }) {
      if (!this.sets.length) return;
      const { set, replica, channel } = origin ?? { set: Number($("set").value) || 0, replica: null, channel: null };
      const { replicas, channels } = this.sets[set];
      $("set").value = set;
      $("replica-label").hidden = replicas === 1;
      $("channels").textContent = channels === 1 ? "the only one" : `of 0 to ${channels - 1}`;
      for (const [id, count, index] of [["replica", replicas, replica], ["channel", channels, channel]]) {
        $(id).max = count - 1;
        if (index !== null && document.activeElement !== $(id)) $(id).value = index;
      }
      const inputs = this.inputsOf({ origin });
      $("inputs-key").hidden = !inputs;
      $("outside").hidden = !inputs;
      if (inputs) $("outside").textContent = `${chebact.text.short(100 * inputs.outside, 3)} % of the inputs fall outside the interval.`;
    }

    /** The histogram of the inputs that reach the channel that is shown, where the record keeps one. */
    inputsOf({ origin }) {
      if (!origin) return null;
      const { inputs, channels } = this.sets[origin.set];
      return inputs?.[origin.replica * channels + origin.channel] ?? null;
    }
  };
})();
