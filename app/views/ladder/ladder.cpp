// The ladder panel: FlashAttention-2 and the rungs to Hopper on the problem that is shown, a bar a rung, simulated and measured.
//
//   ┌ finding, how to read it, measured shapes ──────────────┐
//   │ rung   figures │ title            step through, copy ✕ │
//   │ ▬▬▬▬▬          │ kernels/hopper_causal/tickets.cuh     │
//   │ rung   figures │   1 + // Tickets: query tiles …       │
//   └────────────────┴───────────────────────────────────────┘   without a chosen rung the bars have all the room
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/measurements/ratio_errors.h"
#include "app/model/measurements/time_errors.h"
#include "app/model/requests/own_tile.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/ui/tab_stops.h"
#include "app/views/algorithm_style.h"
#include "app/views/beside_run.h"
#include "app/views/error_words.h"
#include "app/views/ladder/ladder_code.h"
#include "app/views/outcome_words.h"
#include "app/views/panels.h"
#include "app/views/study_panel.h"
#include "sim/analysis/format.h"
#include "sim/analysis/what_if.h"
#include "sim/programs/programs.h"

namespace tilescope {
namespace {

/// What a row shows of a rung. Rungs compare by FLOP per cycle: each was recorded at another clock.
struct Row {
  const LadderRung* rung = nullptr;
  double clock_hz = 0;                     // that of all rungs
  double simulated = 0, measured = 0;      // FLOP per cycle; 0: unknown
  const LadderRung* base = nullptr;        // the rung that it builds on, once that is simulated
  double before = 0, measured_before = 0;  // cycles of the base; 0: unknown
  const MeasuredCase* found = nullptr;
  std::optional<Result<FigureErrors>> errors = {};  // of such predicted times; absent before the rung is simulated

