// Quads: what reaches the pixels, and in which order.
#include <doctest/doctest.h>
#include <epoxy/gl.h>
#include <imgui_impl_opengl3.h>

#include "app/platform/framebuffer.h"
#include "app/platform/headless_context.h"
#include "app/ui/quad_batch.h"
#include "tests/skip.h"

using namespace tilescope;

namespace {

constexpr ImU32 red = IM_COL32(255, 0, 0, 255), green = IM_COL32(0, 255, 0, 255), blue = IM_COL32(0, 0, 255, 255);
constexpr ImU32 white = IM_COL32(255, 255, 255, 255);

/// A picture of 200 x 100 on black, drawn by `record` into the foreground of one frame.
class Canvas {
 public:
  Canvas() {
    Result<std::unique_ptr<HeadlessContext>> made = HeadlessContext::make();
    if (!made) {
      skip_test(made.error().sentence);
      return;
    }
    context_ = std::move(*made);
    imgui_ = ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui_ImplOpenGL3_Init("#version 330 core");
    std::string error;
    quads_ = QuadRenderer::make(error);
    REQUIRE_MESSAGE(quads_ != nullptr, error);
    ImGui::GetIO().UserData = quads_.get();
  }
  ~Canvas() {
    if (imgui_ == nullptr) return;
    quads_.reset();
    ImGui_ImplOpenGL3_Shutdown();
    ImGui::DestroyContext(imgui_);
  }
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  bool good() const { return imgui_ != nullptr; }

