// The training of a page, in a worker: it does some steps when the page asks, and says what they computed.
// Before it stand the engine (engine/js), MADE (the functions of this run), VIEW (those of the sample's rows) and TRIAL
// (those of an opened step), RULES (the updates of this run's optimiser and of others) and BENDS (these three, and those of
// other activations).

const COLOUR = 3; // numbers of a colour
const PLACES = 129, INNER = 0.92; // of a weight, whose losses are a curve; the share of its span where it may be

/** A run that the page trains. */
class PageTraining {
  /** `keys` are where the page knows the state of the training, with their arrays; `probe` is the sample's inputs and targets. */
  constructor({ settings, keys, laws, rules, data, columns, shares, probe, rows, view, asked, whole, trial, added }) {
    Object.assign(this, { settings, keys, laws, rules, shared: { data, columns, shares }, whole }); // `whole`: whether the loss that is shown is that of all samples
    this.probe = probe;
    this.sample = Float64Array.from([...probe, ...Array(view.features).fill(0)]);
    this.rows = new Float64Array(rows);
    Object.assign(this, { trial, given: probe.length, added }); // `added`: what a sample has but its place
    this.asked = asked; // the inputs of what panels show, one sample after the other
    this.seen = new Float64Array(view.parameters); // weights as the picture's rows take them
  }

  /** Begin at a key, or at its step with other first weights: those of a seed, or one number for all. */
  stand(key, first) {
    const { arrays: [theta, ...state], steps, trained, frozen, before } = this.keys[key];
    const numbers = { theta: theta.slice(), state: state.map(array => array.slice()), steps, trained: trained.slice(), frozen: frozen.slice(), ...this.shared };
    this.engine = new Engine(MADE, { ...this.settings, before: first ? -steps : before }, numbers);
    if (first) {
      if ("seed" in first) drawWeights(numbers.theta, this.laws, first.seed);
      else trained.forEach((yes, k) => yes && (numbers.theta[k] = first.equal));
      numbers.state.forEach((array, k) => array.fill(this.rules[0].starts[k]));
    }
    Object.assign(this, { view: VIEW, opens: TRIAL });
    this.sample.set(this.probe);
    this.before = Float64Array.from(numbers.theta);
    this.trained = null; // the loss of the last step that it did
  }

  /** Take the weights, the gradient and the update of a recorded frame; without weights, those where it stands. */
  place(weights, gradient, update) {
    this.engine.theta.set(weights);
    this.engine.grad.set(gradient);
    this.engine.theta.forEach((w, k) => (this.before[k] = w - (update[k] ?? 0)));
  }

  /** Do at most `count` steps, in about `milliseconds`; `pace` has runs of equal rates. */
  run(count, pace, milliseconds = Infinity) {
    const { engine, before } = this, begun = performance.now();
    let [[end, rates], ...later] = pace;
    for (let done = 0; done < count; done++) {
      if (done === end) {
        const [[many, next], ...more] = later;
        [end, rates, later] = [end + many, next, more];
      }
      before.set(engine.theta);
      this.trained = engine.step(rates);
      if (!Number.isFinite(this.trained) || performance.now() - begun >= milliseconds) break;
    }
  }

  /** Change a weight, or how it trains on: `what` is an index, or a name. */
  change(what, value) {
    const { engine, before } = this, [, fixed] = /^f(\d+)$/.exec(what) ?? [];
    if (what === "lr") return; // each order to run says its rates
    if (what === "batch") engine.takeBatch(value);
    else if (what === "rule") engine.takeOptimiser(RULES[value], this.rules[value]);
    else if (what === "l1" || what === "l2") engine.takePenalties({ [what]: value });
    else if (what === "bend") this.bend(...BENDS[value]);
    else if (what === "keep") engine.kept = value > 0;
    else if (what === "raw") engine.uncorrected = value > 0;
    else if (what === "add") {
      const [x, y, kind] = value.split(";").map(Number), { rest, targets } = this.added;
      engine.takeSample([x, y, ...rest, targets[kind]]);
    } else if (what === "picture") this.repaint(value);
    else if (fixed) engine.trained[fixed] = 1 - (engine.frozen[fixed] = Number(value > 0));
    else {
      before[what] -= engine.theta[what];
      engine.theta[what] = value;
      before[what] += engine.theta[what]; // its last update stays
    }
  }

