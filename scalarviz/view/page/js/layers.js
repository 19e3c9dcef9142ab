// Other hidden layers that a page offers: of its data, texts and programs these have their own in place of some.

import { bytesOf, inflated } from "./unpack.js";

let layersTaken = { name: "", texts: {} };

/** The name of the other layers that the page shows; "": its own. */
export const layersShown = () => layersTaken.name;

/** The name of the layers that an address asks for. */
export const layersIn = hash => new URLSearchParams(hash.slice(1)).get("layers") ?? "";

/** Take the layers that an address asks for; a page opens with them. */
export async function takeLayers(hash) {
  const text = document.getElementById("layers")?.textContent, wanted = layersIn(hash);
  if (text && wanted) layersTaken = JSON.parse(new TextDecoder().decode(await inflated(bytesOf(text)))).find(({ name }) => name === wanted) ?? layersTaken;
}

/** Return a text of the page; null: there is none. */
export function textOf(name) {
  return name in layersTaken.texts ? layersTaken.texts[name] : document.getElementById(name)?.textContent ?? null;
}

/** Return data of the page. */
export const dataOf = (name, base) => ({ ...base, ...layersTaken[name] });

/** Return the page's program of a worker; the part from `start` to `end` is about the network. */
export const programOf = (text, [start, end]) => (layersTaken.network === undefined ? text : text.slice(0, start) + layersTaken.network + text.slice(end));
