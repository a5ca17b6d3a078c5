// Shared by views of many simulations: headline, progress, colours and markers of algorithms, measured cases, bottleneck texts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "app/model/measurements/measurements.h"
#include "app/model/session/studies.h"
#include "app/ui/plot.h"
#include "app/views/view.h"

namespace tilescope {

/// Draws the finding in one large sentence, then its conditions in small text; both wrap.
void study_head(const View& view, std::string_view finding, std::string_view detail);
/// Draws "12 of 25 simulated", a bar and a stop or resume button; nothing when done.
void study_progress(const View& view, Commands& commands, std::size_t done, std::size_t total);
/// Returns whether the progress of a study that runs is on screen: Esc stops it.
bool shows_running_study();
/// Draws a sentence instead of an empty view.
void study_empty(const View& view, std::string_view sentence);

/// Whether a key without Ctrl, Alt or Super is meant for the view in the middle: no popup, text field or black screen takes it.
bool study_takes_keys(const View& view);

/// Shows the latest refusal, if it belongs to `control`.
void study_message(const View& view, std::string_view control);

/// Returns the index of an algorithm in its family.
std::size_t algorithm_index(std::string_view algorithm);
ImU32 algorithm_color(const Theme& theme, std::string_view algorithm);
Marker algorithm_marker(std::string_view algorithm);
/// Returns "FlashAttention-2".
std::string algorithm_title(std::string_view algorithm);
/// The same of the program that runs the pass: both passes of an algorithm are a program of their own.
std::string algorithm_title(std::string_view algorithm, Pass pass);

/// Returns what is new in a program; of one that launches another program's kernel, which one for this problem.
std::string program_summary(const ProgramInfo& info, const AttentionProblem& problem);

/// Returns the measured case of `algorithm` and this problem on the unchanged GPU, with any tile, or nullptr.
const MeasuredCase* measured_case(const View& view, std::string_view algorithm, const AttentionProblem& problem);
/// Returns "measured at 1.72 GHz, recorded 2026-11-21", the day of the bundle that has the case.
std::string measured_label(const View& view, const MeasuredCase& measured);
/// Returns the median of a counter, or nullopt.
std::optional<double> counter(const MeasuredCase& measured, std::string_view key);

/// Names a bound, as a label: "tensor cores", "HBM bandwidth".
const char* bound_name(Bound bound);
/// Names a bound and, where many SMs never get a block, the others: "tensor cores on 4 of 132 SMs".
std::string bound_text(Bound bound, const SmUse& sms);

/// What bounds a run, for the sentences that say it.
struct RunBound {
  Bound bound = Bound::latency;  // its busiest resource
  SmUse sms = {};
  double busy = 1;                   // share of that resource, as in Simulation
  const NextLimit* limit = nullptr;  // the run without it; null: not simulated

  /// Whether SMs without a block cost more than the busiest resource does: without that, the run would be shorter by less than the
  /// share of the SM time that has no block. Until the run without it is known, it is taken to save all the time that it is busy.
  /// All SMs share L2 and HBM, so SMs without a block do not add to those.
  bool idle_decides() const;
};
RunBound bound_of(const Simulation& run, const NextLimit* limit = nullptr);
RunBound bound_of(const Outcome& run, const NextLimit* limit = nullptr);

/// Names SMs without a block as what bounds a run: "SMs without a block (73.2 % of the SM time)".
std::string idle_bound_text(const SmUse& sms);
/// Says how many SMs idle, after bound_text(): "; the others have no block". Empty if few do, or if the sentence before says it.
std::string idle_text(const RunBound& run);
/// Says how busy a resource is: "78 % busy" of the run where all SMs share it, else "busy 94 % of the SM time with a block".
std::string busy_text(Bound bound, std::string_view percent);
/// Says what HBM bytes leave out: "2.30 kB more are written back after the run."; empty where the L2 ends clean.
std::string written_after_text(double dirty_bytes);
/// The same of two runs side by side.
std::string written_after_text(double first, double second);
/// Compares two times: "4.9× faster", "1.20× slower", "same time".
std::string speed_text(double now, double before);
/// Returns "At least 1.52 ms if no read shares an L2 lookup. …" of a run on a changed GPU.
std::string unshared_text(const Outcome& outcome);
/// Returns "Without this limit: 20× faster, then limited by the FP32 units", of a run whose limit is known.
std::string next_limit_text(const RunBound& run);
/// Returns the run that times and bottlenecks are of: at its clock under load, as `simulate` reports it; until that is simulated,
/// or where no such clock is known, the run on screen itself.
const Simulation& timed_run(const View& view);
/// The same of a lane of a race: both runs have the clock under load of the chosen one.
const Simulation& timed_in_race(const View& view, std::size_t lane);
/// Returns "All at 1.63 GHz, the clock under load of the kernel's tile." of a comparison whose runs have one clock; `of` names the
/// run that it is of. Empty where they have that of the GPU.
std::string one_clock_text(std::optional<double> clock_hz, const GpuSpec& gpu, std::string_view of);
/// Returns "Bottleneck: HBM bandwidth", or what is only the busiest where lifting it saves little.
std::string bottleneck_text(const RunBound& run);

}  // namespace tilescope
