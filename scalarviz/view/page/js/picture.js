// The window's picture in a browser: cubes from numbers, seen by the window's camera, with its display list over
// them. Python decides everything: ranges, colours, places and words.

import { slabCorners } from "./boxes.js";
import { cameraOf } from "./camera.js";
import { Ink } from "./ink.js";
import { paintList, whenLoaded } from "./list.js";
import { Stage } from "./stage.js";

/** Names of the parts that are lists, lowest first. */
const LISTS = ["still", "beside", "time", "cubes", "numbers", "over"].map((name) => `list ${name}`);

/** Brightness by flat index, from an array of float32 bytes. */
const shinesIn = (bytes) => bytes && ((k) => new Float32Array(bytes.buffer, 16 * k, 4));

/** A picture inside an element, from the parts of `Play.parts`. */
export class Picture extends Stage {
  /** `drawn` is called with the content after each drawing. */
  constructor(root, drawn) {
    super(root, 0);
    Object.assign(this, { drawn, known: null, next: null, coming: {}, news: {}, ink: null, fresh: "" });
    this.canvas.className = "cubes";
  }

  restored() {
    if (this.next) this.take(this.next, this.next);
  }

  /** Width and height in pixels of Python's layout. */
  get size() {
    return this.known ? this.known.page[1] : null;
  }

  get numbers() {
    return this.known && new Float32Array(this.known.numbers.buffer);
  }

  /** Apply the parts `news` of all that is `known`, once their images are loaded; the last call wins. */
  take(known, news) {
    this.next = known;
    this.coming = { ...this.coming, ...news };
    whenLoaded(LISTS.flatMap((name) => known[name]), () => {
      if (this.disposed || this.next !== known) return;
      this.known = known;
      this.news = { ...this.news, ...this.coming };
      if (this.coming.cubes) this.#stand();
      this.coming = {};
      this.pace.move();
    });
  }

  resized() {
    this.pace.resized();
    this.fresh = "";
    if (this.known) this.pace.ask();
  }

  // Rebuild everything that depends on the plates, for another network or layout.
  #stand() {
    const { made, cubes } = this.known;
    this.document = { ...made, ...cubes };
    this.stand(this.document);
    this.points = [...cubes.plates.flatMap(slabCorners), ...cubes.trays.flatMap((tray) => tray.corners)];
    this.news = { ...this.known };
    this.ink ??= new Ink(this.above, made.advances);
  }

  // Update the cubes with the new parts.
  #takeOver() {
    const { known, news, cubes } = this, { made } = known;
    if ("numbers" in news || "marks" in news) {
      const count = made && known.numbers.byteLength / 4;
      cubes.setNumbers(new Float32Array(known.numbers.buffer), known.marks ?? new Uint8Array(count));
    }
    if (news.ranges) cubes.setRanges(known.ranges.map(([low, high, scale]) => ({ low, high, scale })));
    if (news.tables) {
      const half = known.tables.length / 2;
      cubes.setColours(known.tables.subarray(0, half), known.tables.subarray(half));
    }
    if ("own" in news || news.looks) cubes.setOwn(known.own, ...known.looks);
    if ("shines" in news) this.ground.shine(shinesIn(known.shines));
    if (news.sizing) cubes.sizing = { byValue: known.sizing[0], threshold: known.sizing[1] };
    if (news.pose || news.page || !this.camera) this.camera = cameraOf(known.pose, known.page[1], this.points);
  }

  /** Draw what is known; redraw the list over it only if it has changed. */
  step() {
    if (!this.known) return;
    const { clientWidth: wide, clientHeight: high } = this.root;
    if (!wide || !high) return;
    this.#takeOver();
    const fineness = this.pace.density(wide * high), key = `${wide} ${high} ${fineness}`;
    const flat = LISTS.some((name) => name in this.news) || "look" in this.news || "page" in this.news || !this.fresh;
    if (this.fresh !== key || Object.keys(this.news).some((name) => !name.startsWith("list "))) {
      const { known: { look, past, page: [logical, , window] }, camera } = this;
      const clip = window.map((side) => (side * camera.size[0]) / logical[0]);
      this.drawCubes([wide, high], fineness, look, camera, clip, { past });
    }
    if (flat) this.#drawFlat(wide, high);
    this.fresh = key;
    this.news = {};
    this.drawn(this.known);
  }

  #drawFlat(wide, high) {
    const { known, ink } = this, [logical] = known.page, ratio = Math.max(1, window.devicePixelRatio || 1);
    ink.begin(...logical, (ratio * wide) / logical[0], known.look);
    for (const name of LISTS) paintList(ink, known[name]);
  }

  save(name) {
    this.fresh = "";
    this.step();
    this.flatten();
    Object.assign(document.createElement("a"), { href: this.above.toDataURL("image/png"), download: name }).click();
    this.resized();
  }
}
