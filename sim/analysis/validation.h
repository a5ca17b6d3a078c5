// Simulated against measured: the figures of one kernel on one problem with their bounds, and what a bundle of them adds
// up to.
//
//   MeasuredCase ── simulate_case() ──► CaseValidation (7 figures, each with a verdict) ── summarise() ──► ValidationSummary
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/measurement.h"
#include "sim/engine/simulation.h"

namespace tilescope {

/// What a case is compared in. `time` is of SMs at the clock that was measured, against events from a cold L2.
enum class Figure : std::uint8_t { l2_to_sm, sm_to_l2, hbm_read, hbm_write, hbm_write_after_flush, cycles, time };
inline constexpr int figure_count = 7;
inline constexpr std::array<Figure, figure_count> all_figures = {
    Figure::l2_to_sm, Figure::sm_to_l2, Figure::hbm_read, Figure::hbm_write, Figure::hbm_write_after_flush,
    Figure::cycles,   Figure::time};
std::string_view to_string(Figure figure);  // "l2_to_sm", … "hbm_write_after_flush", "cycles", "time"
std::optional<Figure> figure_from(std::string_view name);

/// "1.50 GB", "12 345", "3.2 ms": bytes, cycles or a time.
std::string figure_text(Figure figure, double value);

/// How far a figure may be off.
struct ErrorBound {
  double relative = 0;  // of the measured
  double absolute = 0;  // or this much, whichever is larger; in the figure's unit
};

// The bounds, as docs/validation.md states them.
inline constexpr ErrorBound sm_link_bound = {0.001, 64 * 1024};
/// The floor is what a cold kernel reads besides its tensors: its instructions, constants, parameters and page tables.
inline constexpr double hbm_read_floor_bytes = 128 * 1024;
inline constexpr ErrorBound hbm_read_bound_in_l2 = {0.02, hbm_read_floor_bytes};
inline constexpr ErrorBound hbm_read_bound_beyond_l2 = {0.10, hbm_read_floor_bytes};
inline constexpr ErrorBound hbm_write_bound = {0.05, 2 * 1024 * 1024};
inline constexpr ErrorBound time_bound = {0.20, 0};
inline constexpr double mean_time_error_bound = 0.08;

/// "B4 H32/8 N4096 d128 fp16 causal": kv heads and keys only where they differ from heads and queries.
std::string short_text(const AttentionProblem& problem);

/// What a figure that has a bound came to, from best to worst.
///
///   |simulated - median| <= bound                        within
///   simulated outside of all placements by <= bound      within_spread   the hardware itself differs as much
///   listed as a known miss, and |error| <= its cap       known_miss
///   else                                                 fails
enum class Verdict : std::uint8_t { within, within_spread, known_miss, fails };
inline constexpr int verdict_count = 4;
inline constexpr std::array<Verdict, verdict_count> all_verdicts = {Verdict::within, Verdict::within_spread, Verdict::known_miss,
                                                                    Verdict::fails};
std::string_view to_string(Verdict verdict);  // "within", "within_spread", "known_miss", "fails"
std::optional<Verdict> verdict_from(std::string_view name);

/// One figure of one case that the model is known to miss. Reviewed by hand: see known_misses.h for the file.
struct KnownMiss {
  std::string kernel, problem;  // the problem as short_text() writes it
  Figure figure{};
  double cap = 0;     // largest size of the relative error
  std::string cause;  // as measured, in a sentence or two
};

/// One figure of one case, in bytes, cycles or nanoseconds.
struct Comparison {
  double simulated = 0;
  Spread measured;
  std::optional<ErrorBound> bound;  // absent where none stands: the figure is only reported
  /// The tensors lay in several places in memory, and the hardware gave a number for each.
  bool in_many_places = false;
  std::optional<KnownMiss> known;

  double difference() const { return simulated - measured.median; }
  /// Signed, of the measured; infinite where nothing was measured but something was simulated.
  double error() const;
  /// The measured value nearest to the simulated one: over all placements, else the median.
  double nearest() const { return in_many_places ? std::clamp(simulated, measured.least, measured.most) : measured.median; }
  double allowed() const { return bound ? std::max(bound->relative * nearest(), bound->absolute) : 0; }
  /// Within the bound around the nearest measured value.
  bool within() const { return !bound || std::abs(simulated - nearest()) <= allowed(); }
  /// Within the bound around the median.
  bool within_of_median() const;
  /// nullopt where there is no bound.
  std::optional<Verdict> verdict() const;
};

struct CaseValidation {
  std::string algorithm;                                        // the program that was simulated
  std::array<std::optional<Comparison>, figure_count> figures;  // absent where it was not measured, or cannot be compared
  std::string not_simulated;                                    // why there is no simulation; else empty
  double kv_in_flight_bytes = 0, effective_l2_bytes = 0;        // what decides the bound of hbm_read
  double host_seconds = 0;                                      // that the simulation took

