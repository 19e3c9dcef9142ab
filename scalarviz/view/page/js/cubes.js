// All cubes of a document in few draw calls: a box per plate, whose fragment shader walks the plate's grid.

import { BOX_ATTRIBUTES, SAMPLES, boxNumbers, boxTriangles, cellsPerPixel, variantFor } from "./boxes.js";
import { rgbOf } from "./gl.js";
import { unitOf } from "./ranges.js";

const FLOAT_MAX = 3.4028234663852886e38;
const SCALE_NAMES = ["linear", "symlog", "log"];

/** Return the fragment shader of one variant, joined like `fragment` of the window's shaders. */
export function fragmentOf(document, variant) {
  const { glsl, knee, colours } = document;
  const defines = [`KNEE ${knee.toFixed(1)}`, `TABLE ${colours.toFixed(1)}`, `LEAST ${glsl.least}`];
  for (const name of ["flags", "tiled", "curved", "sized", "own", "means", "lifted"]) if (variant[name]) defines.push(name.toUpperCase());
  if (variant.samples) defines.push(`NU ${variant.samples}`, `NV ${variant.samples}`);
  if (variant.detail) defines.push("DETAIL");
  const head = `${glsl.head}${defines.map((line) => `#define ${line}\n`).join("")}`;
  if (variant.samples) return head + glsl.common + glsl.average;
  return head + glsl.common + (variant.detail ? glsl.marks : "") + glsl.walk;
}

export class Cubes {
  constructor(graphics, document) {
    Object.assign(this, { graphics, document, programs: new Map(), means: new Map() });
    const { plates, atlas: [width, height] } = document;
    this.boxes = graphics.buffer(boxNumbers(plates, width));
    this.rangeNumbers = new Float32Array(32 * plates.length);
    this.ranges = plates.map(() => ({}));
    this.rangeBuffer = graphics.buffer(this.rangeNumbers);
    this.triangles = graphics.triangles(boxTriangles(plates));
    this.values = graphics.texture("R32F", width, height, null);
    this.marks = graphics.texture("R8", width, height, new Uint8Array(width * height));
    this.table = new Uint8Array(6 * document.colours);
    this.colours = graphics.texture("RGB8", document.colours, 2, this.table);
    this.setOwn(null);
    this.texels = new Float32Array(width * height);
    this.flags = new Uint8Array(width * height);
    this.marked = false;
    this.sizing = { byValue: false, threshold: 0 };
    this.version = 0; // of numbers, marks and colours, from which averages are computed
  }

  /** Set the numbers and marks of a frame; unchanged ones are not uploaded. */
  setNumbers(texels, flags) {
    const [width] = this.document.atlas;
    if (this.#put(this.values, this.texels, texels, width)) this.version++;
    if (this.#put(this.marks, this.flags, flags, width)) {
      this.version++;
      this.marked = flags.some((mark) => mark !== 0);
    }
  }

  // Upload the rows of texels with changed numbers; return whether there are any.
  #put(texture, before, now, width) {
    let [first, last] = [-1, -1];
    const bits = before instanceof Float32Array ? [new Uint32Array(before.buffer), new Uint32Array(now.buffer, now.byteOffset, now.length)] : [before, now];
    for (let k = 0; k < now.length; k++) {
      if (bits[0][k] !== bits[1][k]) {
        if (first < 0) first = k;
        last = k;
      }
    }
    if (first < 0 && texture.filled) return false;
    const rows = texture.filled ? [Math.floor(first / width), Math.floor(last / width) + 1] : [0, texture.height];
    texture.filled = true;
    before.set(now);
    this.graphics.retexture(texture, before.subarray(rows[0] * width, rows[1] * width), ...rows);
    return true;
  }

  /** The colour range of each plate, `{low, high, scale}`, in the order of the plates. */
  setRanges(ranges) {
    ranges.forEach(({ low, high, scale }, index) => {
      const ends = [low, high].map((x) => Math.min(Math.max(x, -0.25 * FLOAT_MAX), 0.25 * FLOAT_MAX));
      const row = this.document.plates[index].kind === "activation" ? 1 : 0;
      for (let corner = 0; corner < 8; corner++) this.rangeNumbers.set([...ends, SCALE_NAMES.indexOf(scale), row], 32 * index + 4 * corner);
    });
    this.ranges = ranges;
    this.graphics.refill(this.rangeBuffer, this.rangeNumbers);
  }

