// Headlines, progress, algorithms, measured cases and bottleneck texts.
#include "app/views/study_panel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/model/measurements/find_recorded.h"
#include "app/ui/panel_state.h"
#include "app/ui/say.h"
#include "app/views/work_words.h"
#include "sim/analysis/format.h"
#include "sim/programs/program_names.h"

namespace tilescope {

void study_head(const View& view, std::string_view finding, std::string_view detail) {
  const Theme& theme = *view.theme;
  const float most = 0.3F * ImGui::GetWindowHeight(), width = ImGui::GetContentRegionAvail().x, top = ImGui::GetCursorPosY();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, std::round(4 * theme.scale)});
  wrapped_text(theme.heading, theme.text, finding);
  const float finding_height = ImGui::GetCursorPosY() - top;
  const float detail_height = wrapped_height(theme.ui_small, detail, width);
  if (finding_height + detail_height > most)
    item_tooltip(theme, {}, detail);
  else if (!detail.empty())
    wrapped_text(theme.ui_small, theme.text_dim, detail);
  ImGui::Dummy({0, std::round(2 * theme.scale)});
  ImGui::PopStyleVar();
}

namespace {

/// The last frame that showed a study under way.
int& study_frame() {
  struct Frame {
    int number = -2;
  };
  return panel_state<Frame>("study under way").number;
}

}  // namespace

bool shows_running_study() {
  return ImGui::GetFrameCount() - study_frame() <= 1;
}

void study_progress(const View& view, Commands& commands, std::size_t done, std::size_t total) {
  if (done >= total) return;
  if (!view.studies->stopped) study_frame() = ImGui::GetFrameCount();
  const Theme& theme = *view.theme;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = std::round(20 * theme.scale), width = ImGui::GetContentRegionAvail().x;
  const std::string text = say(tr("{} of {} simulated"), done, total);
  const float bar = std::round(120 * theme.scale);
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_bar(list, theme, {{at.x, at.y + height * 0.4F}, {at.x + bar, at.y + height * 0.6F}},
           static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(1, total)), theme.accent);
  draw_text(list, theme.ui_small, {{at.x + bar + theme.gap, at.y}, {at.x + width, at.y + height}}, theme.text_dim, text);
  ImGui::SetCursorScreenPos({at.x + bar + 2 * theme.gap + text_width(theme.ui_small, text), at.y});
  const std::array labels = {view.studies->stopped ? tr("Resume") : tr("Stop")};
  if (segmented(theme, "study", labels, -1, true)) {
    if (view.studies->stopped)
      commands.push(GoOnWithStudy{});
    else
      commands.push(CancelWork{});
  }
  ImGui::SetCursorScreenPos(at);
  // Adds an item, because ImGui requires one at the end of a window's extent.
  ImGui::Dummy({0, height + std::round(4 * theme.scale) - ImGui::GetStyle().ItemSpacing.y});
}

void study_empty(const View& view, std::string_view sentence) {
  wrapped_text(view.theme->ui, view.theme->text_dim, sentence);
}

bool study_takes_keys(const View& view) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool popup = ImGui::IsPopupOpen(nullptr, ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel);
  return !popup && !io.WantTextInput && !io.NavVisible && !io.KeyCtrl && !io.KeyAlt && !io.KeySuper && !view.workspace->blank;
}

void study_message(const View& view, std::string_view control) {
  if (view.workspace->message && view.workspace->message->control == control)
    wrapped_text(view.theme->ui_small, view.theme->bad, words_of(*view.workspace->message));
}

std::size_t algorithm_index(std::string_view algorithm) {
  const auto chosen = find_program(algorithm);
  std::size_t index = 0;
  for (const ProgramInfo& row : program_table()) {
    if (row.id == algorithm) return index;
    if (chosen && row.family == (*chosen)->family) ++index;
  }
  return 0;
}

ImU32 algorithm_color(const Theme& theme, std::string_view algorithm) {
  const auto pale = [&](ImU32 color) { return mix(color, theme.text, 0.5F); };
  const std::array colors = {theme.bad,
                             theme.good,
                             theme.accent,
                             theme.text_dim,
                             theme.highlight,
                             theme.color(Meaning::key),
                             theme.text,
                             theme.color(Meaning::score),
                             theme.color(Meaning::bias),
                             pale(theme.color(Meaning::key)),
                             pale(theme.good),
                             theme.color(Meaning::probability),
                             pale(theme.bad)};
  return colors[algorithm_index(algorithm) % colors.size()];
}

