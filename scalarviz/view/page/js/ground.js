// The ground of the cubes: the light behind them, trays with shadows, and lines along which numbers flow.

import { pointOf } from "./boxes.js";
import { rgbOf } from "./gl.js";

const QUAD = [0, 1, 2, 0, 2, 3];
const BLOOM = 2.2; // reach of a cube's light from its middle, in pitches
const UNIT_SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]];

function quads(count) {
  return Array.from({ length: count }, (_, index) => QUAD.map((corner) => 4 * index + corner)).flat();
}

export class Ground {
  constructor(graphics, document) {
    this.graphics = graphics;
    this.document = document;
    this.light = this.#lit();
    this.trays = document.trays.length ? this.#trays() : null;
    this.flow = document.flow.lines.length ? this.#flow() : null;
  }

  #mesh(vertex, fragment, numbers, attributes, count) {
    const program = this.graphics.program(vertex, fragment);
    const buffer = this.graphics.buffer(new Float32Array(numbers)), parts = [[buffer, attributes]];
    const corners = this.graphics.corners(program, parts, this.graphics.triangles(quads(count)));
    return { ...program, buffer, corners, count: 6 * count };
  }

  #lit() {
    const { glow_vertex: vertex, glow } = this.document.glsl, numbers = UNIT_SQUARE.flatMap((at) => [...at, ...at]);
    return this.#mesh(vertex, glow, numbers, [["a_position", 2], ["a_uv", 2]], 1);
  }

  #trays() {
    const { glsl, trays, plates, margin } = this.document;
    const numbers = trays.flatMap(({ corners, plate, last }) => {
      const { cells: [rows, columns], half } = plates[plate], [left, far] = [0.5 - margin[0], 0.5 - margin[1]];
      const [right, near] = [columns - 0.5 + margin[0], rows - 0.5 + margin[1]];
      const places = [[left, far], [right, far], [right, near], [left, near]];
      return corners.flatMap((corner, index) => [...corner, ...places[index], columns, rows, half, last]);
    });
    return this.#mesh(glsl.tray_vertex, glsl.tray, numbers, [["a_pos", 3], ["a_cell", 2], ["a_dims", 4]], trays.length);
  }

  #flow() {
    const { glsl, flow } = this.document, ends = [[0, -1], [1, -1], [1, 1], [0, 1]];
    const numbers = flow.lines.flatMap((line) => ends.flatMap((end) => [...line, ...end]));
    const attributes = [["a_from", 3], ["a_to", 3], ["a_end", 2]];
    return this.#mesh(glsl.flow_vertex, glsl.flow, numbers, attributes, flow.lines.length);
  }

  /** Fill the picture: the background at the rim, a glow behind the cubes (of another colour in the past). */
  drawLight(theme, past = false) {
    const { gl } = this.graphics;
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    const [ground, glow] = [theme.background, past ? theme.past : theme.glow].map(rgbOf);
    this.#draw(this.light, { u_size: [1, 1], u_ground: ground, u_glow: glow });
  }

  /** Draw the trays, opaque and with depth; seen from below they would hide everything, so they are left out. */
  drawTrays(camera, theme, density, shadows = true) {
    if (!this.trays) return;
    const corner = this.document.trays[0].corners[0];
    if (camera.eye[2] - camera.eye[3] * corner[2] <= 0) return;
    const { gl } = this.graphics;
    gl.enable(gl.DEPTH_TEST);
    gl.depthMask(true);
    this.#draw(this.trays, {
      u_matrix: camera.columns, u_tray: rgbOf(theme.tray), u_border: rgbOf(theme.border),
      u_shadow: shadows ? theme.shading.shadow : 0, u_margin: this.document.margin, u_density: density,
    });
  }

  /** Draw the lines, on the trays and below all cubes, without depth. */
  drawFlow(camera, theme, density, width, height) {
    if (!this.flow) return;
    const { gl } = this.graphics, { width: wide, alpha } = this.document.flow;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    this.#draw(this.flow, {
      u_matrix: camera.columns, u_viewport: [width, height], u_width: wide * density, u_colour: [...rgbOf(theme.flow), alpha],
    });
    gl.disable(gl.BLEND);
    gl.depthMask(true);
  }

  /** Set the light around cubes: red, green, blue and strength in 0..1 by flat index; null for none. */
  shine(lightOf) {
    const { glsl, plates } = this.document, square = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
    this.shines = lightOf !== null;
    if (!lightOf) return;
    const corners = (plate, k, light) => square.flatMap(([x, y]) => [...pointOf(plate, k, [BLOOM * x, BLOOM * y, -plate.depth]), ...light, x, y]);
    const numbers = plates.filter(({ kind }) => kind !== "activation").flatMap((plate) => Array.from({ length: plate.size }, (_, k) => corners(plate, k, lightOf(plate.start + k))).flat());
    if (this.bloom) this.graphics.refill(this.bloom.buffer, new Float32Array(numbers));
    else this.bloom = this.#mesh(glsl.bloom_vertex, glsl.bloom, numbers, [["a_pos", 3], ["a_colour", 4], ["a_place", 2]], numbers.length / 36);
  }

  /** Draw that light below all cubes: added to a dark background, mixed into a light one. */
  drawBloom(camera, theme) {
    if (!this.shines) return;
    const { gl } = this.graphics;
    gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, rgbOf(theme.background)[0] < 0.5 ? gl.ONE : gl.ONE_MINUS_SRC_ALPHA);
    this.#draw(this.bloom, { u_matrix: camera.columns });
    gl.disable(gl.BLEND);
  }

  #draw(mesh, uniforms) {
    const { gl } = this.graphics;
    this.graphics.use(mesh, uniforms);
    gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
  }
}