  setColours(weights, activations) {
    this.table.set(weights, 0);
    this.table.set(activations, weights.length);
    this.graphics.retexture(this.colours, this.table);
    this.version++;
  }

  /**
   * Set custom looks, 4 bytes a texel from `look_texels` of the atlas; null for none. They may make cubes smaller if
   * `sized`, and higher or lower if `lifted`.
   */
  setOwn(looks, sized = looks !== null, lifted = false) {
    Object.assign(this, { sides: sized, lifted });
    const [width, height] = this.document.atlas;
    if (looks && this.own) this.graphics.retexture(this.own, looks);
    else this.own = looks ? this.graphics.texture("RGBA8", width, height, looks) : null;
  }

  get sized() {
    return this.sizing.byValue || this.sizing.threshold > 0 || this.sides;
  }

  /** Draw into the bound framebuffer; its depth must be cleared. */
  draw(camera, theme, density) {
    const { gl } = this.graphics;
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LESS);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.enable(gl.CULL_FACE);
    gl.cullFace(gl.FRONT);
    gl.frontFace(gl.CCW);
    this.document.plates.forEach((plate, index) => {
      const variant = variantFor(plate, camera, density, this.document.detail), row = plate.kind === "activation";
      variant.own = this.own !== null;
      variant.lifted = this.lifted && !row && !variant.samples;
      variant.sized = variant.lifted || (this.sized && !row);
      variant.flags = this.marked;
      variant.tiled = plate.tile[0] > 0 || plate.folded;
      variant.curved = this.ranges[index].scale !== "linear";
      variant.means &&= !variant.sized && !variant.own;
      this.#drawPlate(index, plate, variant, camera, theme, density);
    });
    gl.disable(gl.CULL_FACE);
  }

  #program(variant) {
    const key = JSON.stringify(variant), { vertex } = this.document.glsl;
    if (!this.programs.has(key)) {
      const program = this.graphics.program(variant.lifted ? vertex.replace("\n", "\n#define LIFTED\n") : vertex, fragmentOf(this.document, variant));
      const parts = [[this.boxes, BOX_ATTRIBUTES], [this.rangeBuffer, [["a_range", 4]]]];
      this.programs.set(key, { ...program, corners: this.graphics.corners(program, parts, this.triangles) });
    }
    return this.programs.get(key);
  }

  #drawPlate(index, plate, variant, camera, theme, density) {
    const { gl } = this.graphics, program = this.#program(variant), { uniforms } = program;
    const { atlas: [width, height], rim } = this.document, { shading } = theme;
    const [ink, paper, blank, line] = [theme.ink, theme.paper, theme.tray, theme.text3].map(rgbOf);
    this.graphics.use(program, {
      u_matrix: camera.columns, u_eye: camera.eye, u_scale: camera.scale * density,
      u_sides: [shading.side_front, shading.side_other], u_atlas: [width, height], u_texel: [1 / width, 1 / height],
      u_shading: [shading.rim_top, shading.rim_side, shading.foot, rim],
      u_ink: ink, u_paper: paper, u_blank: blank, u_line: line,
      u_sizing: [Number(this.sizing.byValue), this.sizing.threshold],
    });
    this.graphics.read(uniforms, "u_values", this.values, 0);
    this.graphics.read(uniforms, "u_flags", this.marks, 1);
    this.graphics.read(uniforms, "u_colours", this.colours, 2);
    if (variant.own) this.graphics.read(uniforms, "u_own", this.own, 3);
    if (variant.means) {
      const block = Math.max(2, Math.floor(cellsPerPixel(plate, camera, density) / SAMPLES));
      const { texture, blocks } = this.#meansOf(index, plate, block);
      this.graphics.read(uniforms, "u_means", texture, 4);
      gl.uniform3f(uniforms.u_blocks, ...blocks);
    }
    gl.drawElements(gl.TRIANGLES, 36, gl.UNSIGNED_INT, 144 * index);
  }

  // Compute the mean colours of blocks of a plate again where it has changed.
  #meansOf(index, plate, block) {
    const [rows, columns] = plate.cells, [tall, wide] = [Math.ceil(rows / block), Math.ceil(columns / block)], range = this.ranges[index];
    const key = `${block} ${this.version} ${range.low} ${range.high} ${range.scale}`, before = this.means.get(index);
    if (before?.key !== key) {
      const span = [plate.texel, plate.texel + plate.size], row = plate.kind === "activation" ? 1 : 0;
      const table = this.table.subarray(row * 3 * this.document.colours, (row + 1) * 3 * this.document.colours);
      const colours = blockMeans(this.texels.subarray(...span), this.flags.subarray(...span), plate.cells, range, table, block);
      let texture = before?.texture;
      if (texture?.width === wide && texture.height === tall) this.graphics.retexture(texture, colours);
      else texture = this.graphics.texture("RGBA8", wide, tall, colours);
      this.means.set(index, { key, texture });
    }
    return { texture: this.means.get(index).texture, blocks: [block, 1 / wide, 1 / tall] };
  }
}

