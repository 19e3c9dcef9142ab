#version 120
// The glow falls to exactly the background before the corners; a pixel-wide dither hides the steps between grey levels.
uniform vec3 u_ground; uniform vec3 u_glow;
varying vec2 v_uv;
void main() {
    float r = length((v_uv - vec2(0.42, 0.45)) / vec2(0.58, 0.62));
    float t = clamp(1.0 - r, 0.0, 1.0);
    float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453) - 0.5;
    vec3 colour = mix(u_ground, u_glow, t * t * (3.0 - 2.0 * t));
    gl_FragColor = vec4(colour + (t > 0.0 ? noise * 0.9 / 255.0 : 0.0), 1.0);
}
