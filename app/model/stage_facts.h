// StageFacts: what the stage needs to know of a simulation's program, learned from a few of its blocks once and off the frame: a
// block of flash1 is hundreds of thousands of operations.
#pragma once

#include <algorithm>
#include <vector>

#include "app/model/program_shape.h"
#include "app/model/tile_history.h"

namespace tilescope {

/// How fast bytes cross the links of the whole chip, as the timeline's curves have it: a transfer crosses before it ends.
struct LinkRates {
  double bin_width = 0;
  std::vector<std::vector<double>> hbm;  // bytes in each bin, both ways, by tensor
  std::vector<std::vector<double>> l2;   // to the SMs, and from them

  /// Return bytes per cycle in the bin of `cycle`.
  double hbm_at(Tensor tensor, double cycle) const { return rate(hbm[tensor.index()], cycle); }
  double l2_at(double cycle) const { return rate(l2[0], cycle) + rate(l2[1], cycle); }

 private:
  double rate(const std::vector<double>& bytes, double cycle) const {
    if (bytes.empty() || bin_width <= 0 || cycle <= 0) return 0;
    return bytes[std::min(static_cast<std::size_t>(cycle / bin_width), bytes.size() - 1)] / bin_width;
  }
};
LinkRates make_link_rates(const Simulation& simulation);

struct StageFacts {
  std::vector<ProgramShape> shapes;  // by launch
  std::vector<BlockMap> maps;        // by launch
  LinkRates rates;
};

StageFacts make_stage_facts(const Simulation& simulation);

}  // namespace tilescope
