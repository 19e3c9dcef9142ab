// Access to WebGL 2 for the drawing files: programs, meshes and textures of one context, freed together.

import { drawFlatBySoftware } from "./ink.js";

/** Bytes of a number in each kind of texture used here, by GL name. */
const TEXTURE_KINDS = {
  R32F: ["RED", "FLOAT"],
  R8: ["RED", "UNSIGNED_BYTE"],
  RGB8: ["RGB", "UNSIGNED_BYTE"],
  RGBA8: ["RGBA", "UNSIGNED_BYTE"],
};

/** Return "#rrggbb" as three numbers in 0..1. */
export function rgbOf(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
}

export class Graphics {
  constructor(canvas) {
    // no multisampling: cubes end inside their boxes, where it does nothing; a finer picture is drawn finer
    const wishes = { alpha: false, antialias: false, depth: true, stencil: false, preserveDrawingBuffer: false };
    this.gl = canvas.getContext("webgl2", wishes);
    if (!this.gl) throw new Error("this browser draws no WebGL 2");
    this.made = [];
    drawFlatBySoftware(this.software);
  }

  /** Whether a processor draws instead of a graphics card, so that every pixel is expensive. */
  get software() {
    const named = this.gl.getExtension("WEBGL_debug_renderer_info");
    const renderer = this.gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : this.gl.RENDERER);
    return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(String(renderer));
  }

  /** Return a program with the locations of its uniforms, by name. */
  program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      gl.deleteShader(shader); // freed with the program
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
      const said = gl.getAttachedShaders(program).map((shader) => gl.getShaderInfoLog(shader));
      throw new Error(`shader: ${[gl.getProgramInfoLog(program), ...said].filter(Boolean).join("; ")}`);
    }
    const uniforms = {}, count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) || 0;
    for (let index = 0; index < count; index++) {
      const { name } = gl.getActiveUniform(program, index);
      uniforms[name] = gl.getUniformLocation(program, name);
    }
    this.made.push(() => gl.deleteProgram(program));
    return { program, uniforms };
  }

  /** Start drawing with a program and its uniforms: a number, two to four numbers, or the 16 of a matrix. */
  use({ program, uniforms, corners }, values) {
    const { gl } = this;
    gl.useProgram(program);
    gl.bindVertexArray(corners);
    for (const [name, value] of Object.entries(values)) {
      const place = uniforms[name] ?? null, numbers = [value].flat();
      if (value.length === 16) gl.uniformMatrix4fv(place, false, value);
      else gl[`uniform${numbers.length}fv`](place, numbers);
    }
  }

  buffer(numbers, target = this.gl.ARRAY_BUFFER) {
    const gl = this.gl, buffer = gl.createBuffer();
    gl.bindVertexArray(null);
    gl.bindBuffer(target, buffer);
    gl.bufferData(target, numbers, gl.DYNAMIC_DRAW);
    this.made.push(() => gl.deleteBuffer(buffer));
    return buffer;
  }

  triangles(indices) {
    return this.buffer(new Uint32Array(indices), this.gl.ELEMENT_ARRAY_BUFFER);
  }

  refill(buffer, numbers) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, numbers);
  }

  /** Describe how a program reads its corners; `parts` are buffers with their attributes: name, count of numbers. */
  corners(from, parts, triangles) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    for (const [buffer, attributes] of parts) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      const stride = 4 * attributes.reduce((sum, [, count]) => sum + count, 0);
      let offset = 0;
      for (const [name, count] of attributes) {
        const place = gl.getAttribLocation(from.program, name);
        if (place >= 0) {
          gl.enableVertexAttribArray(place);
          gl.vertexAttribPointer(place, count, gl.FLOAT, false, stride, offset);
        }
        offset += 4 * count;
      }
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, triangles);
    gl.bindVertexArray(null);
    this.made.push(() => gl.deleteVertexArray(array));
    return array;
  }

  /** Create a texture that is read texel by texel. */
  texture(kind, width, height, data) {
    const gl = this.gl, texture = gl.createTexture(), [format, type] = TEXTURE_KINDS[kind];
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    for (const way of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, way, gl.CLAMP_TO_EDGE);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl[kind], width, height, 0, gl[format], gl[type], data);
    this.made.push(() => gl.deleteTexture(texture));
    return { texture, width, height, format: gl[format], type: gl[type] };
  }

  /** Replace the texels in the rows `first` to before `last` of a texture. */
  retexture(of, data, first = 0, last = of.height) {
    const gl = this.gl;
    gl.bindTexture(gl.TEXTURE_2D, of.texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, first, of.width, last - first, of.format, of.type, data);
  }

  /** Bind a texture to a sampler of the current program. */
  read(uniforms, name, of, unit) {
    if (!uniforms[name]) return;
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, of.texture);
    this.gl.uniform1i(uniforms[name], unit);
    this.gl.activeTexture(this.gl.TEXTURE0);
  }

  /** Free everything; with `context` also the context, of which a browser has sixteen. */
  dispose(context = true) {
    for (const forget of this.made) forget();
    this.made = [];
    if (context) this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
