// The only plain script of a page: it unpacks the program, which is a text like this one, and starts it. Bytes are
// characters that no element, attribute, template or JSON text needs to escape: four bytes in five characters.

const DENSE_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=:?@^_/{|}~";

/** Return the bytes of a text of `dense_text` in scalarviz/view/page/pack.py, without its mark. */
export function denseBytes(text) {
  const worth = new Uint8Array(128).fill(84), groups = Math.ceil(text.length / 5), view = new DataView(new ArrayBuffer(4 * groups));
  for (let k = 0; k < 85; k++) worth[DENSE_LETTERS.charCodeAt(k)] = k;
  for (let group = 0; group < groups; group++) {
    let word = 0;
    for (let k = 5 * group; k < 5 * group + 5; k++) word = 85 * word + (worth[text.charCodeAt(k)] ?? 84);   // the last group is padded
    view.setUint32(4 * group, word);
  }
  return new Uint8Array(view.buffer, 0, 4 * groups - (5 * groups - text.length));
}

/** Run the program in the element `program`, which is compressed; the page's policy contains its hash too. */
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
