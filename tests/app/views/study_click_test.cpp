// Clicks in the views of many simulations, by the events a person would cause: a slider moved, a tile of the fit taken, an
// algorithm of the sweep switched off, a case of the bundle opened.
#include <optional>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/requests/assets.h"
#include "app/model/session/studies.h"
#include "app/ui/text_record.h"
#include "sim/analysis/format.h"
#include "tests/app/views/window_script.h"
#include "tests/synthetic_measurements.h"

namespace tilescope {

namespace {

ImGuiWindow* child_window(std::string_view part) {
  for (ImGuiWindow* window : ImGui::GetCurrentContext()->Windows)
    if (window->WasActive && std::string_view(window->Name).find(part) != std::string_view::npos) return window;
  return nullptr;
}

ImGuiID within(ImGuiID outer, const char* label) {
  return ImHashStr(label, 0, outer);
}

/// The first place of the middle panel, row by row, where the pointer is over item `id`.
std::optional<ImVec2> place_of(WindowScript& script, ImGuiID id) {
  const Rect area = script.frame().layout().alone;
  for (float y = area.min.y + 4; y < area.max.y; y += 12)
    for (float x = area.min.x + 12; x < area.max.x; x += 40) {
      script.hover(x, y);
      if (ImGui::GetCurrentContext()->HoveredId == id) return ImVec2(x, y);
    }
  return std::nullopt;
}

}  // namespace

TEST_CASE("window: a view about the whole run has all the room; listing, row and timeline belong to the stage") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  for (const CenterViewInfo& row : center_views()) {
    if (row.view == CenterView::validate) continue;  // simulates every recorded case
    script->command(SetCenter{row.view});
    const bool stage = row.view == CenterView::stage;
    for (const char* panel : {"/listing_", "/softmax_", "/traffic_", "/timeline_"}) {
      CAPTURE(panel);
      CHECK((child_window(panel) != nullptr) == stage);
    }
    const ImGuiWindow* middle = child_window("/" + std::string(row.id) + "_");
    REQUIRE(middle != nullptr);
    if (!stage) CHECK(middle->Size.x > 1240);
  }
}

TEST_CASE("what if: moving the slider changes the GPU and shows the result") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::what_if});
  const ImGuiWindow* window = child_window("/what_if_");
  REQUIRE(window != nullptr);
  const double before = script->view().lane().simulation->request.gpu.hbm_bytes_per_second;
  const double cycles = script->view().lane().simulation->cycles.value;
  const auto slider = place_of(*script, within(window->ID, "##value"));
  REQUIRE(slider);
  // To the left end: the least bandwidth that the slider goes to.
  script->drag({slider->x + 60, slider->y}, {slider->x + 2, slider->y});
  const double after = script->view().lane().simulation->request.gpu.hbm_bytes_per_second;
  CHECK(after < 0.5 * before);
  CHECK(script->view().requested->request.gpu.hbm_bytes_per_second == after);
  CHECK(script->view().lane().simulation->cycles.value > cycles);
}

TEST_CASE("fit: clicking a tile applies it") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetCenter{CenterView::fit});
  const ImGuiWindow* window = child_window("/fit_");
  REQUIRE(window != nullptr);
  const View view = script->view();
  REQUIRE(view.studies->fit != nullptr);
  const FitMap& map = view.studies->fit->maps.front();
  const TileShape now = view.lane().simulation->program->tile();
  std::size_t other = 0;
  while (other < map.cells.size() && (!map.cells[other].fits() || map.cells[other].tile == now)) ++other;
  REQUIRE(other < map.cells.size());
  const TileShape wanted = map.cells[other].tile;
  const int number = static_cast<int>(other);  // a cell is identified by its place in the map
  const auto cell = place_of(*script, within(ImHashData(&number, sizeof number, window->ID), "cell"));
  REQUIRE(cell);
  {
    const TextRecording recording;
    script->hover(cell->x, cell->y);
    // Its traffic is in units of 1000, so its shared memory is in none of 1024.
    CHECK(recording.text().find(format_exact_bytes(Bytes(map.cells[other].needs.shared_bytes)) + " of shared memory, ") !=
          std::string::npos);
  }
  script->click(cell->x, cell->y);
  CHECK(script->view().lane().simulation->program->tile() == wanted);
}

TEST_CASE("sweep: clicking an algorithm removes it and repeats the sweep") {
  const auto script = WindowScript::open(1280, 720);
  if (script == nullptr) return;
  script->command(SetSweep{"seq=16:128:x2", {"standard", "flash1", "flash2"}});
  script->command(SetCenter{CenterView::sweep});
  const ImGuiWindow* window = child_window("/sweep_");
  REQUIRE(window != nullptr);
  const std::vector<std::string> before = script->view().studies->sweep_choice.algorithms;
  REQUIRE(before.size() >= 2);
  const int first_part = 0;
  const ImGuiID switch_id = within(window->ID, before.front().c_str());
  const auto place = place_of(*script, within(ImHashData(&first_part, sizeof first_part, switch_id), "##part"));
  REQUIRE(place);
  script->click(place->x, place->y);
  const View view = script->view();
  CHECK(view.studies->sweep_choice.algorithms.size() == before.size() - 1);
  REQUIRE(view.studies->sweep != nullptr);
  CHECK(view.studies->sweep->request.algorithms == view.studies->sweep_choice.algorithms);
  CHECK(view.studies->sweep->done() == view.studies->sweep->points.size());
}

TEST_CASE("validate view: a click on a case opens its problem") {
  Session::Start start = opening_start();
  const Result<GpuSpec> toy = load_gpu("toy");
  REQUIRE(static_cast<bool>(toy));
  const MeasurementBundle bundle = synthetic_bundle(*toy);
  start.measurements.bundles.push_back(std::make_shared<const KnownBundle>(KnownBundle{bundle, "synthetic.json", false}));
  start.center = CenterView::validate;
  const auto script = WindowScript::open(std::move(start), 1280, 720);
  if (script == nullptr) return;
  const ImGuiWindow* window = child_window("/list_");
  REQUIRE(window != nullptr);
  const int wanted = 5;
  const auto row = place_of(*script, within(ImHashData(&wanted, sizeof wanted, window->ID), "case"));
  REQUIRE(row);
  script->click(row->x, row->y);
  const View view = script->view();
  CHECK(view.lane().simulation->request.algorithm == bundle.cases[wanted].kernel);
  CHECK(view.lane().simulation->request.problem == bundle.cases[wanted].problem);
  REQUIRE(view.measured.found != nullptr);
  CHECK(view.measured.found->index == wanted);
}

}  // namespace tilescope
