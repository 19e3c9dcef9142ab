// The engine of a page that trains: its parts, and a worker that answers questions.

import { programOf, textOf } from "./layers.js";
import { addedIn } from "./samples.js";
import { bytesOf, inflated, unpackArray } from "./unpack.js";

/** Read the parts of a page for the engine. */
export async function readTraining(told) {
  const Real = told.dtype === "float64" ? Float64Array : Float32Array;
  const [start, columns] = await Promise.all(["start", "samples"].map(id => unpackArray(JSON.parse(textOf(id)), Real)));
  const { numbers: wide, features, samples: many } = told.settings, given = wide - features, data = new Real(many * wide);
  for (let k = 0; k < given; k++) for (let s = 0; s < many; s++) data[s * wide + k] = columns[k * many + s];
  const count = told.keys[0].trained.length, arrays = Array.from({ length: start.length / count }, (_, k) => start.slice(k * count, (k + 1) * count));
  const each = arrays.length / told.keys.length, bytes = flags => Uint8Array.from(flags);
  const keys = told.keys.map((key, k) => ({ ...key, trained: bytes(key.trained), frozen: bytes(key.frozen), arrays: arrays.slice(k * each, (k + 1) * each) }));
  const { settings, probe, view, trial, laws, whole, rules } = told, named = told.rows.slice(0, -1), sizes = named.map(([, size]) => size);
  const sum = sizes.reduce((all, size) => all + size, 0), outputs = [sum - sizes.at(-1), sizes.at(-1)];
  const slots = await Promise.all(told.slots.map(async ({ inputs, kind, output, number, levels, share }) => {
    const asked = { kind, output, number, share, spans: levels.map(({ across }) => across) };
    if (typeof inputs === "string") return { ...asked, inputs: await coloursOf(inputs), length: told.inputs };
    const flat = await unpackArray(inputs, Float64Array), length = ["text", "losses"].includes(kind) ? given : told.inputs, each = flat.length / length; // one input after the other
    return { ...asked, inputs: flat.map((_, k) => flat[(k % length) * each + Math.floor(k / length)]), length };
  }));
  return {
    settings, keys, laws, rules, data, columns: told.columns.map(column => Real.from(column)), shares: told.shares && Float64Array.from(told.shares),
    probe: Object.assign(Array(given).fill(NaN), probe), view, trial, whole, added: addedIn(told), rows: sum + told.rows.length - named.length, asked: { slots, outputs, wide: told.inputs },
  };
}

// Return the colours of a picture, 0 to 1, pixel by pixel.
async function coloursOf(text) {
  const picture = await createImageBitmap(new Blob([bytesOf(text)], { type: "image/webp" })), { width, height } = picture;
  const context = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
  context.drawImage(picture, 0, 0);
  return Float64Array.from(context.getImageData(0, 0, width, height).data.filter((_, k) => k % 4 < 3), byte => byte / 255);
}

/** Return a function that asks the engine and promises its answer: in a worker, or in this thread where workers are forbidden. */
export async function engineOf(told) {
  const text = programOf(new TextDecoder().decode(await inflated(bytesOf(textOf("engine")))), told.network ?? []);
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    let last = null; // one question after the other
    const ask = asked => (last = Promise.allSettled([last]).then(() => new Promise((resolve, reject) => {
      Object.assign(worker, { onmessage: ({ data }) => resolve(data), onerror: reject });
      worker.postMessage(asked);
    })));
    await ask({});
    return { ask, beside: true };
  } catch {
    const script = document.createElement("script");
    script.textContent = text;
    document.body.append(script);
    return { ask: asked => new Promise(resolve => setTimeout(() => resolve(globalThis.trainingOfPage(asked)))), beside: false };
  }
}
