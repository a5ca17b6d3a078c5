// Validation: compares the simulated figures of measured cases with their bounds, and summarises a bundle.
//
//   MeasuredCase ── simulate_case() ──► CaseValidation (8 figures, each with a verdict) ── summarise() ──► ValidationSummary
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

/// The figures of a comparison. `time` uses the measured SM clock, and is compared with events from a cold L2. `reduced` is the
/// part of `sm_to_l2` that a backward pass adds to memory; a forward pass does not have it.
enum class Figure : std::uint8_t { l2_to_sm, sm_to_l2, hbm_read, hbm_write, hbm_write_after_flush, cycles, time, reduced };
inline constexpr int figure_count = 8;
inline constexpr std::array<Figure, figure_count> all_figures = {
    Figure::l2_to_sm, Figure::sm_to_l2, Figure::hbm_read, Figure::hbm_write, Figure::hbm_write_after_flush,
    Figure::cycles,   Figure::time,     Figure::reduced};
std::string_view to_string(Figure figure);  // "l2_to_sm", … "hbm_write_after_flush", "cycles", "time", "sm_to_l2_reduce"
std::optional<Figure> figure_from(std::string_view name);

/// Formats a figure's value: "1.50 GB", "12 345" cycles, "3.2 ms".
std::string figure_text(Figure figure, double value);

/// The largest allowed error of a figure: the larger of the two.
struct ErrorBound {
  double relative = 0;  // share of the measured value
  double absolute = 0;  // in the figure's unit
};

// The bounds, as docs/validation.md states them.
inline constexpr ErrorBound sm_link_bound = {0.001, 64 * 1024};
/// A cold kernel also reads its instructions, constants, parameters and page tables.
inline constexpr double hbm_read_floor_bytes = 128 * 1024;
inline constexpr ErrorBound hbm_read_bound_in_l2 = {0.02, hbm_read_floor_bytes};
inline constexpr ErrorBound hbm_read_bound_beyond_l2 = {0.10, hbm_read_floor_bytes};
inline constexpr ErrorBound hbm_write_bound = {0.05, 2 * 1024 * 1024};
inline constexpr ErrorBound time_bound = {0.20, 0};
inline constexpr double mean_time_error_bound = 0.08;

/// Returns "B4 H32/8 N4096 d128 fp16 causal"; KV heads and keys appear only if they differ from heads and queries.
std::string short_text(const AttentionProblem& problem);
/// Returns the same of a case, with its masks and score change: "B1 H16 N4096 d64 fp16 sliding_window:window=256".
std::string short_text(const MeasuredCase& measured);

/// Returns the case's problem with its mask and score change.
/// Errors  those of settle_masks(): a text that reads a table, which no recording holds; cancelled
Result<AttentionProblem> settled_problem(const MeasuredCase& measured);

/// The verdict on a figure with a bound, from best to worst.
///
///   |simulated - median| <= bound                              within
///   at most the bound outside the range of all placements      within_spread   the hardware itself varies as much
///   listed as a known miss, and |error| <= its cap             known_miss
///   otherwise                                                  fails
enum class Verdict : std::uint8_t { within, within_spread, known_miss, fails };
inline constexpr int verdict_count = 4;
inline constexpr std::array<Verdict, verdict_count> all_verdicts = {Verdict::within, Verdict::within_spread, Verdict::known_miss,
                                                                    Verdict::fails};
std::string_view to_string(Verdict verdict);  // "within", "within_spread", "known_miss", "fails"
std::optional<Verdict> verdict_from(std::string_view name);

/// One figure of one case that the model is known to miss, reviewed by hand. known_misses.h describes the file.
struct KnownMiss {
  std::string kernel, problem;  // the problem as short_text() writes it
  Figure figure{};
  double cap = 0;     // largest absolute value of the relative error
  std::string cause;  // the measured cause, in a sentence or two
};

/// One figure of one case, in bytes, cycles or nanoseconds.
struct Comparison {
  double simulated = 0;
  Spread measured;
  std::optional<ErrorBound> bound;  // absent: the figure is only reported
  /// The tensors were measured in several memory placements.
  bool in_many_places = false;
  std::optional<KnownMiss> known;

  double difference() const { return simulated - measured.median; }
  /// Returns the signed error relative to the measured median; infinite if the median is 0 and the simulated value is not.
  double error() const;
  /// Returns the measured value nearest to the simulated one: within the range of all placements, otherwise the median.
  double nearest() const { return in_many_places ? std::clamp(simulated, measured.least, measured.most) : measured.median; }
  double allowed() const { return bound ? std::max(bound->relative * nearest(), bound->absolute) : 0; }
  /// Returns whether the simulated value is within the bound around nearest().
  bool within() const { return !bound || std::abs(simulated - nearest()) <= allowed(); }
  /// Returns whether it is within the bound around the median.
  bool within_of_median() const;
  /// Returns nullopt without a bound.
  std::optional<Verdict> verdict() const;
};

