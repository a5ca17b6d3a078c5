// The arithmetic of a queue that serves work in order of arrival, at one rate.
#pragma once

namespace tilescope {

/// Returns the cycles per unit of work; 0 for a rate of 0, which means that the resource is not modelled.
inline double cycles_per(double rate) {
  return rate > 0 ? 1 / rate : 0;
}

/// Queues `cycles` of work at `cycle` on a queue that is busy until `free`. Returns when the work is done.
inline double serve(double& free, double cycle, double cycles) {
  return free = (free > cycle ? free : cycle) + cycles;
}

}  // namespace tilescope
