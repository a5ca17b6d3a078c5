// Figures of lessons: what a name like hbm.K or standard.cycles is in a simulation.
//
//   [other.]figure[.part]      others: the variants that a scene names; "scene" is the page's scene itself
//
//   hbm hbm_read hbm_write l2_to_sm sm_to_l2 smem_read smem_write   bytes; the part is a tensor
//                                                                   hbm: both ways, with the write-back of what is dirty at the end
//   cycles us flops exps peak_hbm extra_hbm intensity ridge steps step
//   blocks waves blocks_per_sm smem_per_block                       of the launch that takes longest
//   block_q block_kv B H N Nk d element_bytes                       the problem and its tile
//   gpu.<spec key>   busy.<unit>   waits.<cause>   tiles.<kind>   error.<run or self>
//   row.<m m_old l l_old alpha>   row.<S P O>.<index>               the chosen row at the step
//   value.P.r0.c3   dot.dO.r0.V.r5                                  on-chip tiles after the step (lesson_values.h)
//   differ.<run>.<tensor>   apart.<run>.<tensor>                    elements with other bits in that run; the largest difference
//   measured.<hbm_read hbm_write us>                                the recorded case, where there is one
//   access.<wavefronts least conflicts sectors>                     what the access of the Banks view costs
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "app/model/measurements/measurements.h"
#include "app/model/state/bank_choice.h"
#include "sim/analysis/softmax_row.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// A simulation and where one stands in it.
struct FigureRun {
  std::shared_ptr<const Simulation> simulation;
  InputSource inputs;
  int focus_sm = 0;
  std::int64_t step = 0;
  std::optional<int> row;
  BankChoice banks;
};

/// Whether a name can be a figure of any simulation. `others` are the names of other runs.
/// Errors  an unknown run, figure or part: lists the nearest.
Status check_figure(std::string_view name, std::span<const std::string> others);

/// Runs by name, and what was worked out of them. The run without a name is the one that is asked first.
class FigureRuns {
 public:
  explicit FigureRuns(Measurements measured = {}) : measured_(std::move(measured)) {}

  void set(const std::string& name, FigureRun run);
  bool has(std::string_view name) const { return runs_.find(name) != runs_.end(); }
  const FigureRun& run(std::string_view name) const { return runs_.find(name)->second.run; }

  /// Returns the value of a name.
  /// Errors  those of check_figure(); a tensor that the program lacks; a row that is not there; O too large to compare; nothing
  ///         measured.
  Result<double> value(std::string_view text);

 private:
  struct Known {
    FigureRun run;
    std::optional<Result<SoftmaxRow>> row;
    std::optional<Result<double>> error;
  };
  Result<double> row_value(Known& known, std::string_view part);
  Result<double> error_value(Known& known);
  Result<double> measured_value(const Known& known, std::string_view part) const;

  Measurements measured_;
  std::map<std::string, Known, std::less<>> runs_;
};

}  // namespace tilescope
