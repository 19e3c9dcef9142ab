// The only script that a page has as it is: it unpacks the program, which is text like this, and lets it begin.

import { denseBytes } from "./dense.js";

/** Run the program that lies deflated in the element `program`; the page's policy names its hash too. */
export async function loadProgram() {
  try {
    const packed = denseBytes(document.getElementById("program").textContent.slice(1));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.body.append(script);
  } catch (error) {
    document.getElementById("sentence").textContent += ` This browser cannot play it: ${error.message}.`;
  }
}
