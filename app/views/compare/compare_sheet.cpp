// Puts a comparison into rows.
#include "app/views/compare/compare_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/ratio_errors.h"
#include "app/model/run_data/comparison_text.h"
#include "app/ui/language.h"
#include "app/ui/say.h"
#include "app/ui/short_line.h"
#include "app/views/algorithm_style.h"
#include "app/views/chrome.h"
#include "app/views/error_words.h"
#include "app/views/mask/mask_words.h"
#include "app/views/outcome_words.h"
#include "app/views/timeline/timeline_hover.h"
#include "sim/analysis/format.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/validation.h"
#include "sim/programs/occupancy.h"

namespace tilescope {

namespace {

std::string setting_name(std::string_view key) {
  constexpr std::array settings = {Setting::batch,    Setting::heads,     Setting::kv_heads,  Setting::seq,       Setting::seq_kv,
                                   Setting::head_dim, Setting::dtype,     Setting::pass,      Setting::block_q,   Setting::block_kv,
                                   Setting::stages,   Setting::key_order, Setting::page_size, Setting::page_order};
  for (const Setting setting : settings)
    if (to_string(setting) == key) return control_name(setting);
  if (key == "algorithm") return tr("Algorithm");
  if (key == "gpu") return tr("GPU");
  if (key == "mask") return tr("Mask");
  if (key == "score") return tr("Score change");
  if (key == "block_order") return tr("Block order");
  return std::string(key);  // a number of the GPU
}

std::string setting_text(std::string_view key, const std::string& value) {
  if (value.empty()) return tr("none");
  return key == "algorithm" ? algorithm_title(value) : value;
}

const char* link_name(Link link) {
  switch (link) {
    case Link::hbm_read:
      return tr("HBM read");
    case Link::hbm_write:
      return tr("HBM write");
    case Link::l2_to_sm:
      return tr("L2→SM");
    case Link::sm_to_l2:
      return tr("SM→L2");
    case Link::smem_read:
      return tr("Shared memory read");
    case Link::smem_write:
      return tr("Shared memory write");
    case Link::peer_read:
      return tr("Read from another device");
  }
  return "";
}

std::string figure_name(const ComparedFigure& f, BusyWith busy) {
  switch (f.figure) {
    case RunFigure::time:
      return tr("Time");
    case RunFigure::cycles:
      return tr("SM cycles");
    case RunFigure::balanced_time:
      return tr("Least time with perfect balance");
    case RunFigure::flops:
      return "FLOP";
    case RunFigure::exps:
      return tr("Exponentials");
    case RunFigure::link_bytes:
      return say(tr("{}, all tensors"), link_name(f.link));
    case RunFigure::tensor_bytes:
      return fmt::format("{}, {}", formula_text(to_string(f.tensor)), link_name(f.link));
    case RunFigure::flushed_bytes:
      return tr("HBM write, after a flush");
    case RunFigure::busy:
      return bound_name(f.bound);
    case RunFigure::launch_cycles:
      return say(tr("{}: SM cycles"), f.launch);
    case RunFigure::launch_blocks:
      return say(tr("{}: blocks"), f.launch);
    case RunFigure::waves:
      return say(tr("{}: waves"), f.launch);
    case RunFigure::tiles_per_block:
      return say(tr("{}: tiles per block"), f.launch);
    case RunFigure::threads:
      return say(tr("{}: threads per block"), f.launch);
    case RunFigure::registers:
      return say(tr("{}: registers per thread"), f.launch);
    case RunFigure::shared_bytes:
      return say(tr("{}: shared memory per block"), f.launch);
    case RunFigure::stages:
      return say(tr("{}: K, V buffers"), f.launch);
    case RunFigure::blocks_per_sm:
      return say(tr("{}: blocks per SM"), f.launch);
    case RunFigure::peak_hbm:
      return tr("HBM for all tensors");
    case RunFigure::extra_hbm:
      return tr("HBM beyond inputs and outputs");
    case RunFigure::wait_cycles:
      return cause_text(f.cause, busy);
  }
  return {};
}

CompareRow row_of(const ComparedFigure& f, const RunComparison& comparison, BusyWith busy) {
  FigureTexts texts = texts_of(f, comparison);
  CompareRow row;
  row.name = figure_name(f, busy);
  row.tensor = f.tensor;
  const bool bytes = group_of(f.figure) == FigureGroup::bytes;
  const auto exact = [&](const std::optional<double>& value, const std::string& shown) {
    return value && bytes ? exact_bytes_text(*value) : shown;
  };
  row.details = fmt::format("A: {}", exact(f.first, texts.first));
  add_line(row.details, fmt::format("B: {}", exact(f.second, texts.second)));
  if (texts.is_range)
    add_line(row.details, tr("From as many shared lookups as the model has to none. The hardware is between both."));
  row.first = std::move(texts.first);
  row.second = std::move(texts.second);
  row.difference = texts.is_points && !texts.difference.empty() ? say(tr("{} pp"), texts.difference) : std::move(texts.difference);
  row.ratio = std::move(texts.ratio);
  if (!row.difference.empty() && less_is_better(f.figure))
    row.tone = f.difference() < 0 ? CompareRow::Tone::better : CompareRow::Tone::worse;
  return row;
}

const char* limit_name(Occupancy::Limit limit) {
  switch (limit) {
    case Occupancy::Limit::blocks:
      return tr("blocks");
    case Occupancy::Limit::threads:
      return tr("threads");
    case Occupancy::Limit::registers:
      return tr("registers");
    case Occupancy::Limit::shared:
      return tr("shared memory");
  }
  return "";
}

/// "registers", what stops an SM from holding more blocks of a launch.
std::string limit_text(const Simulation& run, std::string_view launch) {
  for (const LaunchSpec& spec : run.program->launches()) {
    if (spec.name != launch) continue;
    const Result<Occupancy> fits = occupancy(*run.program, spec, run.request.gpu);
    return fits ? limit_name(fits->limit) : "–";
  }
  return "–";
}

const char* group_title(FigureGroup group) {
  switch (group) {
    case FigureGroup::time:
      return tr("Time and work");
    case FigureGroup::bytes:
      return tr("Bytes per tensor and link");
    case FigureGroup::busy:
      return tr("Busy: units of an SM, of the SM time with a block; HBM and L2, of the run");
    case FigureGroup::launches:
      return tr("Launches");
    case FigureGroup::on_chip:
      return tr("On-chip needs and memory");
    case FigureGroup::waits:
      return tr("Waits on the SM in focus, cycles of all its blocks");
  }
  return "";
}

CompareSection settings_of(const RunComparison& comparison) {
  CompareSection section;
  section.title = tr("Settings");
  for (const SettingDifference& setting : comparison.settings)
    section.differing.push_back(
        {setting_name(setting.key),
         {},
         setting_text(setting.key, setting.first),
         setting_text(setting.key, setting.second),
         {},
         {},
         CompareRow::Tone::plain,
         fmt::format("{} → {}", setting_text(setting.key, setting.first), setting_text(setting.key, setting.second))});
  section.more_equal = comparison.equal_settings;
  return section;
}

CompareRow bound_row(const RunComparison& comparison) {
  CompareRow row;
  row.name = tr("Busiest");
  const Simulation &first = *comparison.first, &second = *comparison.second;
  row.first = bound_text(first.bound, first.sms);
  row.second = bound_text(second.bound, second.sms);
  row.details = fmt::format("{} → {}", row.first, row.second);
  return row;
}

double bytes_over(const Simulation& run, Link up, Link down) {
  return static_cast<double>(run.ledger.total(up).value + run.ledger.total(down).value);
}

std::string change_text(double now, double before) {
  if (now == before) return tr("same");
  if (before <= 0 || now <= 0) return figure_text(RunFigure::link_bytes, now);
  return ratio_text({.figure = RunFigure::link_bytes, .first = before, .second = now});
}

/// How far predicted times of both programs were off.
std::string errors_of_both(const Measurements& known, const Simulation& first, const Simulation& second) {
  const auto of = [&](const Simulation& run) { return time_errors_text(time_errors_of(known, predicted(run)), run.request); };
  const std::string a = of(first), b = of(second);
  return a == b ? a : fmt::format("A: {} B: {}", a, b);
}

/// "1.4× faster: 2.25 µs ±5.7 % instead of 3.15 µs ±4.1 %"; one figure where both read the same. `error` follows the ratio:
/// " (±4.5 %)".
std::string time_text(const Simulation& now, const Simulation& before, const std::string& error, const Measurements& known) {
  const std::string after = predicted_time_text(now, known), first = predicted_time_text(before, known);
  if (after == first) return say(tr("Same time: {}"), after) + error;
  std::string speed = speed_text(now.time.value, before.time.value);
  if (speed == tr("same time")) speed = say(tr("Time {}"), format_signed_percent(now.time.value / before.time.value - 1));
  return say(tr("{}: {} instead of {}"), speed + error, after, first);
}

std::string named(const SimulationRequest& request, const std::map<std::string, double, std::less<>>& spec_values) {
  std::string name = fmt::format("{}, {}", algorithm_title(request.algorithm), short_text(request.problem));
  const auto add = [&](const std::string& part) { name += ", " + part; };
  if (request.tile) add(fmt::format("{}×{}", request.tile->block_q, request.tile->block_kv));
  if (request.tile && request.tile->stages > 0) add(say(tr("{} buffers"), request.tile->stages));
  add(request.gpu.id);
  for (const auto& [key, value] : spec_values) {
    const SpecKey* const row = find_spec_key(key);
    add(fmt::format("{} {}", key, row != nullptr ? spec_value_text(*row, value) : fmt::format("{:g}", value)));
  }
  for (const std::string& preset : request.masking.presets) add(preset_words(preset));
  for (const std::string& mask : request.masking.masks) add(mask);
  if (!request.masking.score.empty()) add(request.masking.score);
  if (request.blocks_per_sm)
    add(say(*request.blocks_per_sm == 1 ? tr("{} block per SM") : tr("{} blocks per SM"), *request.blocks_per_sm));
  if (request.block_order != BlockOrder::launch) add(std::string(to_string(request.block_order)));
  if (request.key_order != KeyOrder::ascending) add(std::string(to_string(request.key_order)));
  return name;
}

}  // namespace

std::string run_title(const Simulation& simulation) {
  const ProgramTile& tile = simulation.program->tile();
  return say(tr("{}, {}, {}×{} on {}"), translated(simulation.info->title), short_text(simulation.request.problem), tile.block_q,
             tile.block_kv, simulation.request.gpu.id);
}

std::string run_name(const WindowState& state) {
  SimulationRequest request;
  request.algorithm = state.algorithm;
  request.gpu.id = state.gpu.substr(state.gpu.rfind('/') + 1);
  request.problem = state.problem;
  request.tile = state.tile;
  request.blocks_per_sm = state.blocks_per_sm;
  request.block_order = state.block_order;
  request.key_order = state.key_order;
  request.masking.masks = state.masks;
  request.masking.presets = state.presets;
  request.masking.score = state.score;
  return named(request, state.spec_values);
}

std::string run_name(const SimulationRequest& request) {
  return named(request, changed_values(request.gpu));
}

std::string run_difference_text(const Simulation& first, const Simulation& second, const Measurements& known) {
  const Result<RatioErrors> errors = ratio_errors_of(known, predicted(first), predicted(second));
  const auto is_recorded = [&](const Simulation& run) {
    return std::ranges::any_of(known.bundles, [&](const auto& each) { return each->bundle.gpu == run.request.gpu.id; });
  };
  // On a GPU of which nothing is recorded no time has an error.
  const std::string error = errors                                      ? fmt::format(" (±{})", format_percent(errors->mean))
                            : is_recorded(first) && is_recorded(second) ? tr(" (error unknown)")
                                                                        : "";
  return say(tr("{}. HBM bytes: {}. L2↔SM bytes: {}"), time_text(second, first, error, known),
             change_text(bytes_over(second, Link::hbm_read, Link::hbm_write), bytes_over(first, Link::hbm_read, Link::hbm_write)),
             change_text(bytes_over(second, Link::l2_to_sm, Link::sm_to_l2), bytes_over(first, Link::l2_to_sm, Link::sm_to_l2)));
}

CompareSheet compare_sheet(const RunComparison& comparison, const Measurements& known) {
  const Simulation &first = *comparison.first, &second = *comparison.second;
  CompareSheet sheet;
  sheet.finding = run_difference_text(first, second, known);
  sheet.detail = fmt::format("A: {}. B: {}.", run_title(first), run_title(second));
  const double clock = first.request.gpu.sm_clock_hz, clock_of_second = second.request.gpu.sm_clock_hz;
  sheet.detail +=
      ' ' + (clock == clock_of_second ? say(tr("Both at {}."), format_clock(clock))
                                      : say(tr("A at {}, B at {}."), format_clock(clock), format_clock(clock_of_second)));

  sheet.detail += ' ' + errors_of_both(known, first, second);
  if (const Sentence ratio =
          ratio_errors_sentence(known, predicted(first), predicted(second), algorithm_title(first.request.algorithm),
                                algorithm_title(second.request.algorithm));
      !ratio.empty())
    sheet.detail += ' ' + say(ratio);

  const BusyWith busy = either(busy_with(first), busy_with(second));
  sheet.sections.push_back(settings_of(comparison));
  for (const FigureGroup group : all_figure_groups) {
    CompareSection section;
    section.title = group_title(group);
    for (const ComparedFigure& figure : comparison.of(group)) {
      CompareRow row = row_of(figure, comparison, busy);
      if (figure.figure == RunFigure::blocks_per_sm)
        add_line(row.details,
                 say(tr("Limited by {} (A), {} (B)"), limit_text(first, figure.launch), limit_text(second, figure.launch)));
      (figure.equal() ? section.equal : section.differing).push_back(std::move(row));
    }
    if (group == FigureGroup::time) {
      auto& rows = first.bound == second.bound && first.sms == second.sms ? section.equal : section.differing;
      rows.insert(rows.begin(), bound_row(comparison));
    }
    if (!section.differing.empty() || section.equal_count() > 0) sheet.sections.push_back(std::move(section));
  }
  return sheet;
}

}  // namespace tilescope