  std::string error() const { return errors ? error_mark(*errors) : std::string(); }
  double simulated_rate() const { return simulated * clock_hz; }  // FLOP/s
  double measured_rate() const { return measured * clock_hz; }
};

/// The clock of all rungs.
double clock_of(const LadderStudy& study) {
  return study.clock && study.clock->hz > 0 ? study.clock->hz : study.of.gpu.sm_clock_hz;
}

double per_cycle(double flops, double cycles) {
  return cycles > 0 ? flops / cycles : 0;
}

/// The FLOP that all rungs are rated by: those of simulate's TFLOP/s or, where they were not counted, those of the visited tiles.
double rated_flops(const LadderStudy& study) {
  std::vector<double> computed;
  for (const LadderRung& rung : study.rungs) {
    if (!rung.outcome || !rung.outcome->done()) continue;
    if (rung.outcome->useful_flops > 0) return rung.outcome->useful_flops;
    computed.push_back(rung.outcome->flops);
  }
  return needed_flops(study.of.problem, computed);
}

SimulationRequest request_of(const LadderStudy& study, const LadderRung& rung) {
  SimulationRequest request = study.of;
  request.algorithm = rung.algorithm;
  take_own_tile(request);
  return request;
}

std::vector<Row> rows_of(const View& view, const LadderStudy& study) {
  const double flops = rated_flops(study);
  std::vector<Row> rows;
  for (const LadderRung& rung : study.rungs) {
    Row row;
    row.rung = &rung;
    row.clock_hz = clock_of(study);
    if (rung.outcome && rung.outcome->done()) {
      row.simulated = per_cycle(flops, rung.outcome->cycles);
      if (view.measured.known != nullptr) {
        const SimulationRequest request = request_of(study, rung);
        row.errors = time_errors_of(*view.measured.known, predicted(request, *rung.outcome));
        row.found = find_case_in_any_tile(*view.measured.known, study.of.gpu, rung.algorithm, study.of.problem);
      }
      if (row.found != nullptr) row.measured = per_cycle(flops, row.found->cycles.median);
    }
    const auto over = std::ranges::find_if(rows, [&](const Row& earlier) { return earlier.rung->algorithm == rung.over; });
    if (over != rows.end() && over->simulated > 0) row.base = over->rung, row.before = over->rung->outcome->cycles;
    if (over != rows.end() && over->found != nullptr) row.measured_before = over->found->cycles.median;
    rows.push_back(row);
  }
  return rows;
}

/// The rows of the study that is shown. Their errors are looked up in hundreds of recorded runs, so they are kept.
struct KeptRows {
  std::shared_ptr<const LadderStudy> of;
  std::vector<std::shared_ptr<const KnownBundle>> known;
  std::vector<Row> rows;
};

const std::vector<Row>& rows_of(const View& view) {
  auto& kept = panel_state<KeptRows>("ladder rows");
  const std::shared_ptr<const LadderStudy>& study = view.studies->ladder;
  const auto known = view.measured.known != nullptr ? view.measured.known->bundles : decltype(kept.known)();
  if (kept.of != study || kept.known != known) kept = {study, known, rows_of(view, *study)};
  return kept.rows;
}

double idle_share(const LadderRung& rung) {
  return std::accumulate(rung.tensor_idle.begin(), rung.tensor_idle.end(), 0.0);
}

bool has_idle_of_base(const Row& row) {
  return row.base != nullptr && idle_share(*row.base) > 0;
}

/// Returns "38 %, softmax 34 → 20 %": how long the tensor cores idle, and the cause of it that lost most against the base.
std::string idle_figure(const Row& row) {
  if (idle_share(*row.rung) <= 0) return {};
  std::string text = format_percent(idle_share(*row.rung));
  if (!has_idle_of_base(row)) return text;
  const auto lost = [&](std::size_t cause) { return row.base->tensor_idle[cause] - row.rung->tensor_idle[cause]; };
  std::size_t most = 0;
  for (std::size_t cause = 1; cause < bubble_causes; ++cause)
    if (lost(cause) > lost(most)) most = cause;
  constexpr double least = 0.005;
  if (lost(most) < least) return text;
  return text + fmt::format(", {} {} → {}", translated(to_string(static_cast<BubbleCause>(most))),
                            format_percent(row.base->tensor_idle[most]), format_percent(row.rung->tensor_idle[most]));
}

/// The same for the tooltip: every cause, of the base and of the rung.
std::string idle_tip(const Row& row) {
  const bool has_base = has_idle_of_base(row);
  const auto change = [&](double before, double now) {
    return has_base ? format_percent(before) + " → " + format_percent(now) : format_percent(now);
  };
  std::string causes;
  for (std::size_t cause = 0; cause < bubble_causes; ++cause) {
    const double now = row.rung->tensor_idle[cause], before = has_base ? row.base->tensor_idle[cause] : 0;
    if (std::max(now, before) < 0.0005) continue;
    causes += fmt::format("{}{} {}", causes.empty() ? "" : ", ", translated(to_string(static_cast<BubbleCause>(cause))),
                          change(before, now));
  }
  return say(tr("Tensor cores idle {}: {}"), change(has_base ? idle_share(*row.base) : 0, idle_share(*row.rung)), causes);
}

/// Says why idle and busy are not the whole: a product that is under way need not fill the pipes.
std::string occupied_tip(const Row& row) {
  const double occupied = row.rung->outcome->utilisation[static_cast<std::size_t>(Bound::tensor)];
  return say(tr("Tensor pipes occupied {}, on average over the SMs. In the rest of the time a product is under way, such as at its "
                "start and end, and does not fill them. Idle time is of SM 0."),
             format_percent(occupied));
}

/// FLOP per cycle of all SMs.
double peak(const GpuSpec& gpu) {
  return gpu.product_flops_per_cycle(ProductInstruction::wgmma) * gpu.sm_count;
}

/// The unit of rates of which the fastest is `most`: a toy has no TFLOP/s.
struct RateUnit {
  double size;
  const char* name;
};
RateUnit unit_of(double most) {
  return most >= 1e12 ? RateUnit{1e12, "TFLOP/s"} : RateUnit{1e9, "GFLOP/s"};
}
std::string rate_figure(double rate, const RateUnit& unit) {
  return fmt::format("{:.0f}", rate / unit.size);
}

/// "655 TFLOP/s ±5.7 %": a predicted rate, whose error is that of the time.
std::string predicted_rate(const Row& row, const RateUnit& unit) {
  const std::string error = row.error();
  return fmt::format("{} {}{}{}", rate_figure(row.simulated_rate(), unit), unit.name, error.empty() ? "" : " ", error);
}

/// The same for a column, whose heading has the unit.
std::string simulated_figure(const Row& row, const RateUnit& unit, bool is_brief) {
  const std::string error = is_brief ? std::string() : row.error();
  return rate_figure(row.simulated_rate(), unit) + (error.empty() ? "" : " " + error);
}

std::string sizes_text(const AttentionProblem& p) {
  const std::string heads = p.heads == p.kv_heads ? std::to_string(p.heads) : fmt::format("{}/{}", p.heads, p.kv_heads);
  const std::string length = p.seq_q == p.seq_kv ? std::to_string(p.seq_q) : fmt::format("{}×{}", p.seq_q, p.seq_kv);
  return fmt::format("B {} H {} N {} d {} {}", p.batch, heads, length, p.head_dim, to_string(p.dtype));
}

/// Says why no rung gains here: the problem has fewer queries than a rung's tile, or fewer blocks than the GPU has SMs. Empty where
/// neither is so.
std::string too_small(const LadderStudy& study, const std::vector<Row>& rows) {
  std::int64_t rows_of_tile = 0;
  bool idle = false;
  for (const Row& row : rows) {
    if (row.rung->over.empty() || !row.rung->outcome || !row.rung->outcome->done()) continue;
    rows_of_tile = std::max<std::int64_t>(rows_of_tile, row.rung->outcome->tile.block_q);
    const SmUse& sms = row.rung->outcome->sms;
    idle = idle || (sms.many_idle() && sms.never_used());
  }
  if (rows_of_tile > study.of.problem.seq_q)
    return say(tr("The problem is too small: tiles of the rungs have up to {} queries, and it has {}"), rows_of_tile,
               study.of.problem.seq_q);
  return idle ? tr("The problem is too small: its blocks are too few for the SMs") : std::string();
}

/// The rungs whose simulated cycles differ from those of `best` by no more than ratios of both are off on average: no rung wins
/// there. Where that is unknown, by no more than noise.
std::vector<const Row*> simulated_ties(const View& view, const LadderStudy& study, const std::vector<Row>& rows, const Row& best) {
  std::vector<const Row*> ties;
  for (const Row& row : rows) {
    if (row.rung == best.rung || row.simulated <= 0) continue;
    double off = least_difference;
    if (view.measured.known != nullptr)
      if (const SimulationRequest of_best = request_of(study, *best.rung), of_row = request_of(study, *row.rung);
          const auto errors =
              ratio_errors_of(*view.measured.known, predicted(of_best, *best.rung->outcome), predicted(of_row, *row.rung->outcome)))
        off = std::max(off, errors->mean);
    if (best.simulated / row.simulated - 1 <= off) ties.push_back(&row);
  }
  return ties;
}

/// The rungs whose repeated measurements overlap those of `best`.
std::vector<const Row*> measured_ties(const std::vector<Row>& rows, const Row& best) {
  std::vector<const Row*> ties;
  for (const Row& row : rows)
    if (row.rung != best.rung && row.found != nullptr && row.found->cycles.least <= best.found->cycles.most) ties.push_back(&row);
  return ties;
}

const char* within_error() {
  return tr(". Within the model's error of it: {}");
}

/// Appends `pattern` with the titles of the rungs; nothing where there is none.
void add_ties(std::string& text, const char* pattern, const std::vector<const Row*>& ties) {
  std::string names;
  for (const Row* row : ties) {
    if (!names.empty()) names += ", ";
    names += algorithm_title(row->rung->algorithm);
  }
  if (!names.empty()) text += say(pattern, names);
}

std::string finding(const View& view, const LadderStudy& study, const std::vector<Row>& rows, const RateUnit& unit) {
  if (study.done() < study.rungs.size()) return tr("Simulating the rungs…");
  const Row& first = rows.front();
  const auto best =
      std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.simulated < b.simulated; });
  if (first.simulated <= 0) return say(first.rung->outcome->refusal);
  if (peak(study.of.gpu) <= 0) return say(tr("{} has no wgmma: the rungs need an h100 or an h200"), study.of.gpu.id);
  const auto measured =
      std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.measured < b.measured; });
  const auto ties = simulated_ties(view, study, rows, *best);
  // A rung that was measured alone, or without the one that is fastest in the model, has won against nothing.
  const auto measured_count = std::ranges::count_if(rows, [](const Row& row) { return row.measured > 0; });
  if (measured_count > 1 && best->measured > 0) {
    std::string lead = say(tr("Fewest cycles measured: {}, {} at {}"), algorithm_title(measured->rung->algorithm),
                           rate_figure(measured->measured_rate(), unit) + " " + unit.name, format_clock(measured->clock_hz));
    add_ties(lead, tr(" (the runs overlap with {})"), measured_ties(rows, *measured));
    std::string text = best->rung == measured->rung ? say(tr("{}. Fewest simulated, too: {}"), lead, predicted_rate(*best, unit))
                                                    : say(tr("{}. Fewest simulated: {}, {}"), lead,
                                                          algorithm_title(best->rung->algorithm), predicted_rate(*best, unit));
    add_ties(text, within_error(), ties);
    return text;
  }
  if (best == rows.begin()) {
    const std::string none = say(tr("No rung is faster than {} here"), algorithm_title(first.rung->algorithm));
    const std::string why = too_small(study, rows);
    return why.empty() ? none : none + ". " + why;
  }
  std::string text = say(tr("{}: {}, {}× the rate of {}"), algorithm_title(best->rung->algorithm), predicted_rate(*best, unit),
                         format_times(best->simulated / first.simulated), algorithm_title(first.rung->algorithm));
  add_ties(text, within_error(), ties);
  return text;
}

