// One corner of one rounded rectangle: two triangles an instance, widened by the halo and a pixel of smooth edge.
uniform vec4 u_display;        // ImGui's display: x, y, width, height, in points
uniform vec2 u_offset;         // moves the whole batch
uniform float u_pixel;         // points a pixel

layout(location = 0) in vec4 a_rect;      // min, max
layout(location = 1) in vec4 a_shape;     // radius, border width, fill fraction, halo
layout(location = 2) in vec4 a_fill;
layout(location = 3) in vec4 a_fill_end;
layout(location = 4) in vec4 a_empty;
layout(location = 5) in vec4 a_border;
layout(location = 6) in vec4 a_glow;
layout(location = 7) in uint a_flags;

out vec2 v_point;              // from the centre, in points
flat out vec2 v_half;
flat out vec4 v_shape;
flat out vec4 v_fill;
flat out vec4 v_fill_end;
flat out vec4 v_empty;
flat out vec4 v_border;
flat out vec4 v_glow;
flat out uint v_flags;

void main() {
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1)) * 2.0 - 1.0;
  vec2 center = 0.5 * (a_rect.xy + a_rect.zw);
  v_half = 0.5 * (a_rect.zw - a_rect.xy);
  v_point = corner * (v_half + a_shape.w + u_pixel);
  v_shape = a_shape;
  v_fill = a_fill;
  v_fill_end = a_fill_end;
  v_empty = a_empty;
  v_border = a_border;
  v_glow = a_glow;
  v_flags = a_flags;
  vec2 place = (center + v_point + u_offset - u_display.xy) / u_display.zw;
  gl_Position = vec4(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.0, 1.0);
}
