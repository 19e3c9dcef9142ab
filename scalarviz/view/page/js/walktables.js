// The numbers of opened steps, unpacked: most follow from others that the page holds; as view/page/walks.py.

import { rowOf, unpackTable } from "./unpack.js";

/**
 * One table of all walks.
 * @param {function(string): ?string} textOf The text of a part by its name.
 * @param {object} said As `walks_of` writes it; the walks of single samples come first.
 * @param {object} run The RecordedRun that they are of.
 * @returns {Promise<Table>} (walks, numbers): gradients and new weights (P each), rows of all stages, their deltas.
 */
export async function walkTable(textOf, said, run) {
  const { walks } = said, { parameters } = run.document, alone = walks.filter(walk => walk.alone).length;
  const part = async (name, led) => (textOf(name) === null ? null : unpackTable(JSON.parse(textOf(name)), led));
  const rest = await part("steps", null);
  const slopes = [await part("alone", ledSlopes(said, rest, alone, run.document)), await part("whole", null)];
  const gradientOf = k => (k < alone ? rowOf(slopes[0], k) : rowOf(slopes[1], k - alone));
  const weights = run.tables.weight;
  const after = await part("after", weights.errors ? null : ledWeights(walks, gradientOf, weights, parameters));
  const columns = 2 * parameters + rest.columns, numbers = new Float32Array(walks.length * columns);
  walks.forEach((_, k) => {
    numbers.set(gradientOf(k), k * columns);
    numbers.set(rowOf(after, k), k * columns + parameters);
    numbers.set(rowOf(rest, k), k * columns + 2 * parameters);
  });
  return { frames: walks.length, columns, numbers, errors: null };
}

/** What plain gradient descent makes of the weights of each walk's frame. */
function ledWeights(walks, gradientOf, weights, parameters) {
  const led = new Float32Array(walks.length * parameters);
  walks.forEach(({ frame, lr }, k) => {
    const values = rowOf(weights, frame), gradient = gradientOf(k), rate = Number.isFinite(Number(lr)) ? Number(lr) : 0;
    for (let n = 0; n < parameters; n++) led[k * parameters + n] = values[n] - rate * gradient[n];
  });
  return led;
}

/** Delta times input of every layer that has one row of inputs; 0 of all other parameters. */
function ledSlopes({ rows, input }, rest, count, { parameters, stages, tensors }) {
  const led = new Float32Array(count * parameters), starts = new Map();
  let width = 0, before = "input";
  for (const [name, size] of rows) {
    starts.set(name, [width, width + size]);
    width += size;
  }
  for (const { name, sources, weight, bias, whole } of stages) {
    const source = sources[0] ?? before;
    before = name;
    if (sources.length > 1 || weight === null || !whole) continue;
    const [from, to] = starts.get(name), inputs = starts.get(source), high = to - from, wide = inputs ? inputs[1] - inputs[0] : input.length;
    const [links, shift] = [weight, bias].map(one => tensors.find(tensor => tensor.name === one));
    if (links.shape.join() !== [high, wide].join()) continue;
    for (let k = 0; k < count; k++) {
      const numbers = rowOf(rest, k), given = inputs ? numbers.subarray(...inputs) : input, deltas = numbers.subarray(width + from, width + to);
      deltas.forEach((delta, row) => {
        for (let column = 0; column < wide; column++) led[k * parameters + links.start + row * wide + column] = delta * given[column];
        if (shift && shift.shape.join() === String(high)) led[k * parameters + shift.start + row] = delta;
      });
    }
  }
  return led;
}
