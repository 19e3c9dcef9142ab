// The window's whole picture in a browser: cubes from numbers, seen by the window's camera, and its display list over
// them. It decides nothing: ranges, colours, places and words are Python's.

import { slabCorners } from "./boxes.js";
import { cameraOf } from "./camera.js";
import { Cubes } from "./cubes.js";
import { Graphics } from "./gl.js";
import { Ground } from "./ground.js";
import { Ink } from "./ink.js";
import { paintList, whenLoaded } from "./list.js";
import { Pace } from "./pace.js";

/** Names of the parts that are lists, lowest first. */
const LISTS = ["still", "beside", "time", "cubes", "numbers", "over"].map((name) => `list ${name}`);

/** One picture inside an element, as `Play.parts` tells it. */
export class Picture {
  /**
   * @param {HTMLElement} root
   * @param {(known: object) => void} drawn is called with what stands there after it has been drawn
   * @throws {Error} where the browser has no WebGL 2
   */
  constructor(root, drawn) {
    Object.assign(this, { root, drawn, known: null, next: null, coming: {}, news: {}, disposed: false, lost: false, ink: null, fresh: "" });
    [this.canvas, this.above] = ["cubes", "flat"].map((name) => {
      const canvas = root.appendChild(document.createElement("canvas"));
      canvas.className = name;
      canvas.setAttribute("aria-hidden", "true"); // whoever shows it says in words what it says
      return canvas;
    });
    this.pace = new Pace(0, () => this.draw());
    this.canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // so that the browser gives it back
      this.lost = true;
    });
    this.canvas.addEventListener("webglcontextrestored", () => {
      this.lost = false;
      if (this.disposed || !this.next) return;
      this.graphics = new Graphics(this.canvas);
      this.take(this.next, this.next);
    });
    this.graphics = new Graphics(this.canvas);
  }

  /** Pixels of the picture as Python lays it out. */
  get size() {
    return this.known ? this.known.page[1] : null;
  }

  /** The numbers of the cubes. */
  get numbers() {
    return this.known && new Float32Array(this.known.numbers.buffer);
  }

  /**
   * Take over the parts `news` of all that is `known`, as soon as its pictures are there; of several the last.
   */
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

  /** It has another size on the page. */
  resized() {
    this.pace.resized();
    this.fresh = "";
    if (this.known) this.pace.ask();
  }

  // Another network or another arrangement: all that is made of the plates.
  #stand() {
    const { made, cubes } = this.known;
    this.document = { ...made, ...cubes };
    this.graphics.dispose(false);
    this.ground = new Ground(this.graphics, this.document);
    this.cubes = new Cubes(this.graphics, this.document);
    this.points = [...cubes.plates.flatMap(slabCorners), ...cubes.trays.flatMap((tray) => tray.corners)];
    this.news = { ...this.known };
    this.ink ??= new Ink(this.above, made.advances);
    this.pace.begin(this.graphics);
  }

  // Bring what is new onto the cubes.
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
    if ("own" in news) cubes.setOwn(known.own);
    if (news.sizing) cubes.sizing = { byValue: known.sizing[0], threshold: known.sizing[1] };
    if (news.pose || news.page || !this.camera) this.camera = cameraOf(known.pose, known.page[1], this.points);
  }

  /** Draw what is known; the list over it anew only where it is another one. */
  draw() {
    if (this.disposed || this.lost || !this.known) return;
    const { clientWidth: wide, clientHeight: high } = this.root;
    if (!wide || !high) return;
    this.#takeOver();
    const fineness = this.pace.density(wide * high), key = `${wide} ${high} ${fineness}`;
    const flat = LISTS.some((name) => name in this.news) || "look" in this.news || "page" in this.news || !this.fresh;
    if (this.fresh !== key || Object.keys(this.news).some((name) => !name.startsWith("list "))) {
      this.#drawCubes(wide, high, fineness);
      this.pace.drawn(fineness);
    }
    if (flat) this.#drawFlat(wide, high);
    this.fresh = key;
    this.news = {};
    this.drawn(this.known);
  }

  #drawCubes(wide, high, fineness) {
    const { known, camera, ground, cubes } = this, { gl } = this.graphics, { look, page: [logical, , window] } = known;
    const [across, down] = [wide, high].map((side) => Math.max(1, Math.round(side * fineness)));
    if (this.canvas.width !== across || this.canvas.height !== down) Object.assign(this.canvas, { width: across, height: down });
    gl.viewport(0, 0, across, down);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    ground.drawLight(look, known.past);
    const density = across / camera.size[0], [x, y, w, h] = window.map((side) => (side * across) / logical[0]);
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(Math.round(x), Math.round(down - y - h), Math.round(w), Math.round(h));
    ground.drawTrays(camera, look, density, known.sizing[2]);
    ground.drawFlow(camera, look, density, across, down);
    cubes.draw(camera, look, density);
    gl.disable(gl.SCISSOR_TEST);
  }

  #drawFlat(wide, high) {
    const { known, ink } = this, [logical] = known.page, ratio = Math.max(1, window.devicePixelRatio || 1);
    ink.begin(...logical, (ratio * wide) / logical[0], known.look);
    for (const name of LISTS) paintList(ink, known[name]);
  }

  /** Let the browser save the picture as it stands. */
  save(name) {
    this.fresh = "";
    this.draw();
    const { width, height } = this.above, whole = Object.assign(document.createElement("canvas"), { width, height });
    for (const canvas of [this.canvas, this.above]) whole.getContext("2d").drawImage(canvas, 0, 0, width, height);
    const link = Object.assign(document.createElement("a"), { href: whole.toDataURL("image/png"), download: name });
    link.click();
  }

  /** Give everything back. */
  dispose() {
    this.disposed = true;
    this.pace.dispose();
    this.graphics.dispose();
    this.canvas.remove();
    this.above.remove();
  }
}
