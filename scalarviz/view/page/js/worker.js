// The training of a page, in a worker: it does some steps when the page asks, and says what they computed.
// Before it stand the engine (engine/js), MADE (the functions of this run) and VIEW (those of the sample's rows).

/** A run that the page trains; `numbers` are the engine's, `probe` the sample's inputs and targets. */
class PageTraining {
  constructor({ settings, numbers, gradient, probe, rows, view, asked, whole }) {
    this.engine = new Engine(MADE, settings, numbers);
    this.before = this.engine.theta.slice();
    this.trained = null; // the loss of the last step that it did
    this.engine.grad.set(gradient);
    this.sample = Float64Array.from([...probe, ...Array(view.features).fill(0)]);
    this.rows = new Float64Array(rows);
    this.whole = whole; // whether the loss that is shown is that of all samples
    this.asked = asked; // the inputs of what panels show, one sample after the other
    this.seen = new Float64Array(view.parameters); // weights as the picture's rows take them
  }

  /** Do at most `count` steps in about `milliseconds`; return the last step's numbers. */
  steps({ count, milliseconds, rates, turn }) {
    const { engine, before } = this, losses = [], begun = performance.now();
    do {
      before.set(engine.theta);
      losses.push(engine.step(rates));
    } while (losses.length < count && Number.isFinite(losses.at(-1)) && performance.now() - begun < milliseconds);
    this.trained = losses.at(-1);
    return this.numbers(turn);
  }

  /** Give a weight another value. */
  change({ index, value, turn }) {
    this.engine.theta[index] = value;
    this.before.set(this.engine.theta);
    return this.numbers(turn);
  }

  numbers(turn) {
    const { engine: { theta, grad }, before, seen, sample, rows } = this;
    seen.set(theta);
    VIEW.derive(seen);
    VIEW.features(sample, 0);
    VIEW.look(seen, sample, 0, rows);
    const shown = Float32Array.from(rows), painted = this.painted();
    const update = Float32Array.from(theta, (w, i) => w - before[i]);
    const { engine, trained } = this;
    return { turn, step: engine.steps, trained, loss: engine.lossNow(this.whole), weight: Float32Array.from(theta), gradient: Float32Array.from(grad), update, rows: shown, painted };
  }

  /** What the network makes of the samples that panels show: colours as bytes (NaN is black, one number is grey), or one output. */
  painted() {
    const { asked: { slots, wide, outputs: [from, size] }, sample, seen, rows } = this, room = new Float64Array(sample.length);
    return slots.map(({ inputs, output }) => {
      const each = output < 0 ? 3 : 1, made = new (output < 0 ? Uint8ClampedArray : Float32Array)((each * inputs.length) / wide);
      for (let at = 0, to = 0; at < inputs.length; at += wide) {
        room.set(inputs.subarray(at, at + wide));
        VIEW.features(room, 0);
        VIEW.look(seen, room, 0, rows);
        for (let k = 0; k < each; k++) made[to++] = output < 0 ? 255 * rows[from + Math.min(k, size - 1)] : rows[from + output];
      }
      return made;
    });
  }
}

let training = null;

/** Answer the page: `begin` makes a run, a `count` does steps, an `index` changes a weight; the first question is whether there is a worker. */
function answered({ begin, ...asked }) {
  if (begin) training = new PageTraining(begin);
  return asked.count ? training.steps(asked) : "index" in asked ? training.change(asked) : {};
}

if (globalThis.document) globalThis.trainingOfPage = answered;
else globalThis.onmessage = ({ data }) => postMessage(answered(data));
