// The part of the engine that is the same for every run: random numbers, the order of the samples, the loop over the
// steps. Formulas, gradients and updates are printed by Python (engine/js/printer.py).

// ---- what JavaScript lacks

/** Powers of C and IEEE 754: JavaScript makes 1 ** NaN a NaN. */
const _pow = (a, b) => (a === 1 || (a === -1 && (b === Infinity || b === -Infinity)) ? 1 : Math.pow(a, b));
const horner = (coefficients, x) => coefficients.reduce((total, one) => total * x + one);

/** The error function; the rationals are those of scalar/erf.py. */
function _erf(x) {
  const a = Math.min(Math.abs(x), ERF.one), z = a * a;
  const found = a < 1 ? (a * horner(ERF.T, z)) / horner(ERF.U, z) : 1 - (Math.exp(-z) * horner(ERF.P, a)) / horner(ERF.Q, a);
  return x < 0 || Object.is(x, -0) ? -found : found;
}

function _erfc(x) {
  const a = Math.min(Math.abs(x), ERF.none), z = a * a;
  if (a < 1) return 1 - (Math.sign(x) * a * horner(ERF.T, z)) / horner(ERF.U, z);
  const tail = (Math.exp(-z) * horner(a < ERF.far ? ERF.P : ERF.R, a)) / horner(a < ERF.far ? ERF.Q : ERF.S, a);
  return x < 0 ? 2 - tail : tail;
}

/** Round to the nearest float16, ties to even. */
function _float16(x) {
  const a = Math.abs(x);
  if (!(a < 65520)) return a >= 65520 ? Math.sign(x) * Infinity : x;
  const unit = 2 ** (Math.max(Math.floor(Math.log2(a || 1)), -14) - 10), up = a / unit;
  const whole = Math.floor(up), rest = up - whole, found = whole + (rest > 0.5 || (rest === 0.5 && whole % 2) ? 1 : 0);
  return x < 0 || Object.is(x, -0) ? -found * unit : found * unit;
}

// ---- random numbers (rng.py)

const M0 = 0xd2511f53, M1 = 0xcd9e8d57, W0 = 0x9e3779b9, W1 = 0xbb67ae85;
const STREAM = { weights: 1, order: 2, sampling: 4, dropout: 5 };
const word = (x) => x >>> 0;
const words = (n) => [n % 4294967296, Math.floor(n / 4294967296)];

/** The upper word of a product of two words: every number on the way is below 2 ** 49. */
const high = (a, b) => Math.floor((a * (b >>> 16) + Math.floor((a * (b & 0xffff)) / 65536)) / 65536);

function philox(c0, c1, c2, c3, k0, k1) {
  for (let round = 0; round < 10; round++) {
    const h0 = high(c0, M0), l0 = word(Math.imul(c0, M0)), h1 = high(c2, M1), l1 = word(Math.imul(c2, M1));
    c0 = word(h1 ^ c1 ^ k0);
    c1 = l1;
    c2 = word(h0 ^ c3 ^ k1);
    c3 = l0;
    k0 = word(k0 + W0);
    k1 = word(k1 + W1);
  }
  return [c0, c1, c2, c3];
}

/** Bits 16 to 47 of the product of x and m, in 32-bit arithmetic. */
const middle = (x, m) => (Math.imul(x >>> 16, m) + Math.imul(x & 0xffff, m >>> 16) + (Math.imul(x & 0xffff, m & 0xffff) >>> 16)) | 0;

function feistel(x, left, right, rounds, key) {
  const upper = (1 << left) - 1, lower = (1 << right) - 1;
  let a = x >> right, b = x & lower, k0 = key[0] | 0, k1 = key[1] | 0, k2 = key[2] | 0, k3 = key[3] | 0;
  for (let round = 0; round < rounds; round++) {
    a = (a + middle(b ^ k0, M0)) & upper;
    b = (b + middle(a ^ k1, M1)) & lower;
    a = (a + middle(b ^ k2, M0)) & upper;
    b = (b + middle(a ^ k3, M1)) & lower;
    k0 = (k0 + W0) | 0;
    k1 = (k1 + W1) | 0;
    k2 = (k2 + W0) | 0;
    k3 = (k3 + W1) | 0;
  }
  return (a << right) | b;
}

/** One of 0 .. n - 1 from two words: the upper part of their product with n. */
const drawn = (first, second, n) => Number((BigInt(first) * BigInt(n) + ((BigInt(second) * BigInt(n)) >> 32n)) >> 32n);