  // Go on with other colours as targets, also of the sample, if it is one of theirs.
  repaint(colours) {
    const { engine, sample, asked: { wide } } = this, { numbers } = engine.settings;
    engine.takeTargets(colours, wide, COLOUR);
    for (let at = 0, k = 0; at < engine.data.length; at += numbers, k += COLOUR) {
      if (sample.subarray(0, wide).every((x, j) => x === engine.data[at + j])) sample.set(colours.subarray(k, k + COLOUR), wide);
    }
  }

  // Go on with the functions of another activation.
  bend(made, view, opens) {
    const { engine } = this, { derived, update } = engine.made;
    engine.made = { ...made, derived, update };
    Object.assign(this, { view, opens });
  }

  /** Return the numbers of the last step, and what the picture shows of it. */
  numbers() {
    const { engine: { theta, grad }, before, seen, sample, rows, view } = this;
    seen.set(theta);
    view.derive(seen);
    view.features(sample, 0);
    view.look(seen, sample, 0, rows);
    const shown = Float32Array.from(rows), painted = this.painted();
    const update = Float32Array.from(theta, (w, i) => w - before[i]);
    const { engine, trained } = this;
    return { step: engine.steps, trained, loss: engine.lossNow(this.whole), weight: Float32Array.from(theta), gradient: Float32Array.from(grad), update, rows: shown, painted };
  }

  /**
   * Return the numbers of the coming step, which changes nothing: means of rows and sums of deltas by name, and of each
   * weight its gradient, its factors and its change. It is the step of the batch, or a trial with the sample `alone`.
   */
  opened(rates, alone) {
    const { engine, opens, trial: { view, rows: named, means, outputs }, asked: { wide } } = this, theta = Float64Array.from(engine.theta);
    const seen = new Float64Array(view.parameters), sums = new Float64Array(view.parameters), one = new Float64Array(outputs), made = new Float64Array(outputs), given = new Float64Array(this.given);
    seen.set(theta);
    opens.derive(seen);
    const { data, places, up } = alone ? this.sampleAlone() : this.batchNow();
    for (const place of places) {
      opens.trial(seen, sums, data, place, one, up);
      one.forEach((x, k) => (made[k] += x));
      for (let k = 0; k < given.length; k++) given[k] += data[place + k];
    }
    for (const sum of [made.subarray(0, means), given]) sum.forEach((x, k) => (sum[k] = x / places.length));
    opens.spread(seen, sums);
    const { derived, update } = engine.made, other = update !== MADE.update; // another optimiser's
    const copies = arrays => arrays.map(array => Float64Array.from(array));
    const step = Object.assign(Object.create(Engine.prototype), engine, {
      made: { ...opens, ...(other && { derived, update }) }, theta: theta.slice(), grad: sums.slice(0, theta.length), state: copies(engine.state), columns: copies(engine.columns),
      rounded: new Float64Array(engine.rounded.length),
    });
    step.move(rates);
    let at = 0;
    const next = count => made.slice(at, (at += count)), all = () => Object.fromEntries(named.map(([name, count]) => [name, next(count)]));
    const rows = { ...all(), input: given.slice(0, wide), target: given.slice(wide) }, [mean] = next(1), forward = next(theta.length), deltas = all(), backward = next(theta.length), back = next(theta.length);
    return { alone, loss: mean * places.length * up, lr: rates[0], back, rows, deltas, forward, backward, weight: theta, gradient: step.grad, change: step.theta.map((w, k) => w - theta[k]) };
  }

  sampleAlone() {
    const data = new Float64Array(this.sample.length + this.trial.view.features);
    data.set(this.sample.subarray(0, this.given));
    this.opens.features(data, 0);
    return { data, places: [0], up: 1 };
  }