  template <class Record>
  void draw(Record record) {
    ImGui::GetIO().DisplaySize = {200, 100};
    ImGui_ImplOpenGL3_NewFrame();
    quads_->new_frame();
    ImGui::NewFrame();
    record(ImGui::GetForegroundDrawList());
    ImGui::Render();
    Result<Framebuffer> target = Framebuffer::make(200, 100);
    REQUIRE(static_cast<bool>(target));
    target->bind();
    glDisable(GL_SCISSOR_TEST);
    glClearColor(0, 0, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    picture_ = target->read();
    CHECK(glGetError() == GL_NO_ERROR);
  }

  ImU32 at(int x, int y) const {
    const std::size_t i = (static_cast<std::size_t>(y) * 200 + static_cast<std::size_t>(x)) * 4;
    return IM_COL32(picture_.rgba[i], picture_.rgba[i + 1], picture_.rgba[i + 2], 255);
  }
  int red_at(int x, int y) const { return static_cast<int>(at(x, y) & 255U); }

 private:
  std::unique_ptr<HeadlessContext> context_;
  ImGuiContext* imgui_ = nullptr;
  std::unique_ptr<QuadRenderer> quads_;
  Picture picture_;
};

QuadBatch one(const Quad& quad) {
  QuadBatch batch;
  batch.add(quad);
  return batch;
}

constexpr ImU32 black = IM_COL32(0, 0, 0, 255);

}  // namespace

TEST_CASE("quads: a rectangle covers its pixels and no others; its corners are round") {
  Canvas canvas;
  if (!canvas.good()) return;
  canvas.draw([](ImDrawList* list) { draw_quads(list, one({.min = {20, 20}, .max = {60, 60}, .radius = 10, .fill = red})); });
  CHECK(canvas.at(40, 40) == red);
  CHECK(canvas.at(20, 40) == red);
  CHECK(canvas.at(59, 40) == red);
  CHECK(canvas.at(19, 40) == black);
  CHECK(canvas.at(60, 40) == black);
  CHECK(canvas.at(21, 21) == black);
  CHECK(canvas.at(30, 21) == red);
}

TEST_CASE("quads: the fill stops at its fraction from each side; the rest has the empty colour") {
  Canvas canvas;
  if (!canvas.good()) return;
  const auto draw = [&](FillFrom from) {
    canvas.draw([&](ImDrawList* list) {
      draw_quads(list,
                 one({.min = {20, 20}, .max = {60, 60}, .fill = red, .empty = blue, .fill_fraction = 0.25F, .fill_from = from}));
    });
  };
  draw(FillFrom::left);
  CHECK(canvas.at(25, 40) == red);
  CHECK(canvas.at(35, 40) == blue);
  draw(FillFrom::right);
  CHECK(canvas.at(55, 40) == red);
  CHECK(canvas.at(45, 40) == blue);
  draw(FillFrom::bottom);
  CHECK(canvas.at(40, 55) == red);
  CHECK(canvas.at(40, 45) == blue);
  draw(FillFrom::top);
  CHECK(canvas.at(40, 25) == red);
  CHECK(canvas.at(40, 35) == blue);
}

TEST_CASE("quads: a border lies inside; a dashed one has gaps") {
  Canvas canvas;
  if (!canvas.good()) return;
  const auto count_border = [&](bool dashed) {
    canvas.draw([&](ImDrawList* list) {
      draw_quads(list, one({.min = {20, 20}, .max = {160, 60}, .fill = red, .border = green, .border_width = 3, .dashed = dashed}));
    });
    int count = 0;
    for (int x = 25; x < 155; ++x) count += canvas.at(x, 21) == green ? 1 : 0;
    return count;
  };
  CHECK(count_border(false) == 130);
  CHECK(canvas.at(90, 40) == red);
  CHECK(canvas.at(90, 19) == black);
  const int dashed = count_border(true);
  CHECK(dashed > 30);
  CHECK(dashed < 110);
}

TEST_CASE("quads: a halo fades with the distance and ends at its radius") {
  Canvas canvas;
  if (!canvas.good()) return;
  canvas.draw([](ImDrawList* list) {
    draw_quads(list, one({.min = {60, 40}, .max = {100, 60}, .fill = red, .glow = 16, .glow_color = white}));
  });
  CHECK(canvas.red_at(80, 62) > canvas.red_at(80, 68));
  CHECK(canvas.red_at(80, 68) > canvas.red_at(80, 73));
  CHECK(canvas.at(80, 78) == black);
  CHECK(canvas.at(80, 50) == red);
}

TEST_CASE("quads: a hatch differs from the plain fill, and kinds of hatch from one another") {
  Canvas canvas;
  if (!canvas.good()) return;
  const auto strokes = [&](Hatch hatch) {
    canvas.draw([&](ImDrawList* list) { draw_quads(list, one({.min = {20, 20}, .max = {80, 80}, .fill = red, .hatch = hatch})); });
    int count = 0;
    for (int y = 22; y < 78; ++y)
      for (int x = 22; x < 78; ++x) count += canvas.at(x, y) != red ? 1 : 0;
    return count;
  };
  CHECK(strokes(Hatch::none) == 0);
  const int diagonal = strokes(Hatch::diagonal), cross = strokes(Hatch::cross), dots = strokes(Hatch::dots);
  CHECK(diagonal > 200);
  CHECK(cross > diagonal);
  CHECK(dots > 50);
  CHECK(dots != diagonal);
}

TEST_CASE("quads: a gradient runs from one colour to the other") {
  Canvas canvas;
  if (!canvas.good()) return;
  canvas.draw([](ImDrawList* list) {
    draw_quads(list, one({.min = {0, 20}, .max = {200, 60}, .fill = black, .fill_end = red, .gradient = Gradient::horizontal}));
  });
  CHECK(canvas.red_at(5, 40) < 20);
  CHECK(canvas.red_at(100, 40) == doctest::Approx(128).epsilon(0.05));
  CHECK(canvas.red_at(195, 40) > 235);
}

TEST_CASE("quads: they keep the order of the draw list") {
  Canvas canvas;
  if (!canvas.good()) return;
  canvas.draw([](ImDrawList* list) {
    list->AddRectFilled({0, 0}, {100, 100}, blue);
    draw_quads(list, one({.min = {20, 20}, .max = {80, 80}, .fill = red}));
    list->AddRectFilled({40, 40}, {60, 60}, green);
  });
  CHECK(canvas.at(10, 10) == blue);
  CHECK(canvas.at(30, 30) == red);
  CHECK(canvas.at(50, 50) == green);
}

TEST_CASE("quads: the clip rectangle of the list applies") {
  Canvas canvas;
  if (!canvas.good()) return;
  canvas.draw([](ImDrawList* list) {
    list->PushClipRect({30, 30}, {50, 50}, true);
    draw_quads(list, one({.min = {20, 20}, .max = {80, 80}, .fill = red}));
    list->PopClipRect();
    list->AddRectFilled({100, 0}, {120, 20}, green);
  });
  CHECK(canvas.at(40, 40) == red);
  CHECK(canvas.at(29, 40) == black);
  CHECK(canvas.at(50, 40) == black);
  CHECK(canvas.at(110, 10) == green);
}

TEST_CASE("quads: a kept batch is drawn again, moved by its offset") {
  Canvas canvas;
  if (!canvas.good()) return;
  const auto kept = std::make_shared<const QuadBatch>(one({.min = {10, 10}, .max = {20, 20}, .fill = red}));
  canvas.draw([&](ImDrawList* list) {
    draw_quads(list, kept);
    draw_quads(list, kept, {50, 30});
  });
  CHECK(canvas.at(15, 15) == red);
  CHECK(canvas.at(65, 45) == red);
  CHECK(canvas.at(40, 30) == black);
}

TEST_CASE("quads: empty rectangles are skipped, and without a renderer nothing is drawn") {
  QuadBatch batch;
  batch.add({.min = {5, 5}, .max = {5, 9}, .fill = red});
  batch.add({.min = {9, 5}, .max = {5, 9}, .fill = red});
  CHECK(batch.empty());
  batch.add({.min = {5, 5}, .max = {6, 6}, .fill = red});
  CHECK(batch.size() == 1);

  ImGuiContext* context = ImGui::CreateContext();
  ImDrawList list(ImGui::GetDrawListSharedData());
  list._ResetForNewFrame();
  draw_quads(&list, std::move(batch));
  CHECK((list.CmdBuffer.back().UserCallback == nullptr));
  ImGui::DestroyContext(context);
}