/// "B 1 H 16 N 8192 d 128 fp16, causal": what the figures are of.
std::string problem_text(const AttentionProblem& p) {
  return fmt::format("{}, {}", sizes_text(p), p.mask ? tr("mask") : p.causal ? tr("causal") : tr("no mask"));
}

/// The shapes at which the rungs were measured on this GPU.
std::vector<AttentionProblem> measured_shapes(const View& view, const GpuSpec& gpu) {
  std::vector<AttentionProblem> shapes;
  if (view.measured.known == nullptr) return shapes;
  for (const auto& known : view.measured.known->bundles) {
    if (known->bundle.gpu != gpu.id) continue;
    for (const MeasuredCase& measured : known->bundle.cases)
      if (measured.kernel == ladder()[1].id && !measured.is_changed() &&
          std::ranges::find(shapes, measured.problem) == shapes.end())
        shapes.push_back(measured.problem);
  }
  return shapes;
}

/// The day on which the cases that are shown were recorded.
std::string day_of_case(const View& view, const std::vector<Row>& rows) {
  for (const auto& known : view.measured.known->bundles)
    for (const MeasuredCase& measured : known->bundle.cases)
      for (const Row& row : rows)
        if (row.found == &measured) return known->bundle.date.substr(0, 10);
  return {};
}

