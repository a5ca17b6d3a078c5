// The clock of runs that are compared or ranked on one GPU: that which the GPU holds under the first of them, or of several
// programs under the fastest. With a clock each, the clock could decide which comes first: recorded clocks differ by up to a fifth.
#pragma once

#include <span>
#include <string>

#include "app/model/measurements/clock_under_load.h"

namespace tilescope {

/// Returns a request at the clock of a comparison; 0 changes nothing, and a clock that the user chose stays.
SimulationRequest at_clock(SimulationRequest request, double clock_hz);
/// Returns the clock for runs that are compared with `first`; 0 where the highest stays, because none is known under load or the
/// user chose one. It simulates `first`. Errors  cancelled
Result<double> clock_of_comparison(const SimulationRequest& first, const Recordings& recordings, const Progress& progress = {});

/// The clock of several programs on one problem.
struct RankingClock {
  double hz = 0;               // 0: the highest, because none is known under load or the user chose one
  std::string algorithm = {};  // under which the GPU holds it: that with the fewest cycles at the highest clock
};
/// Returns the clock for programs that are ranked, on `threads` threads. Of equally fast ones it is that of the last. A request
/// that is refused does not count. Errors  cancelled
Result<RankingClock> clock_of_ranking(std::span<const SimulationRequest> requests, const Recordings& recordings, int threads,
                                      const Progress& progress = {});

}  // namespace tilescope