Marker algorithm_marker(std::string_view algorithm) {
  constexpr std::array markers = {Marker::square, Marker::triangle, Marker::circle, Marker::diamond, Marker::ring, Marker::cross};
  return markers[algorithm_index(algorithm) % markers.size()];
}

std::string algorithm_title(std::string_view algorithm) {
  return translated(program_title(algorithm));
}

std::string algorithm_title(std::string_view algorithm, Pass pass) {
  const auto info = find_program(algorithm, pass);
  return info ? translated((*info)->title) : algorithm_title(algorithm);
}

std::string program_summary(const ProgramInfo& info, const AttentionProblem& problem) {
  if (info.choice == nullptr) return translated(info.summary);
  return say(tr("Chooses a rung by head dimension, mask and length. Here: {}."), algorithm_title(info.choice(problem)));
}

const MeasuredCase* measured_case(const View& view, std::string_view algorithm, const AttentionProblem& problem) {
  if (view.measured.known == nullptr || view.requested == nullptr) return nullptr;
  const GpuSpec& gpu = view.lane().simulation->request.gpu;
  return same_numbers(gpu, view.requested->gpu_base) ? find_case_in_any_tile(*view.measured.known, gpu, algorithm, problem)
                                                     : nullptr;
}

std::string measured_label(const View& view, const MeasuredCase& measured) {
  if (view.measured.known != nullptr)
    for (const auto& known : view.measured.known->bundles)
      for (const MeasuredCase& each : known->bundle.cases)
        if (&each == &measured)
          return known->live
                     ? say(tr("measured at {}"), format_clock(measured.sm_clock_hz))
                     : say(tr("measured at {}, recorded {}"), format_clock(measured.sm_clock_hz), day_of(known->bundle.date));
  return say(tr("measured at {}"), format_clock(measured.sm_clock_hz));
}

std::optional<double> counter(const MeasuredCase& measured, std::string_view key) {
  const auto found = measured.counters.find(std::string(key));
  return found == measured.counters.end() ? std::nullopt : std::optional(found->second.median);
}

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::tensor:
      return tr("tensor cores");
    case Bound::exp:
      return tr("exponential unit");
    case Bound::fp32:
      return tr("FP32 units");
    case Bound::l2:
      return tr("L2 bandwidth");
    case Bound::hbm:
      return tr("HBM bandwidth");
    case Bound::smem:
      return tr("shared memory");
    case Bound::latency:
      return tr("latency");
  }
  return "";
}

std::string written_after_text(double dirty_bytes) {
  if (dirty_bytes <= 0) return {};
  return say(tr("{} more are written back after the run."), format_bytes(dirty_bytes));
}

std::string written_after_text(double first, double second) {
  if (first <= 0 && second <= 0) return {};
  return say(tr("Written back after the runs: {} more and {} more."), format_bytes(first), format_bytes(second));
}

std::string speed_text(double now, double before) {
  constexpr double alike = 1.005;
  if (now <= 0 || before <= 0) return tr("same time");
  if (before / now >= alike) return say(tr("{}× faster"), format_times(before / now));
  if (now / before >= alike) return say(tr("{}× slower"), format_times(now / before));
  return tr("same time");
}

std::string bound_text(Bound bound, const SmUse& sms) {
  if (is_shared(bound) || !sms.many_idle() || !sms.never_used()) return bound_name(bound);
  return say(tr("{} on {} of {} SMs"), bound_name(bound), sms.with_blocks, sms.all);
}

bool RunBound::idle_decides() const {
  if (is_shared(bound) || !sms.many_idle()) return false;
  if (limit != nullptr && limit->outcome.done()) return sms.idle > -limit->change();
  return bound != Bound::latency && sms.idle > busy;
}

RunBound bound_of(const Simulation& run, const NextLimit* limit) {
  return {run.bound, run.sms, run.utilisation[static_cast<std::size_t>(run.bound)], limit};
}

RunBound bound_of(const Outcome& run, const NextLimit* limit) {
  return {run.bound, run.sms, run.utilisation[static_cast<std::size_t>(run.bound)], limit};
}

