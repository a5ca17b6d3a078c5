// QuadBatch: many rounded rectangles drawn by one instanced call, in the right place of ImGui's drawing order.
//
//   QuadBatch batch;
//   batch.add({.min = a, .max = b, .radius = 4, .fill = theme.color(Meaning::query), .glow = 6});
//   draw_quads(ImGui::GetWindowDrawList(), std::move(batch));   // over what the list holds so far, under what follows
//
// Coordinates are ImGui's (points, y down). The list's current clip rectangle applies. Edges are signed distances, so they are
// crisp at any scale. A batch that does not change between frames can be kept and drawn again, moved by an offset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <imgui.h>

namespace tilescope {

/// From which side `fill_fraction` fills a quad.
enum class FillFrom : std::uint8_t { left, bottom, right, top };
/// A second sign beside colour: drawn over the filled part in the border's colour (or a darker fill where there is no border).
enum class Hatch : std::uint8_t { none, diagonal, cross, dots };
enum class Gradient : std::uint8_t { none, horizontal, vertical };

struct Quad {
  ImVec2 min, max;
  float radius = 0;    // of the corners
  ImU32 fill = 0;      // IM_COL32; alpha 0 draws no fill
  ImU32 fill_end = 0;  // the other end of the gradient, right or bottom
  ImU32 empty = 0;     // what the part beyond fill_fraction shows
  ImU32 border = 0;
  float border_width = 0;   // inside the rectangle
  float fill_fraction = 1;  // 0..1 of the rectangle, from the side of fill_from
  float glow = 0;           // radius of the halo outside the rectangle
  ImU32 glow_color = 0;     // alpha is the halo's strength at the edge; 0 with glow > 0 takes `fill`
  FillFrom fill_from = FillFrom::left;
  Hatch hatch = Hatch::none;
  Gradient gradient = Gradient::none;
  bool dashed = false;  // the border
};

/// What the GPU gets for one quad.
struct QuadInstance {
  float rect[4];        // min x, min y, max x, max y
  float shape[4];       // radius, border width, fill fraction, glow radius
  ImU32 colors[5];      // fill, fill_end, empty, border, glow
  std::uint32_t flags;  // fill_from | hatch << 2 | gradient << 4 | dashed << 6
};

class QuadBatch {
 public:
  void add(const Quad& quad);
  void reserve(std::size_t count) { instances_.reserve(count); }
  void clear() { instances_.clear(); }
  bool empty() const { return instances_.empty(); }
  std::size_t size() const { return instances_.size(); }
  const std::vector<QuadInstance>& instances() const { return instances_; }

 private:
  std::vector<QuadInstance> instances_;
};

/// Draws `batch` at this place of the list's order. The batch lives until the frame is on the screen. Where the ImGui context has
/// no QuadRenderer (a test without GL) nothing is drawn.
void draw_quads(ImDrawList* list, QuadBatch&& batch);
/// The same for a batch that is kept by the caller and shared between frames, moved by `offset`.
void draw_quads(ImDrawList* list, std::shared_ptr<const QuadBatch> batch, ImVec2 offset = {});

/// Owns the GL objects and the batches of the frame under way; one a GL context, found through ImGuiIO::UserData.
class QuadRenderer {
 public:
  /// Needs a current GL context. `error` gets the compiler's words when the shader does not build.
  static std::unique_ptr<QuadRenderer> make(std::string& error);
  ~QuadRenderer();
  QuadRenderer(const QuadRenderer&) = delete;
  QuadRenderer& operator=(const QuadRenderer&) = delete;

  /// Forgets the batches of the frame before; called before ImGui::NewFrame.
  void new_frame();

 private:
  friend void draw_quads(ImDrawList*, QuadBatch&&);
  friend void draw_quads(ImDrawList*, std::shared_ptr<const QuadBatch>, ImVec2);
  static void draw_callback(const ImDrawList*, const ImDrawCmd* command);
  struct Recorded;
  struct Gl;
  QuadRenderer();
  void record(ImDrawList* list, std::shared_ptr<const QuadBatch> batch, ImVec2 offset);
  std::unique_ptr<Gl> gl_;
  std::vector<std::unique_ptr<Recorded>> recorded_;
};

}  // namespace tilescope