  batchNow() {
    const { engine, engine: { order, settings, data } } = this;
    samplesOf(order, engine.steps, settings);
    return { data, places: Array.from(order, sample => sample * settings.numbers), up: engine.scale() };
  }

  /** What the network with these weights, and one of its activations, makes of the samples of wanted panels. */
  look(weights, bend, wanted) {
    const [, view] = BENDS[bend];
    this.seen.set(weights);
    view.derive(this.seen);
    return this.painted(view, wanted);
  }

  /** The loss of a panel's samples where one weight has other values, and before them the number of their span. */
  lossesOver(view, { number, inputs, length, spans, share }) {
    const { seen, rows, sample, before } = this, here = seen[number], room = new Float64Array(sample.length);
    const inside = ([low, high]) => [here, before[number]].every(w => Math.abs(w - (low + high) / 2) <= (INNER * (high - low)) / 2);
    const level = Math.max(spans.findIndex(inside), 0), [low, high] = spans[level];
    const found = Float64Array.from({ length: PLACES }, (_, place) => {
      let sum = 0;
      seen[number] = low + ((high - low) * place) / (PLACES - 1);
      view.derive(seen);
      for (let at = 0; at < inputs.length; at += length) {
        room.set(inputs.subarray(at, at + length));
        view.features(room, 0);
        view.look(seen, room, 0, rows);
        sum += rows.at(-1);
      }
      return share * sum;
    });
    seen[number] = here;
    view.derive(seen);
    return [level, ...found];
  }

  /**
   * What the network makes of the samples that panels show: colours as bytes (NaN is black, one number is grey), one
   * output, or which one is the largest; of samples with targets: output, output - target, loss.
   */
  painted(view = this.view, wanted = null) {
    const { asked: { slots, wide, outputs: [from, size] }, sample, seen, rows } = this, room = new Float64Array(sample.length);
    const largest = () => rows.subarray(from, from + size).reduce((best, x, k, all) => (x > all[best] || (x !== x && all[best] === all[best]) ? k : best), 0);
    const forms = {
      text: [Float64Array, 3, (made, at) => made.set([rows[from], rows[from] - room[wide], rows.at(-1)], at)],
      sprites: [Uint8Array, 1, (made, at) => (made[at] = largest())],
      output: [Float32Array, 1, (made, at, output) => (made[at] = rows[from + output])],
      colours: [Uint8ClampedArray, 3, (made, at) => {
        for (let k = 0; k < 3; k++) made[at + k] = 255 * rows[from + Math.min(k, size - 1)];
      }],
    };
    return slots.map(({ kind, inputs, output, length }, k) => {
      if (wanted && !wanted[k]) return null;
      if (kind === "numbers") return []; // of the frame
      if (kind === "losses") return this.lossesOver(view, slots[k]);
      const [Real, each, write] = forms[kind] ?? forms[output < 0 ? "colours" : "output"], made = new Real((each * inputs.length) / length);
      for (let at = 0, to = 0; at < inputs.length; at += length, to += each) {
        room.set(inputs.subarray(at, at + length));
        view.features(room, 0);
        view.look(seen, room, 0, rows);
        write(made, to, output);
      }
      return made;
    });
  }
}

let training = null;

/**
 * Answer the page: `begin` makes the training, then it does what `orders` say, each a method and its arguments; `open` asks
 * for the coming step: `rates`, and for each of the `sides` whether it is the sample's alone; `look` are weights, an
 * activation and the panels that it paints for them. The first question is whether there is a worker.
 */
function answered({ begin, orders = [], open, look }) {
  if (begin) training = new PageTraining(begin);
  for (const [name, ...given] of orders) training[name](...given);
  if (open) return { opened: open.sides.map(alone => training.opened(open.rates, alone)) };
  if (look) return { painted: training.look(...look) };
  return orders.length ? training.numbers() : {};
}

if (globalThis.document) globalThis.trainingOfPage = answered;
else globalThis.onmessage = ({ data }) => postMessage(answered(data));