const FROZEN_BIT = 8;
// added to a small number above 0 and taken away again it leaves the nearest whole one, the even one of two, as NumPy has
const ROUNDING = 2 ** 52;
// values of the fourth channel for a block with such marks (not computed or dead, -inf, +inf, NaN)
const MEAN_MARKS = [[32 | 16, 40], [4, 85], [2, 170], [1, 255]];

/** Return the mean colour and mark of each block of cubes of a plate, as bytes (rows, columns, 4). */
export function blockMeans(values, flags, cells, range, table, block) {
  const [rows, columns] = cells, [tall, wide] = [Math.ceil(rows / block), Math.ceil(columns / block)];
  const found = new Uint8Array(4 * tall * wide);
  const totals = new Float64Array(3 * wide); // of one row of blocks
  for (let down = 0; down < tall; down++) {
    const end = Math.min((down + 1) * block, rows);
    totals.fill(0);
    for (let row = down * block; row < end; row++) {
      addColours(totals, values, flags, row * columns, columns, range, table, block);
      addMarks(found, flags, row * columns, columns, 4 * down * wide, block);
    }
    for (let across = 0; across < wide; across++) {
      const count = (end - down * block) * (Math.min((across + 1) * block, columns) - across * block);
      const half = Math.floor(count / 2), into = 4 * (down * wide + across);
      for (let k = 0; k < 3; k++) found[into + k] = Math.floor((totals[3 * across + k] + half) / count);
    }
  }
  return found;
}

// Add the colours of one row of cubes to the totals of its blocks. This loop runs a million times a frame: it creates
// no objects, and the usual scale is written out.
function addColours(totals, values, flags, first, columns, range, table, block) {
  const { low, high, scale } = range, [span, last, linear] = [high - low, table.length / 3 - 1, scale === "linear"];
  for (let start = 0, into = 0; start < columns; start += block, into += 3) {
    const end = first + Math.min(start + block, columns);
    let [red, green, blue] = [0, 0, 0];
    for (let at = first + start; at < end; at++) {
      let unit = 0.5; // for cubes with a mark
      if ((flags[at] & ~FROZEN_BIT) === 0) {
        unit = linear ? (values[at] - low) / span : unitOf(range, values[at]);
        unit = unit < 0 ? 0 : unit > 1 ? 1 : unit;
      }
      const place = 3 * (unit * last + ROUNDING - ROUNDING);
      red += table[place];
      green += table[place + 1];
      blue += table[place + 2];
    }
    totals[into] += red;
    totals[into + 1] += green;
    totals[into + 2] += blue;
  }
}

// Write the most important mark of each block into the fourth channel.
function addMarks(found, flags, first, columns, into, block) {
  for (let column = 0; column < columns; column++) {
    const marks = flags[first + column] & ~FROZEN_BIT;
    if (marks === 0) continue;
    const at = into + 4 * Math.floor(column / block) + 3;
    for (const [bits, mark] of MEAN_MARKS) if (marks & bits) found[at] = Math.max(found[at], mark);
  }
}
