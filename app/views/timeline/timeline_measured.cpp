// Draws the measured rows of the timeline.
#include "app/views/timeline/timeline_measured.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/say.h"
#include "sim/analysis/format.h"
#include "sim/core/units.h"
#include "sim/programs/backward_tensors.h"

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
    case ProbeStage::wait_empty:
      return tr("Wait for an empty token");
    case ProbeStage::copy_q:
      return tr("Start the copy of Q");
    case ProbeStage::wait_q:
      return tr("Wait for the full token of Q");
    case ProbeStage::wait_k:
      return tr("Wait for the full token of K");
    case ProbeStage::wait_v:
      return tr("Wait for the full token of V");
    case ProbeStage::wait_turn:
      return tr("Wait for its turn");
    case ProbeStage::wait_scores:
      return tr("Wait for S = QKᵀ");
    case ProbeStage::wait_product:
      return tr("Wait for O += PV");
    case ProbeStage::rescale:
      return tr("O = α O, round P");
    case ProbeStage::wait_groups:
      return tr("Wait for the other group");
    case ProbeStage::ticket:
      return tr("Wait for a ticket");
    case ProbeStage::row_dots:
      return tr("D = rowsum(dO ∘ O)");
    case ProbeStage::pairs:
      return tr("S, P, dP, dS, and their products");
    case ProbeStage::other_half:
      return tr("dV and dK, from the other warp's P and dS");
    case ProbeStage::d_q_part:
      return tr("dQ_acc += dS K");
    case ProbeStage::convert:
      return tr("dQ = dQ_acc");
  }
  return "";
}