/// The relative error of the model for a recorded case, at the clock of its recording; NaN where no table has it.
double recorded_error(const View& view, const MeasuredCase& found) {
  for (const auto& known : view.measured.known->bundles)
    for (std::size_t i = 0; i < known->time_errors.size(); ++i)
      if (&known->bundle.cases[i] == &found) return known->time_errors[i];
  return std::numeric_limits<double>::quiet_NaN();
}

/// "1.47 to 1.77 GHz": the clocks at which the cases that are shown were recorded.
std::string recorded_clocks(const std::vector<Row>& rows) {
  double least = 0, most = 0;
  for (const Row& row : rows) {
    if (row.found == nullptr) continue;
    least = least > 0 ? std::min(least, row.found->sm_clock_hz) : row.found->sm_clock_hz;
    most = std::max(most, row.found->sm_clock_hz);
  }
  return format_clock(least) == format_clock(most) ? format_clock(most)
                                                   : say(tr("{} to {}"), format_clock(least), format_clock(most));
}

/// Says which clock all rungs have.
std::string clock_text(const LadderStudy& study) {
  const std::string clock = format_clock(clock_of(study));
  return study.clock && study.clock->hz > 0
             ? say(tr("All rungs are at one clock, {}: that under load of {}, which has the fewest cycles at the highest clock."),
                   clock, algorithm_title(study.clock->algorithm))
             : say(tr("All rungs are at one clock, {}."), clock);
}

/// Says how many SMs have a block where the problem has fewer blocks than SMs: "Few blocks: 16 to 24 of 132 SMs have one." Empty
/// elsewhere.
std::string few_blocks(const std::vector<Row>& rows) {
  int least = 0, most = 0, all = 0;
  for (const Row& row : rows) {
    if (!row.rung->outcome || !row.rung->outcome->done()) continue;
    const SmUse& sms = row.rung->outcome->sms;
    if (!sms.many_idle() || !sms.never_used()) continue;
    least = all == 0 ? sms.with_blocks : std::min(least, sms.with_blocks);
    most = std::max(most, sms.with_blocks);
    all = sms.all;
  }
  if (all == 0) return {};
  if (least == most) return say(tr("Few blocks: {} of {} SMs have one."), most, all);
  return say(tr("Few blocks: {} to {} of {} SMs have one, by rung."), least, most, all);
}

/// A button that loads the largest case that was measured, for a GPU without one.
void draw_measured_case(const View& view, Commands& commands) {
  const Theme& theme = *view.theme;
  for (const char* gpu : {"h100", "h200"}) {
    GpuSpec spec;
    spec.id = gpu;
    const std::vector<AttentionProblem> shapes = measured_shapes(view, spec);
    if (shapes.empty()) continue;
    const auto scores = [](const AttentionProblem& p) { return p.query_planes() * p.seq_q * p.seq_kv * p.head_dim; };
    const auto unmasked = [](const AttentionProblem& p) { return !p.causal && p.mask == nullptr; };
    const AttentionProblem& most =
        *std::ranges::max_element(shapes, {}, [&](const AttentionProblem& p) { return std::pair(unmasked(p), scores(p)); });
    if (!small_button_stop(theme, say(tr("Load a measured case: {}, {}"), gpu, problem_text(most)).c_str())) return;
    commands.push(SetGpu{gpu});
    commands.push(SetProblem{most, "problem"});
    return;
  }
}

/// Where the rungs cannot run, the way to a GPU that has them; elsewhere the shapes that were measured.
void draw_choices(const View& view, Commands& commands, const LadderStudy& study) {
  const Theme& theme = *view.theme;
  if (peak(study.of.gpu) <= 0) {
    for (const char* gpu : {"h200", "h100"}) {
      AttentionProblem problem = study.of.problem;
      problem.heads = problem.kv_heads = 16;
      problem.seq_q = problem.seq_kv = 8192;
      problem.head_dim = 128;
      if (small_button_stop(theme, say(tr("Show on {}: {}"), gpu, problem_text(problem)).c_str())) {
        commands.push(SetGpu{gpu});
        commands.push(SetProblem{problem, "problem"});
      }
      ImGui::SameLine();
    }
    ImGui::NewLine();
    return;
  }
  const std::vector<AttentionProblem> shapes = measured_shapes(view, study.of.gpu);
  if (shapes.empty()) return draw_measured_case(view, commands);
  text_item(theme.ui, theme.text_dim, tr("Measured shapes"));
  ImGui::SameLine();
  float widest = 0;
  for (const AttentionProblem& shape : shapes) widest = std::max(widest, text_width(theme.mono_small, problem_text(shape)));
  ImGui::SetNextItemWidth(widest + ImGui::GetFrameHeight() + 2 * ImGui::GetStyle().FramePadding.x);
  const bool is_one = std::ranges::find(shapes, study.of.problem) != shapes.end();
  ImGui::PushFont(theme.mono_small);
  if (ImGui::BeginCombo("##shape", is_one ? problem_text(study.of.problem).c_str() : tr("choose one"))) {
    for (const AttentionProblem& shape : shapes)
      if (ImGui::Selectable(problem_text(shape).c_str(), shape == study.of.problem)) commands.push(SetProblem{shape, "problem"});
    ImGui::EndCombo();
  } else {
    combo_stop(theme);
  }
  ImGui::PopFont();
}

