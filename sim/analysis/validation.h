// Simulated against measured: the figures of one kernel on one problem with their bounds, and what a bundle of them adds
// up to.
//
//   MeasuredCase ── simulate_case() ──► CaseValidation (7 figures) ── summarise() ──► ValidationSummary
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

/// One figure of one case, in bytes, cycles or nanoseconds.
struct Comparison {
  double simulated = 0;
  Spread measured;
  std::optional<ErrorBound> bound;  // absent where none stands: the figure is only reported
  /// The hardware itself gave other numbers as the tensors lay elsewhere in memory: the bound is for what lies outside of them all.
  bool in_many_places = false;

  /// Beyond its bound, but held to a size by this entry of docs/model-limits.md; 0: by none. See numbered_limits.h.
  int limit = 0;
  double l2_part = 1;  // where that is entry 2: the part of the L2's capacity with which the simulation would be within the bound

  double difference() const { return simulated - measured.median; }
  /// Signed, of the measured; infinite where nothing was measured but something was simulated.
  double error() const;
  /// Of the measured, the one that the bound is taken from: the nearest of all places, else the median.
  double nearest() const { return in_many_places ? std::clamp(simulated, measured.least, measured.most) : measured.median; }
  double allowed() const { return bound ? std::max(bound->relative * nearest(), bound->absolute) : 0; }
  bool within() const { return !bound || std::abs(simulated - nearest()) <= allowed(); }
  bool held() const { return within() || limit != 0; }
};

struct CaseValidation {
  std::string algorithm;                                        // the program that was simulated
  std::array<std::optional<Comparison>, figure_count> figures;  // absent where it was not measured, or cannot be compared
  std::string not_simulated;                                    // why there is no simulation; else empty
  double kv_in_flight_bytes = 0, effective_l2_bytes = 0;        // what decides the bound of hbm_read
  double host_seconds = 0;                                      // that the simulation took

  const std::optional<Comparison>& figure(Figure f) const { return figures[static_cast<std::size_t>(f)]; }
  bool kv_fits() const { return kv_in_flight_bytes <= effective_l2_bytes; }
  /// Simulated, and every figure within its bound or held by a numbered limit.
  bool held() const;
  bool within_bounds() const;
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

CaseValidation compare(const Simulation& simulation, const MeasuredCase& measured);
/// Simulates the case on `gpu` with the tile and at the SM clock that it was measured with, compares, and looks for the limits that
/// hold what is beyond its bound. What cannot be simulated says why in `not_simulated`.
/// Errors  cancelled.
Result<CaseValidation> simulate_case(const GpuSpec& gpu, const MeasuredCase& measured, const Progress& progress = {});

/// Errors of one figure over some cases.
struct ErrorSummary {
  int cases = 0, bounded = 0, beyond = 0;  // compared; of these with a bound, and beyond it
  int limited = 0;                         // of those beyond: held by a numbered limit
  double sum = 0, worst = 0;               // of the size of the error
  std::size_t worst_case = 0;              // index into the bundle's cases

  double mean() const { return cases > 0 ? sum / cases : 0; }
  /// Takes case `index` in; not where there is nothing to compare, or nothing was measured.
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
  int beyond_bounds = 0;              // cases of which some figure is, and no numbered limit holds it
  int limited = 0;                    // cases that are not within their bounds but held by numbered limits
  int not_simulated = 0;
  bool mean_time_held = true;
  /// Every bound held, or a numbered limit where not, and every case was simulated.
  bool held() const { return beyond_bounds == 0 && not_simulated == 0 && mean_time_held; }
};

/// `results` belong to `cases` one by one.
ValidationSummary summarise(std::span<const MeasuredCase> cases, std::span<const CaseValidation> results);

/// Spearman's rank correlation, ties sharing their mean rank. nullopt below three points, or where one side is all equal.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace tilescope
