// Records quads while panels draw, and draws them in ImGui's callbacks.
#include "app/ui/quad_batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <epoxy/gl.h>

#include "app/ui/shader.h"

namespace tilescope {

namespace {

constexpr std::array<GLint, 8> attribute_sizes = {4, 4, 4, 4, 4, 4, 4, 1};

std::array<std::size_t, 8> attribute_offsets() {
  std::array<std::size_t, 8> offsets{offsetof(QuadInstance, rect), offsetof(QuadInstance, shape)};
  for (std::size_t i = 0; i < 5; ++i) offsets[2 + i] = offsetof(QuadInstance, colors) + i * sizeof(ImU32);
  offsets[7] = offsetof(QuadInstance, flags);
  return offsets;
}

/// Binds the eight attributes to `buffer`, advancing once per instance.
void describe_instances(GLuint buffer) {
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  const auto offsets = attribute_offsets();
  for (GLuint i = 0; i < attribute_sizes.size(); ++i) {
    const void* offset = reinterpret_cast<const void*>(offsets[i]);
    glEnableVertexAttribArray(i);
    if (i < 2)
      glVertexAttribPointer(i, attribute_sizes[i], GL_FLOAT, GL_FALSE, sizeof(QuadInstance), offset);
    else if (i < 7)
      glVertexAttribPointer(i, attribute_sizes[i], GL_UNSIGNED_BYTE, GL_TRUE, sizeof(QuadInstance), offset);
    else
      glVertexAttribIPointer(i, attribute_sizes[i], GL_UNSIGNED_INT, sizeof(QuadInstance), offset);
    glVertexAttribDivisor(i, 1);
  }
}

QuadRenderer* current_renderer() {
  return static_cast<QuadRenderer*>(ImGui::GetIO().UserData);
}

}  // namespace

void QuadBatch::add(const Quad& quad) {
  const float width = quad.max.x - quad.min.x, height = quad.max.y - quad.min.y;
  if (!(width > 0) || !(height > 0)) return;
  QuadInstance& out = instances_.emplace_back();
  out.rect[0] = quad.min.x;
  out.rect[1] = quad.min.y;
  out.rect[2] = quad.max.x;
  out.rect[3] = quad.max.y;
  out.shape[0] = quad.radius;
  out.shape[1] = (quad.border >> IM_COL32_A_SHIFT) != 0 ? quad.border_width : 0;
  out.shape[2] = std::clamp(quad.fill_fraction, 0.0F, 1.0F);
  out.shape[3] = std::max(quad.glow, 0.0F);
  out.colors[0] = quad.fill;
  out.colors[1] = quad.gradient == Gradient::none ? quad.fill : quad.fill_end;
  out.colors[2] = quad.empty;
  out.colors[3] = quad.border;
  out.colors[4] = quad.glow_color != 0 ? quad.glow_color : quad.fill;
  out.flags = static_cast<std::uint32_t>(quad.fill_from) | static_cast<std::uint32_t>(quad.hatch) << 2U |
              static_cast<std::uint32_t>(quad.gradient) << 4U | static_cast<std::uint32_t>(quad.dashed) << 6U;
}

/// One recorded draw, for its callback.
struct QuadRenderer::Recorded {
  QuadRenderer* renderer = nullptr;
  std::shared_ptr<const QuadBatch> batch;
  ImVec2 offset;
};

struct QuadRenderer::Gl {
  ShaderProgram program;
  GLuint array = 0, buffer = 0;
  GLint display = -1, offset = -1, pixel = -1;