  const std::optional<Comparison>& figure(Figure f) const { return figures[static_cast<std::size_t>(f)]; }
  bool kv_fits() const { return kv_in_flight_bytes <= effective_l2_bytes; }
  /// The worst of its figures' verdicts; fails where it was not simulated; nullopt where no figure has a bound.
  std::optional<Verdict> verdict() const;
};

/// The program that stands for a kernel: the one of the same id, or the one whose tensors a library's kernel moves.
struct Counterpart {
  std::string algorithm;
  /// The products are a library's, with tiles that are not ours to know: what crosses the SM links and the time are not compared,
  /// and no bound stands.
  bool library = false;
};
Counterpart counterpart_of(std::string_view kernel);

/// K and V of the heads that the resident blocks may work on at once, wherever in the grid they stand; the largest of the launches.
Bytes kv_in_flight(const Simulation& simulation);
/// What the L2 holds of data that every SM reads: half of it where there are two partitions.
Bytes effective_l2(const GpuSpec& gpu);

/// What the model says of a case: all that a comparison needs of a simulation.
struct SimulatedFigures {
  std::string algorithm;
  std::array<double, figure_count> figures{};
  double kv_in_flight_bytes = 0, effective_l2_bytes = 0;
};
/// Takes the figures of a simulation; time is at the SM clock of the measurement.
SimulatedFigures figures_of(const Simulation& simulation, const MeasuredCase& measured);

CaseValidation compare(const SimulatedFigures& simulated, const MeasuredCase& measured, std::span<const KnownMiss> known = {});
CaseValidation compare(const Simulation& simulation, const MeasuredCase& measured);
/// Simulates the case on `gpu` with the tile and at the SM clock that it was measured with, and compares. What cannot be simulated
/// says why in `not_simulated`.
/// Errors  cancelled.
Result<CaseValidation> simulate_case(const GpuSpec& gpu, const MeasuredCase& measured, std::span<const KnownMiss> known = {},
                                     const Progress& progress = {});

/// How many of each verdict, and how many without a bound.
struct VerdictCounts {
  std::array<int, verdict_count> of{};
  int unbounded = 0;
  int operator[](Verdict verdict) const { return of[static_cast<std::size_t>(verdict)]; }
  void add(const std::optional<Verdict>& verdict);
  int bounded() const { return of[0] + of[1] + of[2] + of[3]; }
  int beyond() const { return (*this)[Verdict::known_miss] + (*this)[Verdict::fails]; }
};

/// Errors of one figure over some cases.
struct ErrorSummary {
  int cases = 0;               // compared, with a finite error
  VerdictCounts verdicts;      // of all that were compared
  double sum = 0, worst = 0;   // of the size of the error
  std::size_t worst_case = 0;  // index into the bundle's cases

  double mean() const { return cases > 0 ? sum / cases : 0; }
  /// Adds case `index`, unless there is nothing to compare.
  void add(const std::optional<Comparison>& comparison, std::size_t index);
};

/// Some cases together: those of one kernel, or of one list.
struct GroupSummary {
  std::string name;
  int cases = 0, not_simulated = 0;
  std::array<ErrorSummary, figure_count> figures;
  std::optional<double> time_rank_correlation;  // Spearman's, of simulated and measured time; absent below three cases
  const ErrorSummary& figure(Figure f) const { return figures[static_cast<std::size_t>(f)]; }
};

struct ValidationSummary {
  std::vector<GroupSummary> kernels;  // in the order of the bundle
  std::vector<GroupSummary> lists;    // "build", "judge", and whatever else the bundle names; kernels of a library left out
  GroupSummary all;                   // kernels of a library left out
  VerdictCounts cases, figures;       // of every case; a case has the worst verdict of its figures
  int not_simulated = 0;              // counted as cases that fail
  bool mean_time_held = true;
  bool fails() const { return cases[Verdict::fails] > 0 || !mean_time_held; }
};

/// `results` belong to `cases` one by one.
ValidationSummary summarise(std::span<const MeasuredCase> cases, std::span<const CaseValidation> results);

/// Spearman's rank correlation, ties sharing their mean rank. nullopt below three points, or where one side is all equal.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace tilescope
