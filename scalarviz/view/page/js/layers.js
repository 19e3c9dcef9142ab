// Other hidden layers that a page offers: of its data, texts and programs these have their own in place of some.

import { bytesOf, inflated } from "./unpack.js";

let other = { name: "", texts: {} };

/** The name of the other layers that the page shows; "": its own. */
export const layersShown = () => other.name;

/** The name of the layers that an address asks for. */
export const layersIn = hash => new URLSearchParams(hash.slice(1)).get("layers") ?? "";

/** Take the layers that an address asks for; a page opens with them. */
export async function takeLayers(hash) {
  const text = document.getElementById("layers")?.textContent, wanted = layersIn(hash);
  if (text && wanted) other = JSON.parse(new TextDecoder().decode(await inflated(bytesOf(text)))).find(({ name }) => name === wanted) ?? other;
}

/** Return a text of the page; null: there is none. */
export function textOf(name) {
  return name in other.texts ? other.texts[name] : document.getElementById(name)?.textContent ?? null;
}

/** Return data of the page. */
export const dataOf = (name, base) => ({ ...base, ...other[name] });

/** Return the page's program of a worker; the part from `start` to `end` is about the network. */
export const programOf = (text, [start, end]) => (other.network === undefined ? text : text.slice(0, start) + other.network + text.slice(end));
