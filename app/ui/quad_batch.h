// QuadBatch: many rounded rectangles in one instanced draw call, in ImGui's drawing order.
//
//   QuadBatch batch;
//   batch.add({.min = a, .max = b, .radius = 4, .fill = theme.color(Meaning::query), .glow = 6});
//   draw_quads(ImGui::GetWindowDrawList(), std::move(batch));   // above earlier items, below later ones
//
// Coordinates are ImGui's (points, y down). The list's clip rectangle applies. Edges are signed distances, crisp at any scale.
// An unchanged batch can be kept and drawn again with an offset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <imgui.h>

namespace tilescope {

/// The side from which `fill_fraction` fills a quad.
enum class FillFrom : std::uint8_t { left, bottom, right, top };
/// A second cue besides colour, drawn over the filled part in the border colour (or a darker fill without a border).
enum class Hatch : std::uint8_t { none, diagonal, cross, dots };
enum class Gradient : std::uint8_t { none, horizontal, vertical };

struct Quad {
  ImVec2 min, max;
  float radius = 0;    // of the corners
  ImU32 fill = 0;      // IM_COL32; alpha 0 draws no fill
  ImU32 fill_end = 0;  // the other end of the gradient, right or bottom
  ImU32 empty = 0;     // colour beyond fill_fraction
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

/// One quad as uploaded to the GPU.
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

/// Draws `batch` at this point of the list. The batch lives until the frame is shown. Without a QuadRenderer (a test without GL)
/// it draws nothing.
void draw_quads(ImDrawList* list, QuadBatch&& batch);
/// Draws a batch that the caller keeps between frames, moved by `offset`.
void draw_quads(ImDrawList* list, std::shared_ptr<const QuadBatch> batch, ImVec2 offset = {});

/// Owns the GL objects and the current frame's batches. One per GL context, found through ImGuiIO::UserData.
class QuadRenderer {
 public:
  /// Needs a current GL context. `error` receives the compiler's message if the shader fails.
  static std::unique_ptr<QuadRenderer> make(std::string& error);
  ~QuadRenderer();
  QuadRenderer(const QuadRenderer&) = delete;
  QuadRenderer& operator=(const QuadRenderer&) = delete;

  /// Drops the previous frame's batches; call before ImGui::NewFrame.
  void new_frame();

  /// A batch of the frame that `command` draws; its batch is null for any other command.
  struct Drawn {
    const QuadBatch* batch = nullptr;
    ImVec2 offset;
  };
  static Drawn drawn_by(const ImDrawCmd& command);

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
