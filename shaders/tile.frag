// A rounded rectangle by its signed distance: fill up to a fraction, hatch, border (whole or dashed), halo.
uniform float u_pixel;

in vec2 v_point;
flat in vec2 v_half;
flat in vec4 v_shape;
flat in vec4 v_fill;
flat in vec4 v_fill_end;
flat in vec4 v_empty;
flat in vec4 v_border;
flat in vec4 v_glow;
flat in uint v_flags;

out vec4 o_color;

float rounded_box(vec2 p, vec2 half_size, float radius) {
  vec2 q = abs(p) - half_size + radius;
  return length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - radius;
}

// Coverage of the half plane where `distance` (in points) is negative.
float inside(float distance) { return clamp(0.5 - distance / u_pixel, 0.0, 1.0); }

// `over` laid on `under`; both with straight alpha.
vec4 lay(vec4 under, vec4 over) {
  float alpha = over.a + under.a * (1.0 - over.a);
  vec3 rgb = (over.rgb * over.a + under.rgb * under.a * (1.0 - over.a)) / max(alpha, 1e-5);
  return vec4(rgb, alpha);
}

// 1 on the strokes of the pattern. Strokes are thin beside their distance, so that the colour below stays itself.
float hatch_at(vec2 p, uint kind) {
  float step_size = 5.0 * max(1.0, u_pixel);
  float width = 1.1;
  float rising = abs(fract((p.x + p.y) / (1.41421356 * step_size)) - 0.5) * step_size;
  float falling = abs(fract((p.x - p.y) / (1.41421356 * step_size)) - 0.5) * step_size;
  if (kind == 1u) return inside(rising - 0.5 * width);
  if (kind == 2u) return max(inside(rising - 0.5 * width), inside(falling - 0.5 * width));
  vec2 cell = (fract(p / step_size) - 0.5) * step_size;
  return inside(length(cell) - 0.9);
}

// 1 on the dashes of a dashed border: measured along the side, symmetric about its middle.
float dash_at(vec2 p) {
  vec2 edge = abs(abs(p) - v_half);
  float along = edge.x < edge.y ? p.y : p.x;
  return inside(abs(fract(along / 8.0) - 0.5) * 8.0 - 2.5);
}

void main() {
  float radius = min(v_shape.x, min(v_half.x, v_half.y));
  float distance = rounded_box(v_point, v_half, radius);
  float cover = inside(distance);

  uint from = v_flags & 3u;
  vec2 along = (v_point + v_half) / max(2.0 * v_half, vec2(1e-4));
  float part = from == 0u ? along.x : from == 1u ? 1.0 - along.y : from == 2u ? 1.0 - along.x : along.y;
  float extent = (from & 1u) == 0u ? 2.0 * v_half.x : 2.0 * v_half.y;
  float filled = v_shape.z >= 1.0 ? 1.0 : v_shape.z <= 0.0 ? 0.0 : inside((part - v_shape.z) * extent);

  uint gradient = (v_flags >> 4) & 3u;
  float blend = gradient == 1u ? along.x : gradient == 2u ? along.y : 0.0;
  vec4 fill = mix(v_fill, v_fill_end, clamp(blend, 0.0, 1.0));

  float border_width = v_shape.y;
  uint hatch = (v_flags >> 2) & 3u;
  if (hatch != 0u) {
    vec4 stroke = border_width > 0.0 ? vec4(v_border.rgb, 0.75 * v_border.a) : vec4(fill.rgb * 0.45, 0.8);
    fill = mix(fill, vec4(stroke.rgb, max(stroke.a, fill.a)), hatch_at(v_point, hatch) * stroke.a);
  }
  vec4 color = mix(v_empty, fill, filled);
  // Mixing towards a colour without opacity must not darken.
  if (v_empty.a == 0.0) color.rgb = fill.rgb;
  if (fill.a == 0.0) color.rgb = v_empty.rgb;

  if (border_width > 0.0) {
    float ring = inside(-(distance + border_width));
    if (((v_flags >> 6) & 1u) != 0u) ring *= dash_at(v_point);
    color = lay(color, vec4(v_border.rgb, v_border.a * ring));
  }
  color.a *= cover;

  if (v_shape.w > 0.0) {
    float fade = clamp(1.0 - max(distance, 0.0) / v_shape.w, 0.0, 1.0);
    color = lay(vec4(v_glow.rgb, v_glow.a * fade * fade * (1.0 - cover)), color);
  }
  if (color.a <= 0.0) discard;
  o_color = color;
}