/** Fill `into` with the samples of a step, the first is 0. */
function samplesOf(into, step, { seed, samples, sampling, shape }) {
  const count = into.length;
  if (sampling === "replacement") {
    for (let i = 0; i < count; i++) {
      const found = philox(i >> 1, STREAM.sampling, ...words(step), ...seed).slice(2 * (i & 1));
      into[i] = drawn(found[0], found[1], samples);
    }
  } else if (count === samples) {
    for (let i = 0; i < count; i++) into[i] = i;
  } else {
    const epoch = Math.floor(samples / count), first = (step % epoch) * count;
    const key = philox(0, STREAM.order, ...words(Math.floor(step / epoch)), ...seed);
    for (let i = 0; i < count; i++) {
      let found = first + i;
      do found = feistel(found, ...shape, key);
      while (found >= samples);
      into[i] = found;
    }
  }
}

const unit = (upper, lower) => ((upper >>> 5) * 67108864 + (lower >>> 6)) / 9007199254740992;

/** Fill `into` with the first weights of a seed: each law is the kind of its draws, its place, first weight, size, low and span. */
function drawWeights(into, laws, seed) {
  for (const [kind, place, first, size, low, span] of laws) {
    for (let k = 0; k < size; k++) {
      let draw = 0;
      if (kind) {
        const found = philox(k >> 1, STREAM.weights, ...words(place), ...words(seed)), a = unit(found[0], found[1]), b = unit(found[2], found[3]);
        const radius = Math.sqrt(-2 * Math.log1p(-a)), angle = 2 * Math.PI * b;
        draw = kind === "uniform" ? [a, b][k & 1] : radius * (k & 1 ? Math.sin(angle) : Math.cos(angle));
      }
      into[first + k] = (low[k] ?? low) + (span[k] ?? span) * draw;
    }
  }
}

const _key = (seed, call) => philox(call, STREAM.dropout, 0, 0, ...seed).slice(0, 2);

// Puts numbers of an array into `out` from place k on. Three numbers of `runs` say from where, how many, and the step
// from one to the next; -1 stands for 1, and -2 for no number.
function _put(out, k, from, runs) {
  for (let r = 0; r < runs.length; r += 3) {
    for (let i = 0, at = runs[r]; i < runs[r + 1]; i++, at += runs[r + 2]) out[k++] = at < 0 ? (at < -1 ? NaN : 1) : from[at];
  }
}

/** A factor of a dropout mask. */
function _mask(key, unit, step, place, p) {
  const dropped = philox(place, unit >>> 2, ...words(step), ...key)[unit & 3] < Math.round(p * 4294967296);
  return dropped || p >= 1 ? 0 : 1 / (1 - p);
}

// ---- the steps

const inverse = (divisor) => (divisor === 0 ? Infinity : 1 / divisor);

/** A run that goes on. */
class Engine {
  /**
   * `made` are the printed functions. Of the `numbers`, theta, state, frozen, trained and steps change; data has one
   * sample after the other, and room for what the network computes of it once.
   */
  constructor(made, settings, numbers) {
    Object.assign(this, { made, settings }, numbers);
    const Real = this.theta.constructor, { parameters } = settings;
    this.extended = parameters === this.theta.length ? this.theta : new Real(parameters); // with derived parameters
    this.sums = new Float64Array(parameters); // of the gradients
    this.grad = new Real(this.theta.length);
    this.makeRoom(settings.rates);
    this.stats = new Float64Array(settings.tracks.length);
    this.order = new Int32Array(settings.batch);
    for (let at = 0; settings.features && at < this.data.length; at += settings.numbers) made.features(this.data, at);
  }

  // Make room for the numbers of a step, for the update.
  makeRoom(count) {
    this.exact = new Float64Array(count);
    this.rounded = new this.theta.constructor(count);
  }

  /** Take another optimiser, at its first step: the `functions` of its update, how many numbers these take, and the first numbers of its state. */
  takeOptimiser({ derived, update }, { numbers, starts }) {
    this.made = { ...this.made, derived, update };
    this.settings = { ...this.settings, before: -this.steps };
    this.state = starts.map(start => new this.theta.constructor(this.theta.length).fill(start));
    this.makeRoom(numbers);
  }

  /** Take other penalties: the printed update has those of `limits`, and the gradient gets the rest. */
  takePenalties(change) {
    this.printed ??= this.settings.limits;
    const limits = { ...this.settings.limits, ...change };
    this.settings = { ...this.settings, limits, penalised: limits.l1 !== 0 || limits.l2 !== 0 };
    this.rest = [limits.l1 - this.printed.l1, limits.l2 - this.printed.l2];
  }

  // Return the gradient for the printed update.
  get pulled() {
    const { theta, grad, rest: [l1, l2] = [0, 0] } = this;
    return l1 || l2 ? grad.map((g, i) => g + l1 * Math.sign(theta[i]) + 2 * l2 * theta[i]) : grad;
  }

  /** Take another number of samples for a step. */
  takeBatch(count) {
    this.settings = { ...this.settings, batch: count };
    this.order = new Int32Array(count);
  }

