// FigureErrors: how far predicted times and HBM bytes were off, on the recorded runs of a program.
//
//   validation_tables.h ──► KnownBundle::time_errors, by case ── time_errors_of() ──► FigureErrors ──► error_sentences.h
#pragma once

#include <string>

#include "app/model/measurements/measurements.h"
#include "sim/analysis/outcome.h"
#include "sim/core/result.h"

namespace tilescope {

/// A run whose time is predicted: all that decides which recorded runs are like it.
struct PredictedRun {
  const SimulationRequest& request;
  double ns = 0;               // at the clock that is shown
  bool l2_may_decide = false;  // how many reads share a lookup is not known, and could decide the time
};
PredictedRun predicted(const Simulation& simulation);
PredictedRun predicted(const SimulationRequest& request, const Outcome& outcome);

/// The errors of a predicted figure over recorded runs, each at the clock of its recording.
struct FigureErrors {
  std::string kernel;          // whose runs they are
  int runs = 0;                // that the mean is over
  int all_runs = 0;            // that the worst is of: with those that the model was made with
  bool is_short = false;       // of runs that are predicted to take less than short_run_ns, as the one asked for; else of others
  bool held_out = false;       // the model had not seen these runs; otherwise it was made with them
  bool other_tile = false;     // the runs have the kernel's own tile, and the request has another
  bool of_unchanged = false;   // the runs are on the GPU as it is, and the request has changed values
  double mean = 0, worst = 0;  // of the absolute relative error
};
/// Returns the errors of a program on its GPU: of short runs for a short one, of the others else. The mean is of the runs that the
/// model had not seen, or of all where it had seen all; the worst is of all. FlashAttention-3 has the runs of the rung that it
/// launches where none is recorded under its own name. This is the one rule of every view and report. Errors  the GPU was never
/// built, or is of a file with other numbers than the recorded one; nothing is recorded of the program, or
///         of both its passes in one run; no kernel could run the request; it is shorter or longer, or has fewer or more queries or
///         keys, than every recorded run; its GPU has changed values and the L2 may decide
Result<FigureErrors> time_errors_of(const Measurements& known, const PredictedRun& run);
/// Returns the errors of the bytes of a link between HBM and L2, over those of the same runs that have its counter.
/// Errors  those of time_errors_of(); none of the runs has the counter
Result<FigureErrors> byte_errors_of(const Measurements& known, const PredictedRun& run, Link link);

}  // namespace tilescope