struct CaseValidation {
  std::string algorithm;                                        // the simulated program
  std::array<std::optional<Comparison>, figure_count> figures;  // absent if not measured, or not comparable
  std::optional<Comparison> l2_lookups;                         // bytes that the L2 looks up for reads; only reported
  std::string not_simulated;                                    // why it was not simulated; empty if it was
  double kv_in_flight_bytes = 0, effective_l2_bytes = 0;        // they decide the bound of hbm_read
  double host_seconds = 0;                                      // duration of the simulation

  const std::optional<Comparison>& figure(Figure f) const { return figures[static_cast<std::size_t>(f)]; }
  bool kv_fits() const { return kv_in_flight_bytes <= effective_l2_bytes; }
  /// Returns the worst verdict of its figures; `fails` if it was not simulated; nullopt if no figure has a bound.
  std::optional<Verdict> verdict() const;
};

/// The program that simulates a kernel: the one of the same id; for a library kernel the one that moves the same tensors; for a
/// variant of a kernel the same one in the variant's order.
struct Counterpart {
  std::string algorithm;
  BlockOrder block_order = BlockOrder::launch;
  KeyOrder key_order = KeyOrder::ascending;
  /// A library computes the products, with unknown tiles. So SM traffic and time are not compared, and no bound applies.
  bool library = false;
};
Counterpart counterpart_of(std::string_view kernel);

/// Returns the most bytes of K and V that the resident blocks of any launch may read at once, wherever in the grid they are.
Bytes kv_in_flight(const Simulation& simulation);
/// Returns the capacity of the L2 for data that every SM reads: with two partitions half of it, because both keep a copy.
Bytes effective_l2(const GpuSpec& gpu);

/// The simulated figures of a case: everything that a comparison needs.
struct SimulatedFigures {
  std::string algorithm;
  std::array<double, figure_count> figures{};
  std::optional<double> l2_lookup_read_bytes;  // absent where it was not kept
  double kv_in_flight_bytes = 0, effective_l2_bytes = 0;
};
/// Returns the figures of a simulation, with the time at the SM clock of the measurement.
SimulatedFigures figures_of(const Simulation& simulation, const MeasuredCase& measured);

CaseValidation compare(const SimulatedFigures& simulated, const MeasuredCase& measured, std::span<const KnownMiss> known = {});
CaseValidation compare(const Simulation& simulation, const MeasuredCase& measured);
/// Simulates a case on `gpu`, with the tile and the SM clock of the measurement, and compares. If simulate() refuses it, the result
/// says why in `not_simulated`.
/// Errors  cancelled
Result<CaseValidation> simulate_case(const GpuSpec& gpu, const MeasuredCase& measured, std::span<const KnownMiss> known = {},
                                     const Progress& progress = {});

/// Counts of each verdict, and of figures without a bound.
struct VerdictCounts {
  std::array<int, verdict_count> of{};
  int unbounded = 0;
  int operator[](Verdict verdict) const { return of[static_cast<std::size_t>(verdict)]; }
  void add(const std::optional<Verdict>& verdict);
  int bounded() const { return of[0] + of[1] + of[2] + of[3]; }
  int beyond() const { return (*this)[Verdict::known_miss] + (*this)[Verdict::fails]; }
};

/// The errors of one figure over several cases.
struct ErrorSummary {
  int cases = 0;               // comparisons with a finite error
  VerdictCounts verdicts;      // of all comparisons
  double sum = 0, worst = 0;   // of the absolute relative error
  std::size_t worst_case = 0;  // index into the bundle's cases

  double mean() const { return cases > 0 ? sum / cases : 0; }
  /// Adds case `index` if it has a comparison.
  void add(const std::optional<Comparison>& comparison, std::size_t index);
};

/// The summary of several cases, such as those of one kernel or of one list.
struct GroupSummary {
  std::string name;
  int cases = 0, not_simulated = 0;
  std::array<ErrorSummary, figure_count> figures;
  ErrorSummary l2_lookups;
  std::optional<double> time_rank_correlation;  // Spearman's, of simulated and measured time; absent for fewer than three cases
  const ErrorSummary& figure(Figure f) const { return figures[static_cast<std::size_t>(f)]; }
};

struct ValidationSummary {
  std::vector<GroupSummary> kernels;  // in the order of the bundle
  std::vector<GroupSummary> lists;    // "build", "judge" and any other list, without library kernels
  GroupSummary all;                   // without library kernels
  VerdictCounts cases, figures;       // over all cases; a case has the worst verdict of its figures
  int not_simulated = 0;              // these cases count as failed
  bool mean_time_held = true;
  bool fails() const { return cases[Verdict::fails] > 0 || !mean_time_held; }
};

/// Summarises validated cases; results[i] belongs to cases[i].
ValidationSummary summarise(std::span<const MeasuredCase> cases, std::span<const CaseValidation> results);

/// Returns Spearman's rank correlation; ties share their mean rank. nullopt for fewer than three points, or if `a` or `b` is
/// constant.
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace tilescope