struct Columns {
  float title, bar, rate, measured, gain, idle, bound, right;  // left edges
  bool is_brief;                                               // the bars below the titles, no measured change
};

const char* gain_heading(bool measured) {
  return measured ? tr("Cycles vs base (measured)") : tr("Cycles vs base");
}

/// Which columns there are.
struct Shown {
  bool brief, measured;  // brief: beside the code of a rung
};

/// What the explanations, the predicted rates, the idle times and the bottlenecks need.
struct Needs {
  float summary, rates, idles, bounds;
};
Columns columns_of(const Theme& theme, float left, float width, const Shown& shown, const Needs& needs) {
  const bool measured = shown.measured;
  const float unit = theme.scale;
  const bool narrow = width < 900 * unit;
  const float figure = text_width(theme.mono_small, "-13.4 %") + 12 * unit;
  const float both = text_width(theme.mono_small, "-13.4 % (+0.016 %)") + 12 * unit;
  Columns c{};
  if (shown.brief) {
    c.is_brief = true;
    c.title = c.bar = left;
    c.right = left + width;
    c.idle = c.bound = c.right - 6 * unit;
    c.gain = c.bound - std::max(figure, text_width(theme.ui_small, tr("vs base")) + 8 * unit);
    c.measured = c.gain - (measured ? std::max(figure, text_width(theme.ui_small, tr("Measured")) + 8 * unit) : 0);
    c.rate = c.measured - std::max(figure, text_width(theme.ui_small, tr("Simulated")) + 8 * unit);
    return c;
  }
  c.title = left;
  c.right = left + width;
  c.bound = c.right - (narrow ? 0 : std::max(100 * unit, needs.bounds + 14 * unit));
  c.idle = c.bound - (narrow ? 0 : std::max(needs.idles, text_width(theme.ui_small, tr("Tensor cores idle"))) + 20 * unit);
  c.gain = c.idle - std::max(measured ? both : figure, text_width(theme.ui_small, gain_heading(measured)) + 12 * unit);
  c.measured = c.gain - (measured ? std::max(figure, text_width(theme.ui_small, tr("Measured")) + 12 * unit) : 0);
  c.rate = c.measured - std::max({figure, needs.rates + 12 * unit, text_width(theme.ui_small, tr("Simulated")) + 12 * unit});
  // The words come before the length of the bars: an explanation on two lines is still whole.
  constexpr float least_bar = 96;
  c.bar = left + std::clamp(needs.summary, 0.36F * width, std::max(0.36F * width, c.rate - left - least_bar * unit));
  return c;
}

void draw_headings(const Theme& theme, const Columns& c, const RateUnit& unit, double clock_hz, float top) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto heading = [&](float left, float right, const char* text, Align align) {
    draw_text(list, theme.ui_small, {{left, top}, {right, top + theme.ui_small->FontSize}}, theme.text_faint, text, align);
  };
  if (!c.is_brief) heading(c.title, c.bar, tr("Rung"), Align::left);
  const bool measured = c.measured < c.gain;
  const std::string at = say(tr("{} at {}"), unit.name, format_clock(clock_hz)), peak = tr("up to the wgmma peak");
  const float room = c.rate - c.bar;
  const std::string over_bars = first_that_fits(theme.ui_small, room, {fmt::format("{}, {}", at, peak), at, unit.name});
  heading(c.bar, c.rate, over_bars.c_str(), Align::left);
  heading(c.rate, c.measured, tr("Simulated"), Align::right);
  if (measured) heading(c.measured, c.gain, tr("Measured"), Align::right);
  heading(c.gain, c.idle, c.is_brief ? tr("vs base") : gain_heading(measured), Align::right);
  if (c.idle < c.bound) heading(c.idle + 14 * theme.scale, c.bound, tr("Tensor cores idle"), Align::left);
  if (!c.is_brief && c.bound < c.right) heading(c.bound + 10 * theme.scale, c.right, tr("Busiest"), Align::left);
}