/// Returns the colours of the simulated rows; a product has the colour of its result, and the wait for it a paler one.
ImU32 stage_color(const Theme& theme, ProbeStage stage) {
  constexpr float waiting = 0.35F, running = 0.6F;
  const auto wait = [&](WaitCause cause) { return with_alpha(theme.wait[static_cast<std::size_t>(cause)], waiting); };
  switch (stage) {
    case ProbeStage::prologue:
      return theme.color(Meaning::query);
    case ProbeStage::wait:
      return with_alpha(theme.text_faint, waiting);
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
    case ProbeStage::wait_empty:
      return wait(WaitCause::buffer);
    case ProbeStage::copy_q:
      return theme.color(Meaning::query);
    case ProbeStage::wait_q:
    case ProbeStage::wait_k:
    case ProbeStage::wait_v:
      return wait(WaitCause::data);
    case ProbeStage::wait_turn:
    case ProbeStage::wait_groups:
      return wait(WaitCause::barrier);
    case ProbeStage::wait_scores:
      return with_alpha(theme.color(Meaning::score), running);
    case ProbeStage::wait_product:
      return with_alpha(theme.color(Meaning::output), running);
    case ProbeStage::rescale:
      return theme.color(Meaning::row_max);
    case ProbeStage::ticket:
      return wait(WaitCause::launch);
    case ProbeStage::row_dots:
      return theme.color(tensors::row_dot);
    case ProbeStage::pairs:
      return theme.color(tensors::d_s);
    case ProbeStage::other_half:
      return theme.color(tensors::d_k);
    case ProbeStage::d_q_part:
    case ProbeStage::convert:
      return theme.color(tensors::d_q);
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

std::string provenance(const KnownProbe& known, const View& view) {
  const ProbeResult& probe = known.probe;
  std::string text =
      say(known.live ? tr("live on {}, {}, SM {}") : tr("recorded on {}, {}, SM {}"), probe.device, day_of(probe.date), probe.sm);
  if (const std::string cost = probe_cost(probe.probed_ns, probe.plain_ns); !cost.empty()) add_line(text, cost);
  if (const std::string against = against_plain(view, probe); !against.empty()) add_line(text, against);
  add_line(text, tr("Issue times: a product may still run when the next stage begins."));
  return text;
}

/// Returns whether a stage of a backward kernel belongs to one pair of tiles. With one launch, as in flash1_backward, dQ is stored
/// after each.
bool is_of_pair(ProbeStage stage, std::size_t launches) {
  using enum ProbeStage;
  return stage == wait || stage == load || stage == pairs || stage == other_half || stage == d_q_part ||
         (stage == store && launches == 1);
}

/// Names the loop iteration. A block of several query tiles, as in flash1, visits them all per key tile; blocks of S and of its
/// softmax have one iteration.
std::string turn_text(const Simulation& simulation, const ProbeResult& probe, const ProbedSmBlock& block,
                      const ProbeInterval& interval) {
  if (!probe.roles.empty()) return say(tr("key tile visit {} of the thread block"), interval.iteration);
  const std::optional<Domain> domain = simulation.program->domain_of(block.launch, block.block);
  const bool is_last = block.launch + 1 == static_cast<int>(probe.launches.size());
  const bool owns_keys = domain && domain->axis == Axis::key;
  const bool looped =
      probe.pairs.empty() ? probe.launches.size() == 1 || is_last : owns_keys && is_of_pair(interval.stage, probe.launches.size());
  if (!looped) return tr("the whole tile");
  if (owns_keys) return say(tr("query tile visit {} of the thread block"), interval.iteration);
  const std::int64_t query_tiles = domain && domain->axis == Axis::query ? ceil_div(domain->count, probe.tile.block_q) : 1;
  if (query_tiles == 1) return say(tr("key tile {}"), interval.iteration);
  return say(tr("key tile {}, query tile {}"), interval.iteration / query_tiles, interval.iteration % query_tiles);
}

struct Under {
  const ProbedSmBlock* block = nullptr;
  const ProbeInterval* interval = nullptr;
};

/// Where the lines of a block are: that of warp or role w begins at `top + w * step`.
struct BlockLines {
  float top = 0, step = 0, height = 0;
};

void draw_block(ImDrawList* list, const Theme& theme, const TimeWindow& window, const Rect& plot, const BlockLines& lines,
                const ProbedSmBlock& block, Under& under) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  float drawn_to = plot.min.x;
  int warp = -1;
  for (const ProbeInterval& interval : block.intervals) {
    if (interval.end_cycles < window.begin || interval.start_cycles > window.end) continue;
    if (interval.warp != warp) warp = interval.warp, drawn_to = plot.min.x;
    const auto left = static_cast<float>(window.x_of(interval.start_cycles, plot.min.x, plot.width()));
    const auto right = static_cast<float>(window.x_of(interval.end_cycles, plot.min.x, plot.width()));
    const float top = lines.top + lines.step * static_cast<float>(interval.warp);
    const Rect bar{{std::max(left, plot.min.x), top},
                   {std::min(std::max(right, left + 0.5F), plot.max.x), top + std::max(1.0F, lines.height - 0.5F)}};
    // Draws only the first of the stages that end in the same half pixel, to keep frames fast.
    if (right > drawn_to + 0.5F || drawn_to == plot.min.x) {
      list->AddRectFilled(bar.min, bar.max, stage_color(theme, interval.stage));
      drawn_to = right;
    }
    if (mouse.x >= left && mouse.x < right && mouse.y >= top && mouse.y < top + lines.height) under = {&block, &interval};
  }
}

/// Returns whether a stage belongs to one key tile.
bool is_of_key_tile(ProbeStage stage) {
  using enum ProbeStage;
  return stage != prologue && stage != copy_q && stage != wait_q && stage != ticket && stage != store;
}

}  // namespace

std::string probe_cost(double probed_ns, double plain_ns) {
  if (probed_ns <= 0 || plain_ns <= 0) return {};
  return say(tr("recorded with the probe: {}; without: {}"), format_time(Nanoseconds(probed_ns)),
             format_time(Nanoseconds(plain_ns)));
}

std::string against_plain(const View& view, const ProbeResult& probe) {
  const RunUnderLoad* const loaded = view.studies != nullptr ? view.studies->under_load.get() : nullptr;
  if (loaded == nullptr || !loaded->probed || &loaded->probed->recorded->probe != &probe) return {};
  const auto& time = loaded->probed;
  return say(tr("simulated {} at the recorded clock, {} against the time without the probe"),
             format_time(Nanoseconds(time->simulated_ns)), format_signed_percent(time->error()));
}