  /** Take one more sample, the last one: its inputs and targets. A batch of all samples stays one. */
  takeSample(given) {
    const { made, settings, settings: { samples: last, batch, sampling, features }, data } = this, bits = 32 - Math.clz32(last);
    this.data = new data.constructor(data.length + settings.numbers);
    this.data.set(data);
    this.data.set(given, data.length);
    if (features) made.features(this.data, data.length);
    this.settings = { ...settings, samples: last + 1, shape: [bits >> 1, bits - (bits >> 1), bits > 8 ? 4 : 24] }; // shape_of in rng.py
    if (sampling === "epochs" && batch === last) this.takeBatch(last + 1);
  }

  /** Take other targets for the samples, of which each has `inputs` before its `targets`. */
  takeTargets(all, inputs, targets) {
    this.data = this.data.slice();
    for (let from = 0, at = inputs; from < all.length; from += targets, at += this.settings.numbers) this.data.set(all.subarray(from, from + targets), at);
  }

  /** Compute the gradient of the next step's batch; return its loss, with penalties. With `kept` it is added to the one before. */
  gradient() {
    const { made, settings, theta, extended, sums, grad, data, order, steps, stats } = this;
    samplesOf(order, steps, settings);
    const scale = this.scale();
    if (extended !== theta) {
      extended.set(theta);
      made.derive(extended);
    }
    for (let i = 0; i < sums.length; i++) sums[i] = this.kept && i < grad.length ? grad[i] : 0;
    const loss = made.gradient(extended, sums, data, order, steps, settings.seed, scale, stats);
    if (extended !== theta) made.spread(extended, sums);
    for (let i = 0; i < grad.length; i++) grad[i] = sums[i];
    return loss * scale + (settings.penalised ? this.penalty() : 0);
  }

  /** Do the next step; return its loss. `rates` are those of all parameter groups, then their momenta. */
  step(rates) {
    const loss = this.gradient();
    this.move(rates);
    if (this.settings.tracks.length) this.follow();
    this.steps += 1;
    return loss;
  }

  /** Change the weights by their gradients. */
  move(rates) {
    const { made, settings, exact, rounded } = this, clipped = settings.limits.clip_norm === null ? 0 : 1;
    exact[0] = rates[0];
    exact[1] = this.uncorrected ? Infinity : this.steps + 1 + settings.before; // no correction is left after so many steps
    for (let k = 1; k < rates.length; k++) exact[k + 1 + clipped] = rates[k];
    made.derived(exact);
    for (let k = 0; k < exact.length; k++) rounded[k] = exact[k];
    if (clipped) rounded[2] = this.clipping();
    made.update(rounded, this.theta, this.pulled, this.state, this.columns, this.trained);
  }

  /** Return the loss of the present weights, of the next batch or of all samples (without penalties); the gradient stays. */
  lossNow(whole) {
    const { grad, order, settings: { samples, penalised } } = this, kept = grad.slice(), other = whole && order.length !== samples;
    if (other) this.order = new Int32Array(samples);
    const loss = this.gradient() - (other && penalised ? this.penalty() : 0);
    this.order = order;
    grad.set(kept);
    return loss;
  }

  /** The factor of a sample's loss in the loss of the batch. */
  scale() {
    const { settings, shares, order } = this;
    if (!settings.mean) return 1;
    return shares ? inverse(order.reduce((sum, sample) => sum + shares[sample], 0)) : 1 / order.length;
  }

  penalty() {
    const { l1, l2, n } = this.settings.limits;
    let absolute = 0, squares = 0;
    for (let i = 0; i < n; i++) {
      absolute += Math.abs(this.theta[i]);
      squares += this.theta[i] * this.theta[i];
    }
    return l1 * absolute + l2 * squares;
  }

  /** The factor that makes the gradient as long as it may be, at most. */
  clipping() {
    const { l1, l2, clip_norm: longest } = this.settings.limits;
    let squares = 0;
    this.theta.forEach((w, i) => {
      const g = this.grad[i] + l1 * Math.sign(w) + 2 * l2 * w;
      if (this.trained[i]) squares += g * g;
    });
    const length = Math.sqrt(squares);
    return Number.isNaN(length) ? NaN : Math.min(1, longest / (length + 1e-6));
  }

  /** Update the numbers that follow statistics of the batch (`follow` in engine/problem.py). */
  follow() {
    const { theta, frozen, stats, settings } = this;
    settings.tracks.forEach(([index, row, fixed, positions, count], k) => {
      if (frozen[index]) return;
      const rate = fixed ?? 1 / theta[count], n = settings.batch * positions;
      theta[index] = row < 0 ? theta[index] + 1 : (1 - rate) * theta[index] + rate * ((n > 1 ? n / (n - 1) : 1) * stats[k]);
    });
  }
}
