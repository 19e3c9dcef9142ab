#version 120
uniform sampler2D u_glyphs;
varying vec2 v_uv; varying vec4 v_colour;
void main() {
    float cover = texture2D(u_glyphs, v_uv).r * v_colour.a;
    gl_FragColor = vec4(v_colour.rgb * cover, cover);
}