  Gl() = default;
  Gl(const Gl&) = delete;
  Gl& operator=(const Gl&) = delete;
  ~Gl() {
    if (buffer != 0) glDeleteBuffers(1, &buffer);
    if (array != 0) glDeleteVertexArrays(1, &array);
  }
};

QuadRenderer::QuadRenderer() : gl_(std::make_unique<Gl>()) {}
QuadRenderer::~QuadRenderer() = default;

std::unique_ptr<QuadRenderer> QuadRenderer::make(std::string& error) {
  Result<ShaderProgram> program = ShaderProgram::make("tile");
  if (!program) {
    error = program.error().sentence;
    return nullptr;
  }
  std::unique_ptr<QuadRenderer> renderer(new QuadRenderer);
  Gl& gl = *renderer->gl_;
  gl.program = std::move(*program);
  gl.display = gl.program.uniform("u_display");
  gl.offset = gl.program.uniform("u_offset");
  gl.pixel = gl.program.uniform("u_pixel");
  glGenVertexArrays(1, &gl.array);
  glGenBuffers(1, &gl.buffer);
  glBindVertexArray(gl.array);
  describe_instances(gl.buffer);
  glBindVertexArray(0);
  glBindBuffer(GL_ARRAY_BUFFER, 0);
  return renderer;
}

void QuadRenderer::new_frame() {
  recorded_.clear();
}

void QuadRenderer::record(ImDrawList* list, std::shared_ptr<const QuadBatch> batch, ImVec2 offset) {
  recorded_.push_back(std::make_unique<Recorded>(Recorded{this, std::move(batch), offset}));
  list->AddCallback(&QuadRenderer::draw_callback, recorded_.back().get());
  list->AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

QuadRenderer::Drawn QuadRenderer::drawn_by(const ImDrawCmd& command) {
  if (command.UserCallback != &QuadRenderer::draw_callback) return {};
  const auto& recorded = *static_cast<const Recorded*>(command.UserCallbackData);
  return {recorded.batch.get(), recorded.offset};
}

void QuadRenderer::draw_callback(const ImDrawList*, const ImDrawCmd* command) {
  const auto& recorded = *static_cast<const Recorded*>(command->UserCallbackData);
  const ImDrawData& frame = *ImGui::GetDrawData();
  const ImVec2 scale = frame.FramebufferScale;
  const float frame_height = frame.DisplaySize.y * scale.y;
  const float left = (command->ClipRect.x - frame.DisplayPos.x) * scale.x,
              top = (command->ClipRect.y - frame.DisplayPos.y) * scale.y;
  const float right = (command->ClipRect.z - frame.DisplayPos.x) * scale.x,
              bottom = (command->ClipRect.w - frame.DisplayPos.y) * scale.y;
  if (right <= left || bottom <= top) return;

  const Gl& gl = *recorded.renderer->gl_;
  const auto& instances = recorded.batch->instances();
  // Blending and culling are as ImGui set them; the reset after this callback restores the rest.
  glEnable(GL_SCISSOR_TEST);
  glScissor(static_cast<GLint>(left), static_cast<GLint>(frame_height - bottom), static_cast<GLsizei>(right - left),
            static_cast<GLsizei>(bottom - top));
  glUseProgram(gl.program.id());
  glUniform4f(gl.display, frame.DisplayPos.x, frame.DisplayPos.y, frame.DisplaySize.x, frame.DisplaySize.y);
  glUniform2f(gl.offset, recorded.offset.x, recorded.offset.y);
  glUniform1f(gl.pixel, 1.0F / scale.x);
  glBindVertexArray(gl.array);
  glBindBuffer(GL_ARRAY_BUFFER, gl.buffer);
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(instances.size() * sizeof(QuadInstance)), instances.data(), GL_STREAM_DRAW);
  glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, static_cast<GLsizei>(instances.size()));
  glBindVertexArray(0);
}

void draw_quads(ImDrawList* list, QuadBatch&& batch) {
  draw_quads(list, std::make_shared<const QuadBatch>(std::move(batch)));
}

void draw_quads(ImDrawList* list, std::shared_ptr<const QuadBatch> batch, ImVec2 offset) {
  if (batch == nullptr || batch->empty()) return;
  if (QuadRenderer* renderer = current_renderer()) renderer->record(list, std::move(batch), offset);
}

}  // namespace tilescope
