// ProbeComparison: one row as the real kernel had it, beside the tile machine's on the same numbers: m, l and alpha, or S, P, dP
// and dS of a backward kernel.
#pragma once

#include <memory>
#include <vector>

#include "app/model/measurements/measurements.h"

namespace tilescope {

/// One step of the followed row.
struct ComparedStep {
  ProbedStep kernel, machine;
};

/// One key of the followed row of a backward kernel.
struct ComparedPair {
  ProbedPair kernel, machine;
};

struct ProbeComparison {
  std::shared_ptr<const KnownProbe> probe;
  int launch = 0;              // of the program,
  std::int64_t block = 0;      // its block that has the row, or of a backward kernel the row's first keys,
  std::int64_t first_row = 0;  // the first row of the tile that has it,
  int row = 0;                 // and which row of the tile it is
  int telling_op = -1;         // of the block: after it the row's numbers are there; m, l and alpha past the first tile of several
  std::vector<ComparedStep> steps;
  std::vector<ComparedPair> pairs;  // by key

  /// Returns the largest difference relative to the tile machine's value, over all steps; m relative to at least 1, since it may
  /// pass 0.
  ProbedStep worst() const;
  /// Returns the same of the pairs.
  ProbedPair worst_pair() const;
};

/// Returns |kernel − machine| / |machine|; of the maximum, relative to at least 1.
ProbedStep difference(const ComparedStep& step);
/// Returns the same of a key. S and dP are relative to at least 1, since they may pass 0, and dS = P (dP - D) to at least P.
ProbedPair difference(const ComparedPair& pair);

/// Runs the block of the probe's row on the tile machine, on the numbers that the kernel read; of a backward kernel, all blocks
/// that own keys of the row's key head. Errors  no block has the row; other steps than the kernel's; of a backward kernel, more
/// than 2²⁴ pairs of a query and a key; those
///         of run_block(); cancelled
Result<std::shared_ptr<const ProbeComparison>> compare_probe(const TileProgram& program, std::shared_ptr<const KnownProbe> known,
                                                             const Progress& progress = {});

}  // namespace tilescope
