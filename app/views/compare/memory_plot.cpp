// Draws the memory of two runs as steps over their time.
#include "app/views/compare/memory_plot.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/ui/plot.h"
#include "app/ui/say.h"
#include "app/views/algorithm_style.h"
#include "sim/analysis/format.h"

namespace tilescope {
namespace {

/// Returns the memory over time, in nanoseconds. Between two launches it is still that of the first.
std::vector<PlotPoint> curve_of(const Simulation& run, const MemoryOverTime& memory) {
  const auto launches = run.trace->launches();
  const auto ns = [&](double cycles) { return to_nanoseconds(Cycles(cycles), run.request.gpu.clock()).value; };
  std::vector<PlotPoint> points;
  for (std::size_t i = 0; i < memory.live.size(); ++i) {
    const auto bytes = static_cast<double>(memory.live[i].value);
    points.push_back({ns(launches[i].start), bytes});
    points.push_back({ns(i + 1 < memory.live.size() ? launches[i + 1].start : launches[i].end), bytes});
  }
  return points;
}

std::string list_of(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor tensor : tensors) text += (text.empty() ? "" : ", ") + std::string(to_string(tensor));
  return text;
}

}  // namespace

bool memory_changes(const ComparedMemory& memory) {
  return std::any_of(memory.begin(), memory.end(), [](const MemoryOverTime& of_run) {
    return std::any_of(of_run.live.begin(), of_run.live.end(), [&](Bytes live) { return live.value != of_run.peak().value; });
  });
}

std::string memory_sentence(const Simulation& run, const MemoryOverTime& memory) {
  std::string text =
      say(tr("At most {}, while \"{}\" runs: {}, so {}."), format_bytes(memory.peak()),
          translated(run.launches[memory.peak_launch].name), memory.peak_formula, memory.quadratic ? "O(N²)" : "O(N)");
  if (!memory.checkpointing) return text;
  const Checkpointing& kept = *memory.checkpointing;
  if (kept.tensors.empty()) return text;
  text += ' ';
  text += say(tr("{} stays for the backward pass: {}. Checkpointing frees it and runs the forward pass again: {} of HBM traffic "
                 "and {} more."),
              list_of(kept.tensors), format_bytes(kept.kept), format_bytes(kept.hbm), format_time(kept.time));
  return text;
}

void draw_memory_plot(const View& view, const RunComparison& comparison, const ComparedMemory& memory) {
  const Theme& theme = *view.theme;
  const std::array runs = {comparison.first.get(), comparison.second.get()};
  text_item(theme.ui_bold, theme.text, tr("Memory over time"));
  std::array<std::vector<PlotPoint>, 2> curves;
  double end = 1, most = 1;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    curves[i] = curve_of(*runs[i], memory[i]);
    for (const PlotPoint& point : curves[i]) end = std::max(end, point.x), most = std::max(most, point.y);
  }
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = std::round(190 * theme.scale);
  const PlotAxis x{.title = tr("Time"), .low = 0, .high = 1.02 * end, .log = false, .units = plot_units_of_ns};
  const PlotAxis y{.title = tr("HBM in use"), .low = 0, .high = 1.15 * most, .log = false, .units = plot_units_of_bytes};
  Plot plot(theme, ImGui::GetWindowDrawList(), {at, {at.x + width, at.y + height}}, x, y);
  const bool alike = runs[0]->request.algorithm == runs[1]->request.algorithm;
  const auto color_of = [&](std::size_t i) { return algorithm_color(theme, runs[i]->request.algorithm); };
  for (std::size_t i = 0; i < runs.size(); ++i)
    plot.curve(curves[i], color_of(i), 2 * theme.scale, alike && i == 0 ? Plot::Line::dashed : Plot::Line::solid);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlotPoint peak = curves[i][2 * memory[i].peak_launch];
    plot.label(peak, fmt::format("{}: {}", i == 0 ? "A" : "B", format_bytes(memory[i].peak())), color_of(i), Plot::Side::above,
               true);
  }
  ImGui::Dummy({width, height});
  for (std::size_t i = 0; i < runs.size(); ++i)
    wrapped_text(theme.ui_small, theme.text_dim,
                 fmt::format("{}, {}: {}",
                             i == 1  ? "B"
                             : alike ? tr("A (dashed)")
                                     : "A",
                             algorithm_title(runs[i]->request.algorithm, runs[i]->request.problem.pass),
                             memory_sentence(*runs[i], memory[i])));
  ImGui::Dummy({0, std::round(4 * theme.scale)});
}

}  // namespace tilescope