float measured_lanes_height(const View& view, float panel_height) {
  const float scale = view.theme->scale;
  if (view.measured.probe == nullptr || view.playback.race || panel_height < 80 * scale) return 0;
  const auto roles = static_cast<float>(view.measured.probe->probe.roles.size());
  const float wanted = roles > 0 ? std::min(0.4F * panel_height, (roles + 1) * 1.05F * view.theme->ui_small->FontSize + 4 * scale)
                                 : std::clamp(0.22F * panel_height, 22 * scale, 48 * scale);
  return std::round(std::max(wanted, 22 * scale));
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
  const std::vector<std::size_t> bands = bands_of(probe);
  const std::size_t count = bands.empty() ? 1 : *std::max_element(bands.begin(), bands.end()) + 1;
  const float gap = std::max(1.0F, std::round(theme.scale)), parts = static_cast<float>(count);
  Under under;
  if (probe.roles.empty()) {  // a band per block, a line per warp
    draw_text(list, theme.ui_small, gutter, theme.text_dim, name);
    list->AddRectFilled(plot.min, plot.max, with_alpha(theme.inset, 0.6F));
    const float height = (plot.height() + gap) / parts;
    for (std::size_t i = 0; i < probe.sm_blocks.size(); ++i) {
      const float line = (height - gap) / static_cast<float>(warps_of(probe.sm_blocks[i]));
      draw_block(list, theme, window, plot, {plot.min.y + height * static_cast<float>(bands[i]), line, line}, probe.sm_blocks[i],
                 under);
    }
  } else {  // a band per role, a line per block; above them what was recorded
    const auto roles = static_cast<float>(probe.roles.size());
    const float height = (plot.height() + gap) / (roles + 1), first = plot.min.y + height, line = (height - gap) / parts;
    const Rect heading{{gutter.min.x, plot.min.y}, {plot.max.x, first}};
    std::string text = where_from(view.measured.probe->live, probe.device, probe.date);
    for (const std::string& more : {probe_cost(probe.probed_ns, probe.plain_ns), against_plain(view, probe)})
      if (std::string longer = fmt::format("{}. {}", text, more);
          !more.empty() && text_width(theme.ui_small, longer) <= heading.width())
        text = std::move(longer);
    draw_text(list, theme.ui_small, heading, theme.text_dim, text);
    for (std::size_t role = 0; role < probe.roles.size(); ++role) {
      const float top = first + height * static_cast<float>(role);
      list->AddRectFilled({plot.min.x, top}, {plot.max.x, top + height - gap}, with_alpha(theme.inset, 0.6F));
      draw_text(list, theme.ui_small, {{gutter.min.x, top}, {gutter.max.x, top + height - gap}}, theme.text_dim,
                translated(probe.roles[role]));
    }
    for (std::size_t i = 0; i < probe.sm_blocks.size(); ++i)
      draw_block(list, theme, window, plot, {first + line * static_cast<float>(bands[i]), height, line}, probe.sm_blocks[i], under);
  }
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!ImGui::IsWindowHovered() || !(plot.contains(mouse) || gutter.contains(mouse))) return;
  if (under.interval == nullptr) return show_tooltip(theme, name, provenance(*view.measured.probe, view));
  const ProbeInterval& interval = *under.interval;
  const std::string& launch = probe.launches[static_cast<std::size_t>(under.block->launch)].name;
  std::string body = probe.roles.empty() ? say(tr("{}: block {}, warp {}"), launch, under.block->block, interval.warp)
                                         : say(tr("{}: block {}, {}"), launch, under.block->block,
                                               translated(probe.roles[static_cast<std::size_t>(interval.warp)]));
  if (probe.roles.empty() ? interval.stage != ProbeStage::prologue : is_of_key_tile(interval.stage))
    add_line(body, turn_text(*view.lane().simulation, probe, *under.block, interval));
  add_line(body, say(tr("{} cycles, from {}"), format_cycles(Cycles(interval.end_cycles - interval.start_cycles)),
                     format_cycles(Cycles(interval.start_cycles))));
  add_line(body, provenance(*view.measured.probe, view));
  show_tooltip(theme, stage_text(interval.stage), body);
}

}  // namespace tilescope
