// Draws the measured rows of the timeline.
#include "app/views/timeline/timeline_measured.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/say.h"
#include "sim/analysis/format.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

const char* stage_text(ProbeStage stage) {
  switch (stage) {
    case ProbeStage::prologue:
      return tr("Load Q, set up");
    case ProbeStage::wait:
      return tr("Wait for a copy");
    case ProbeStage::scores:
      return tr("S = QKᵀ");
    case ProbeStage::copy_k:
      return tr("Start the copy of K");
    case ProbeStage::softmax:
      return tr("softmax");
    case ProbeStage::copy_v:
      return tr("Start the copy of V");
    case ProbeStage::product:
      return tr("O += PV");
    case ProbeStage::store:
      return tr("Store the result");
    case ProbeStage::load:
      return tr("Load and wait");
    case ProbeStage::copy:
      return tr("Start the next copies");
  }
  return "";
}

/// Returns the colours of the simulated rows; a product has the colour of its result.
ImU32 stage_color(const Theme& theme, ProbeStage stage) {
  switch (stage) {
    case ProbeStage::prologue:
      return theme.color(Meaning::query);
    case ProbeStage::wait:
      return with_alpha(theme.text_faint, 0.35F);
    case ProbeStage::scores:
      return theme.color(Meaning::score);
    case ProbeStage::copy_k:
      return theme.color(Meaning::key);
    case ProbeStage::softmax:
      return theme.color(Meaning::probability);
    case ProbeStage::copy_v:
      return theme.color(Meaning::value);
    case ProbeStage::product:
      return theme.color(Meaning::output);
    case ProbeStage::store:
      return theme.color(Meaning::log_sum_exp);
    case ProbeStage::load:
      return theme.color(Meaning::key);
    case ProbeStage::copy:
      return theme.color(Meaning::value);
  }
  return 0;
}

int warps_of(const ProbedSmBlock& block) {
  int most = 0;
  for (const ProbeInterval& interval : block.intervals) most = std::max(most, interval.warp + 1);
  return std::max(1, most);
}

/// Assigns bands: concurrent blocks are stacked, later ones take the first free band.
std::vector<std::size_t> bands_of(const ProbeResult& probe) {
  std::vector<std::size_t> bands;
  std::vector<double> free_from;
  for (const ProbedSmBlock& block : probe.sm_blocks) {
    const auto free = std::find_if(free_from.begin(), free_from.end(), [&](double until) { return until <= block.start_cycles; });
    const auto band = static_cast<std::size_t>(free - free_from.begin());
    if (free == free_from.end()) free_from.push_back(0);
    free_from[band] = block.end_cycles;
    bands.push_back(band);
  }
  return bands;
}

std::string provenance(const KnownProbe& known) {
  const ProbeResult& probe = known.probe;
  std::string text =
      say(known.live ? tr("live on {}, {}, SM {}") : tr("recorded on {}, {}, SM {}"), probe.device, day_of(probe.date), probe.sm);
  if (probe.plain_ns > 0)
    add_line(text, say(tr("Recording made the kernel {} slower"), format_percent(probe.probed_ns / probe.plain_ns - 1)));
  add_line(text, tr("Issue times: a product may still run when the next stage begins."));
  return text;
}

/// Names the loop iteration. flash1 visits all query tiles per key tile; blocks of S and of its softmax have one iteration.
std::string turn_text(const ProbeResult& probe, const ProbedSmBlock& block, const ProbeInterval& interval) {
  const bool looped = probe.launches.size() == 1 || block.launch + 1 == static_cast<int>(probe.launches.size());
  if (!looped) return tr("the whole tile");
  if (probe.kernel != "flash1") return say(tr("key tile {}"), interval.iteration);
  const std::int64_t query_tiles = ceil_div(probe.problem.seq_q, probe.tile.block_q);
  return say(tr("key tile {}, query tile {}"), interval.iteration / query_tiles, interval.iteration % query_tiles);
}

struct Under {
  const ProbedSmBlock* block = nullptr;
  const ProbeInterval* interval = nullptr;
};

