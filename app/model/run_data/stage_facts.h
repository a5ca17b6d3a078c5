// StageFacts: what the stage needs to know of a simulation's program, learned from a few of its blocks once and off the frame: a
// block of flash1 is hundreds of thousands of operations.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "app/model/run_data/program_shape.h"
#include "app/model/run_data/tile_accesses.h"

namespace tilescope {

/// How fast bytes cross the links of the whole chip. A transfer is booked at a moment, and crosses before or after it.
struct LinkRates {
  double bin_width = 0;
  std::vector<std::array<double, most_tensors>> hbm;  // bytes in each bin, both ways
  std::array<std::vector<double>, 2> l2;              // to the SMs, and from them

  /// Return bytes per cycle in the bin of `cycle`.
  double hbm_at(Tensor tensor, double cycle) const { return is_known(cycle) ? hbm[bin_of(cycle)][tensor.index()] / bin_width : 0; }
  double l2_at(double cycle) const { return is_known(cycle) ? (l2[0][bin_of(cycle)] + l2[1][bin_of(cycle)]) / bin_width : 0; }

 private:
  bool is_known(double cycle) const { return !hbm.empty() && bin_width > 0 && cycle > 0; }
  std::size_t bin_of(double cycle) const { return std::min(static_cast<std::size_t>(cycle / bin_width), hbm.size() - 1); }
};
LinkRates make_link_rates(const Simulation& simulation);

struct StageFacts {
  std::vector<ProgramShape> shapes;  // by launch
  std::vector<BlockMap> maps;        // by launch
  LinkRates rates;
};

StageFacts make_stage_facts(const Simulation& simulation);

}  // namespace tilescope