/// What is simulated as a bar, what was measured as a slimmer bar below it: FLOP per cycle, so the longest has the fewest cycles.
void draw_bars(ImDrawList* list, const Theme& theme, const Rect& rect, const Row& row, double most) {
  const auto at = [&](double value) { return rect.min.x + rect.width() * static_cast<float>(std::clamp(value / most, 0.0, 1.0)); };
  const float split = rect.min.y + rect.height() * (row.measured > 0 ? 0.62F : 1.0F), round = 3 * theme.scale;
  list->AddRectFilled(rect.min, {rect.max.x, split}, theme.inset, round);
  list->AddRectFilled(rect.min, {at(row.simulated), split}, theme.accent, round);
  if (row.measured > 0)
    list->AddRectFilled({rect.min.x, split + theme.scale}, {at(row.measured), rect.max.y}, theme.text_dim, round);
}

/// Where the parts of a row stand. The idea of the rung stands under its name where there is room for two lines, and the bars where
/// its code is beside them.
struct RowPlaces {
  Rect title, summary;  // summary: two lines where there is room for three, empty where there is none for two
  Rect figures;         // as wide as the row
  Rect bars, note;      // note: what is said where there are no bars
};

/// Distance of the two lines of an explanation, of the font's own.
constexpr float close_lines = 0.92F;
bool has_two_lines(const Theme& theme, float height) {
  return height >= theme.ui->FontSize + 2 * close_lines * theme.ui_small->FontSize;
}

/// `needs`: the width of the summary on one line.
RowPlaces places_in(const Theme& theme, const Columns& c, float needs, float top, float height) {
  const float unit = theme.scale, line = theme.ui->FontSize, small = theme.ui_small->FontSize;
  RowPlaces places{};
  if (c.is_brief) {
    const float bar = std::min(height - line - 4 * unit, 14 * unit),
                first = std::round(top + (height - line - bar) * 0.5F - 2 * unit);
    places.title = {{c.title, first}, {c.rate - theme.gap, first + line}};
    places.figures = {{c.title, first}, {c.right, first + line}};
    places.bars = {{c.bar, first + line + 2 * unit}, {c.bound, first + line + 2 * unit + bar}};
    places.note = {{c.bar, first + line}, {c.right, top + height}};
    return places;
  }
  const bool two = height >= line + small + 2 * unit;
  const int lines = !two ? 0 : needs > c.bar - theme.gap - c.title && has_two_lines(theme, height) ? 2 : 1;
  const float words = (lines == 2 ? close_lines : 1.0F) * small * static_cast<float>(lines);
  const float bar = std::min(height * 0.6F, 20 * unit), middle = top + height * 0.5F;
  const float first = two ? top + (height - line - words) * 0.5F : top;
  places.title = {{c.title, first}, {c.bar - theme.gap, two ? first + line : top + height}};
  if (two) places.summary = {{c.title, first + line}, {c.bar - theme.gap, first + line + words}};
  places.figures = {{c.title, top}, {c.right, top + height}};
  places.bars = {{c.bar, middle - bar * 0.5F}, {c.rate - theme.gap, middle + bar * 0.5F}};
  places.note = {{c.bar, top}, {c.right, top + height}};
  return places;
}

/// Draws the row's background and chooses the rung at a click; a bar at the left marks the one on the stage. Returns whether the
/// row is hovered.
bool draw_row_button(const View& view, Commands& commands, const Row& row, const Rect& rect) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::string& id = row.rung->algorithm;
  ImGui::PushID(id.c_str());
  bool clicked = hit_area("rung", rect);
  const bool hovered = ImGui::IsItemHovered(), chosen = view.workspace->rung == id;
  if (chosen || hovered)
    list->AddRectFilled(rect.min, rect.max, chosen ? theme.accent_soft : with_alpha(theme.inset_border, 0.6F), 4 * theme.scale);
  clicked = tab_stop(theme, rect, 4 * theme.scale) || clicked;
  ImGui::PopID();
  if (view.lane().simulation->request.algorithm == id)
    list->AddRectFilled(rect.min, {rect.min.x + 3 * theme.scale, rect.max.y}, theme.accent, 2 * theme.scale);
  if (clicked) commands.push(SetRung{chosen ? std::string() : id});
  return hovered;
}