void draw_block(ImDrawList* list, const Theme& theme, const TimeWindow& window, const Rect& plot, const Rect& band,
                const ProbedSmBlock& block, Under& under) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float line = band.height() / static_cast<float>(warps_of(block));
  float drawn_to = plot.min.x;
  int warp = -1;
  for (const ProbeInterval& interval : block.intervals) {
    if (interval.end_cycles < window.begin || interval.start_cycles > window.end) continue;
    if (interval.warp != warp) warp = interval.warp, drawn_to = plot.min.x;
    const auto left = static_cast<float>(window.x_of(interval.start_cycles, plot.min.x, plot.width()));
    const auto right = static_cast<float>(window.x_of(interval.end_cycles, plot.min.x, plot.width()));
    const float top = band.min.y + line * static_cast<float>(interval.warp);
    const Rect bar{{std::max(left, plot.min.x), top},
                   {std::min(std::max(right, left + 0.5F), plot.max.x), top + std::max(1.0F, line - 0.5F)}};
    // Draws only the first of the stages that end in the same half pixel, to keep frames fast.
    if (right > drawn_to + 0.5F || drawn_to == plot.min.x) {
      list->AddRectFilled(bar.min, bar.max, stage_color(theme, interval.stage));
      drawn_to = right;
    }
    if (mouse.x >= left && mouse.x < right && mouse.y >= top && mouse.y < top + line) under = {&block, &interval};
  }
}

}  // namespace

float measured_lanes_height(const View& view, float panel_height) {
  if (view.measured.probe == nullptr || view.playback.race || panel_height < 80 * view.theme->scale) return 0;
  return std::round(std::clamp(0.22F * panel_height, 22 * view.theme->scale, 48 * view.theme->scale));
}

double measured_end(const View& view) {
  double end = 0;
  if (view.measured.probe != nullptr && !view.playback.race)
    for (const ProbedSmBlock& block : view.measured.probe->probe.sm_blocks) end = std::max(end, block.end_cycles);
  return end;
}

void draw_measured_lanes(ImDrawList* list, const View& view, const TimeWindow& window, const Rect& gutter, const Rect& plot) {
  const Theme& theme = *view.theme;
  const ProbeResult& probe = view.measured.probe->probe;
  const char* const name = view.measured.probe->live ? tr("live") : tr("recorded");
  draw_text(list, theme.ui_small, gutter, theme.text_dim, name);
  list->AddRectFilled(plot.min, plot.max, with_alpha(theme.inset, 0.6F));
  const std::vector<std::size_t> bands = bands_of(probe);
  const std::size_t count = bands.empty() ? 1 : *std::max_element(bands.begin(), bands.end()) + 1;
  const float gap = std::max(1.0F, std::round(theme.scale)), height = (plot.height() + gap) / static_cast<float>(count);
  Under under;
  for (std::size_t i = 0; i < probe.sm_blocks.size(); ++i) {
    const float top = plot.min.y + height * static_cast<float>(bands[i]);
    draw_block(list, theme, window, plot, {{plot.min.x, top}, {plot.max.x, top + height - gap}}, probe.sm_blocks[i], under);
  }
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || !(plot.contains(mouse) || gutter.contains(mouse))) return;
  if (under.interval == nullptr) return show_tooltip(theme, name, provenance(*view.measured.probe));
  const ProbeInterval& interval = *under.interval;
  std::string body = say(tr("{}: block {}, warp {}"), probe.launches[static_cast<std::size_t>(under.block->launch)].name,
                         under.block->block, interval.warp);
  if (interval.stage != ProbeStage::prologue) add_line(body, turn_text(probe, *under.block, interval));
  add_line(body, say(tr("{} cycles, from {}"), format_cycles(Cycles(interval.end_cycles - interval.start_cycles)),
                     format_cycles(Cycles(interval.start_cycles))));
  add_line(body, provenance(*view.measured.probe));
  show_tooltip(theme, stage_text(interval.stage), body);
}

}  // namespace tilescope
