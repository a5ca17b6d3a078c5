// ProbeComparison: m, l and alpha of one row as the real kernel had them, beside the tile machine's on the same numbers.
#pragma once

#include <memory>
#include <vector>

#include "app/model/measurements/measurements.h"

namespace tilescope {

/// One step of the followed row.
struct ComparedStep {
  ProbedStep kernel, machine;
};

struct ProbeComparison {
  std::shared_ptr<const KnownProbe> probe;
  int launch = 0;              // of the program,
  std::int64_t block = 0;      // its block that has the row,
  std::int64_t first_row = 0;  // the first row of the tile that has it,
  int row = 0;                 // and which row of the tile it is
  int telling_op = -1;         // of the block: after it m, l and alpha of the row are there, past its first tile where it has more
  std::vector<ComparedStep> steps;

  /// The largest difference relative to the tile machine's value, over all steps; m relative to at least 1, since it may pass 0.
  ProbedStep worst() const;
};

/// |kernel − machine| / |machine|, the maximum relative to at least 1.
ProbedStep difference(const ComparedStep& step);

/// The block of a launch that has a row of a plane; nullopt where none has.
std::optional<std::int64_t> block_of_row(const TileProgram& program, int launch, std::int64_t plane, std::int64_t query);

/// Runs the block of the probe's row on the tile machine, on the numbers that the kernel read.
/// Errors  a program whose block does not have the row, or other steps than the kernel; those of run_block(); cancelled.
Result<std::shared_ptr<const ProbeComparison>> compare_probe(const TileProgram& program, std::shared_ptr<const KnownProbe> probe,
                                                             const Progress& progress = {});

}  // namespace tilescope
