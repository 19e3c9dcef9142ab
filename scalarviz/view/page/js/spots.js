// Buttons over the places of a picture that can be pressed, for those who see it and those who do not.

import { element } from "./ink.js";

/** Replace the buttons in `root`: a spot is [name, value, words, tip, x, y, width, height] in a picture of this size. */
export function placeSpots(root, [wide, high], spots, press) {
  const share = (x, of) => `${(100 * x) / of}%`, had = root.querySelector(":focus")?.value;
  root.replaceChildren();
  for (const [name, value, words, tip, x, y, w, h] of spots) {
    const button = root.appendChild(element("button"));
    button.value = JSON.stringify([name, value]);
    Object.assign(button, { ariaLabel: words, title: tip });
    Object.assign(button.style, { left: share(x, wide), top: share(y, high), width: share(w, wide), height: share(h, high) });
    button.addEventListener("click", (event) => {
      if (event.detail) button.blur(); // by a pointer: keys go on meaning what they mean to the picture
      press(name, value);
    });
  }
  const again = had && [...root.children].find((button) => button.value === had);
  again?.focus({ preventScroll: true });
  return !had || Boolean(again);
}