std::string idle_bound_text(const SmUse& sms) {
  if (sms.never_used()) return say(tr("SMs without a block ({} of {})"), sms.all - sms.with_blocks, sms.all);
  return say(tr("SMs without a block ({} of the SM time)"), format_percent(sms.idle));
}

std::string idle_text(const RunBound& run) {
  const auto& [bound, sms, busy, limit] = run;
  if (!sms.many_idle() || run.idle_decides()) return {};
  if (!sms.never_used()) return say(tr("; SMs have no block {} of the time"), format_percent(sms.idle));
  if (is_shared(bound)) return say(tr("; {} of {} SMs have no block"), sms.all - sms.with_blocks, sms.all);
  return tr("; the others have no block");
}

std::string busy_text(Bound bound, std::string_view percent) {
  if (is_shared(bound)) return say(tr("{} busy"), percent);
  return say(tr("busy {} of the SM time with a block"), percent);
}

const Simulation& timed_run(const View& view) {
  const RunUnderLoad* const loaded = view.studies != nullptr ? view.studies->under_load.get() : nullptr;
  return loaded != nullptr ? *loaded->simulation : *view.lane().simulation;
}

const Simulation& timed_in_race(const View& view, std::size_t lane) {
  const PairUnderLoad* const timed = view.studies != nullptr ? view.studies->race.get() : nullptr;
  return timed == nullptr ? *view.lanes[lane].simulation : lane == 0 ? *timed->first : *timed->second;
}

std::string one_clock_text(std::optional<double> clock_hz, const GpuSpec& gpu, std::string_view of) {
  if (!clock_hz || *clock_hz <= 0 || *clock_hz == gpu.sm_clock_hz) return {};
  return say(tr("All at {}, the clock under load of {}."), format_clock(*clock_hz), of);
}

std::string bottleneck_text(const RunBound& run) {
  const auto& [bound, sms, busy, limit] = run;
  if (run.idle_decides()) return say(tr("Bottleneck: {}"), idle_bound_text(sms));
  if (limit == nullptr || !limit->outcome.done() || limit->decides()) return say(tr("Bottleneck: {}"), bound_text(bound, sms));
  if (bound != Bound::latency) return say(tr("No single bottleneck, busiest: {}"), bound_text(bound, sms));
  if (!sms.many_idle() || !sms.never_used()) return tr("No single bottleneck");
  return say(tr("No single bottleneck on {} of {} SMs"), sms.with_blocks, sms.all);
}

std::string unshared_text(const Outcome& outcome) {
  return say(tr("At least {} if no read shares an L2 lookup: the model does not know how many do."),
             format_time(Nanoseconds(outcome.unshared_ns)));
}

std::string next_limit_text(const RunBound& run) {
  const NextLimit& limit = *run.limit;
  std::string faster = speed_text(limit.outcome.time_ns, limit.before_ns);
  if (limit.outcome.l2_may_decide())
    faster =
        say(tr("{} (at least {} if no read shares an L2 lookup)"), faster, format_time(Nanoseconds(limit.outcome.unshared_ns)));
  // Slightly slower is another order of the blocks, not what was lifted.
  if (!limit.decides() || run.idle_decides())
    return say(tr("Without {} alone: {}"), bound_name(limit.without), limit.change() < 0 ? faster : std::string(tr("no faster")));
  switch (limit.outcome.bound) {
    case Bound::tensor:
      return say(tr("Without this limit: {}, then limited by the tensor cores"), faster);
    case Bound::exp:
      return say(tr("Without this limit: {}, then limited by the exponential unit"), faster);
    case Bound::fp32:
      return say(tr("Without this limit: {}, then limited by the FP32 units"), faster);
    case Bound::l2:
      return say(tr("Without this limit: {}, then limited by L2 bandwidth"), faster);
    case Bound::hbm:
      return say(tr("Without this limit: {}, then limited by HBM bandwidth"), faster);
    case Bound::smem:
      return say(tr("Without this limit: {}, then limited by shared memory"), faster);
    case Bound::latency:
      break;
  }
  // Latency was lifted and still no resource is busy for half of the time.
  if (limit.without == Bound::latency) return say(tr("Without this limit: {}, then no single limit"), faster);
  return say(tr("Without this limit: {}, then limited by latency"), faster);
}

}  // namespace tilescope
