// Exactness: O of two algorithms on the same inputs, element by element, and attention in float64.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// One plane of O from both runs of a race.
struct Exactness {
  Matrix first, second, reference;                   // the reference is computed in float64 and rounded once
  double first_error = 0, second_error = 0;          // largest |O - reference|
  double between = 0;                                // largest |first - second|
  double rounding = 0;                               // distance of neighbouring values of the type at the largest |reference|
  double first_hbm_bytes = 0, second_hbm_bytes = 0;  // both ways, by the end of the run

  /// Both results are as close to float64 as a few roundings allow.
  bool same_answer() const;
};

/// Whether both runs write O and are small enough to be executed in full.
bool can_compare_outputs(const Simulation& first, const Simulation& second);
/// Where both runs write O and are too large to be executed: the most queries, halved from those of the runs, for which they are
/// not, with as many keys a query; 0 if even one query is too large. nullopt where the runs are not too large.
std::optional<std::int64_t> queries_that_can_be_compared(const Simulation& first, const Simulation& second);

/// Executes both programs on `inputs` and compares plane 0 of O.
/// Limits  can_compare_outputs()
/// Errors  those of run_plane()
Result<Exactness> compare_outputs(const Simulation& first, const Simulation& second, const InputSource& inputs,
                                  const Progress& progress = {});

}  // namespace tilescope