void draw_row_figures(const Theme& theme, const Row& row, const Columns& c, const RowPlaces& places, const RateUnit& unit) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const auto figure = [&](float left, float right, ImU32 color, const std::string& text) {
    draw_text(list, theme.mono_small, {{left, places.figures.min.y}, {right, places.figures.max.y}}, color, text, Align::right);
  };
  figure(c.rate, c.measured, theme.text, simulated_figure(row, unit, c.is_brief));
  if (row.found != nullptr) figure(c.measured, c.gain, theme.text, rate_figure(row.measured_rate(), unit));
  if (row.before > 0) {
    const double change = row.rung->outcome->cycles / row.before - 1;
    std::string text = format_signed_percent(change);
    // Neither good nor bad where the measurement does not confirm it.
    constexpr double least = 0.005;
    bool confirmed = std::abs(change) >= least;
    if (row.measured_before > 0 && row.found != nullptr) {
      const double measured = row.found->cycles.median / row.measured_before - 1;
      if (!c.is_brief) text += fmt::format(" ({})", format_signed_percent(measured));
      confirmed = confirmed && std::abs(measured) >= least && (measured < 0) == (change < 0);
    }
    figure(c.gain, c.idle, !confirmed ? theme.text_faint : change < 0 ? theme.good : theme.bad, text);
  }
  if (c.idle < c.bound)
    draw_text(list, theme.ui_small, {{c.idle + 14 * theme.scale, places.figures.min.y}, {c.bound, places.figures.max.y}},
              theme.text_dim, idle_figure(row));
  if (!c.is_brief && c.bound < c.right)
    draw_text(list, theme.ui_small, {{c.bound + 10 * theme.scale, places.figures.min.y}, {c.right, places.figures.max.y}},
              theme.text_dim, bound_text(row.rung->outcome->bound, row.rung->outcome->sms));
}

/// Draws the idea of a rung on the lines that it has.
void draw_summary(ImDrawList* list, const Theme& theme, const Rect& rect, const std::string& text) {
  const float line = close_lines * theme.ui_small->FontSize;
  if (rect.height() < 1.5F * line) return draw_text(list, theme.ui_small, rect, theme.text_faint, text);
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* cut = theme.ui_small->CalcWordWrapPositionA(1, begin, end, rect.width());
  draw_text(list, theme.ui_small, {rect.min, {rect.max.x + 1, rect.min.y + line}}, theme.text_faint, std::string(begin, cut));
  while (cut != end && *cut == ' ') ++cut;
  draw_text(list, theme.ui_small, {{rect.min.x, rect.min.y + line}, rect.max}, theme.text_faint, std::string(cut, end));
}

/// The tooltip's lines below the idea of a rung that was simulated.
std::string row_tip(const View& view, const Row& row) {
  const Outcome& outcome = *row.rung->outcome;
  std::string tip;
  if (row.before > 0) add_line(tip, say(tr("Cycles compared with {}."), algorithm_title(row.rung->over)));
  add_line(tip, say(tr("Simulated: {}, {} cycles at {}"), format_time(Nanoseconds(outcome.time_ns)), format_short(outcome.cycles),
                    format_clock(row.clock_hz)));
  if (row.errors) add_line(tip, time_errors_text(*row.errors, request_of(*view.studies->ladder, *row.rung)));
  if (row.found != nullptr) {
    add_line(tip, say(tr("Measured: {}, {} cycles at {}."), format_time(Nanoseconds(row.found->time_cold_ns.median)),
                      format_short(row.found->cycles.median), format_clock(row.found->sm_clock_hz)));
    if (const double error = recorded_error(view, *row.found); std::isfinite(error))
      tip += ' ' + say(tr("There the model is off by {}."), format_signed_percent(error));
  }
  if (idle_share(*row.rung) > 0) {
    add_line(tip, idle_tip(row));
    add_line(tip, occupied_tip(row));
  }
  if (outcome.sms.many_idle())
    add_line(tip, say(tr("SMs with a block: {} of {}. SM time without a block: {}."), outcome.sms.with_blocks, outcome.sms.all,
                      format_percent(outcome.sms.idle)));
  return tip;
}

void draw_row(const View& view, Commands& commands, const Row& row, const Columns& c, double most, const RateUnit& unit,
              bool lacks_wgmma, float top, float height) {
  const Theme& theme = *view.theme;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ProgramInfo& info = **find_program(row.rung->algorithm);
  const std::string summary = program_summary(info, view.studies->ladder->of.problem);
  const RowPlaces places = places_in(theme, c, text_width(theme.ui_small, summary), top, height);
  const bool hovered = draw_row_button(view, commands, row, {{c.title - 6 * theme.scale, top}, {c.right, top + height}});
  draw_text(list, theme.ui, places.title, theme.text, translated(info.title));
  if (places.summary.height() > 0) draw_summary(list, theme, places.summary, summary);
  std::string tip = summary;
  const Outcome* outcome = row.rung->outcome ? &*row.rung->outcome : nullptr;
  if (outcome == nullptr || !outcome->done()) {
    // Why the rungs cannot run stands above them all.
    const std::string why = outcome != nullptr ? say(outcome->refusal) : std::string();
    const std::string text = outcome == nullptr ? tr("Not simulated yet") : lacks_wgmma ? tr("needs wgmma") : why;
    draw_text(list, theme.ui_small, places.note, outcome == nullptr || lacks_wgmma ? theme.text_faint : theme.bad, text);
    if (outcome != nullptr) add_line(tip, why);
  } else {
    draw_bars(list, theme, places.bars, row, most);
    draw_row_figures(theme, row, c, places, unit);
    add_line(tip, row_tip(view, row));
  }
  if (hovered) show_tooltip(theme, translated(info.title), tip);
}

/// ↑ and ↓ choose the rung whose code is shown.
void handle_ladder_keys(const View& view, Commands& commands, const std::vector<Row>& rows) {
  if (!study_takes_keys(view) || ImGui::GetIO().KeyShift || view.lesson.lesson != nullptr) return;
  const int by = (ImGui::IsKeyPressed(ImGuiKey_DownArrow) ? 1 : 0) - (ImGui::IsKeyPressed(ImGuiKey_UpArrow) ? 1 : 0);
  if (by == 0) return;
  const int count = static_cast<int>(rows.size());
  const auto chosen = std::ranges::find_if(rows, [&](const Row& row) { return row.rung->algorithm == view.workspace->rung; });
  const int now = chosen != rows.end() ? static_cast<int>(chosen - rows.begin()) : by > 0 ? -1 : count;
  if (const int next = now + by; next >= 0 && next < count)
    commands.push(SetRung{rows[static_cast<std::size_t>(next)].rung->algorithm});
}

}  // namespace

void draw_ladder_panel(const View& shown, Commands& commands) {
  if (shown.studies->ladder == nullptr) return study_empty(shown, tr("Nothing simulated yet."));
  const Theme theme = shown.workspace->present ? without_small_text(*shown.theme) : *shown.theme;
  View view = shown;
  view.theme = &theme;
  const LadderStudy& study = *view.studies->ladder;
  const std::vector<Row>& rows = rows_of(view);
  double most = peak(study.of.gpu), fastest = 0;
  for (const Row& row : rows) {
    most = std::max({most, row.simulated, row.measured});
    fastest = std::max({fastest, row.simulated_rate(), row.measured_rate()});
  }
  const RateUnit unit = unit_of(fastest > 0 ? fastest : most * study.of.gpu.sm_clock_hz);
  const bool measured = std::ranges::any_of(rows, [](const Row& row) { return row.found != nullptr; });
  std::string detail = say(
      tr("{}. Each rung adds one idea to its base, an earlier rung; its cycles are compared with those of the base. Click a rung "
         "to read its code."),
      problem_text(study.of.problem));
  detail.append(" ").append(clock_text(study));
  if (measured)
    detail.append(" ").append(say(tr("Slim bars: the cycles that were measured {}, at {}, as a rate at that one clock."),
                                  day_of_case(view, rows), recorded_clocks(rows)));
  if (const std::string few = few_blocks(rows); !few.empty()) detail.append(" ").append(few);
  study_head(view, finding(view, study, rows, unit), detail);
  draw_beside_line(view);
  draw_choices(view, commands, study);
  study_progress(view, commands, study.done(), study.rungs.size());

  handle_ladder_keys(view, commands, rows);

  const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  const bool has_code = !view.workspace->rung.empty(), beside = has_code && room.x >= 720 * theme.scale;
  const float bars_width = beside ? std::clamp(0.335F * room.x, 330 * theme.scale, 480 * theme.scale) : room.x;
  float y = at.y + theme.ui_small->FontSize + 6 * theme.scale;
  const float least = theme.ui->FontSize + std::round((beside ? 20 : 6) * theme.scale);
  const float height = std::clamp(std::floor((at.y + room.y - y) / static_cast<float>(rows.size())), least,
                                  std::max(least, std::round(64 * theme.scale)));
  float longest = 0, bounds = 0, idles = 0, rates = 0;
  for (const Row& row : rows)
    if (row.rung->outcome && row.rung->outcome->done())
      bounds = std::max(bounds, text_width(theme.ui_small, bound_text(row.rung->outcome->bound, row.rung->outcome->sms)));
  for (const Row& row : rows) {
    idles = std::max(idles, text_width(theme.ui_small, idle_figure(row)));
    rates = std::max(rates, text_width(theme.mono_small, simulated_figure(row, unit, beside)));
  }
  for (const Row& row : rows)
    longest = std::max(longest, text_width(theme.ui_small, program_summary(**find_program(row.rung->algorithm), study.of.problem)));
  constexpr float on_two_lines = 0.58F;  // lines break at words
  const float summary = theme.gap + (has_two_lines(theme, height) ? on_two_lines * longest : longest);
  const Columns columns = columns_of(theme, at.x, bars_width, {beside, measured}, {summary, rates, idles, bounds});
  draw_headings(theme, columns, unit, clock_of(study), at.y);
  for (const Row& row : rows) {
    draw_row(view, commands, row, columns, most, unit, peak(study.of.gpu) <= 0, y, height);
    y += height;
  }
  if (has_code) {  // where there is no room beside the bars, below them
    const float top = beside ? at.y : y + theme.gap, left = beside ? at.x + bars_width + 1.5F * theme.gap : at.x;
    const float bottom = std::max(at.y + room.y, beside ? y : top + std::round(320 * theme.scale));
    draw_ladder_code(view, commands, {{left, top}, {at.x + room.x, bottom}});
    y = std::max(y, bottom);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({room.x, y - at.y});  // where there is more than fits, the panel scrolls
}

}  // namespace tilescope
