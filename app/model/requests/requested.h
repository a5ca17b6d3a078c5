// Requested: what the controls ask to be simulated, and the last request that could be.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/model/requests/racers.h"
#include "sim/analysis/validation.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

/// Loads a GPU by id or path; given by main, so that the session knows no files.
using GpuLoader = Result<GpuSpec> (*)(std::string_view id_or_path);

/// Returns the program of masks and pages that takes the place of the requested one, for a problem: a kernel of Hopper stays one
/// where it can.
std::string program_of_masks(const SimulationRequest& request, const AttentionProblem& problem);

struct Requested {
  SimulationRequest request;  // what the controls show; may be newer than the simulation on screen
  Race race;
  InputSource inputs;                // as the user gave them
  std::string gpu_source;            // what the GPU was loaded by: its id, or the path of a file
  GpuSpec gpu_base;                  // the GPU as its file has it, without overrides
  std::vector<std::string> gpu_ids;  // that can be asked for by name; the person's own by path

  SimulationRequest good_request;  // of the simulation on screen, as it was asked for
  Race good_race;
  std::string good_gpu_source;
  GpuSpec good_gpu_base;

  /// Takes another GPU, with the tile and the blocks per SM that its kernel has.
  void set_gpu(std::string source, GpuSpec gpu);
  /// Adds a GPU's file to those that can be asked for by name.
  void add_gpu(std::string path);
  /// Takes a problem; if its K and V are newly in pages, with a program that reads them.
  void set_problem(const AttentionProblem& problem);
  /// Takes masks and a change of scores, with the program that has them where the one before takes none.
  void set_masking(MaskChoice choice);
  /// "l2.capacity_bytes=0". Errors  those of set_spec_value().
  Status set_spec_value(std::string_view assignment);
  /// Gives a key of the GPU back what its file says; every key where `key` is empty.
  void reset_spec_value(std::string_view key);
  /// Takes a measured case; `other_gpu` is the one it was measured on where that is not the requested one as its file has it.
  void open_case(std::optional<GpuSpec> other_gpu, const Counterpart& program, const AttentionProblem& problem,
                 const TileShape& tile);
  /// Puts a user's matrix in the place of Q, K or V, or seeded values where `text` is empty. `origin` names the matrix in errors.
  /// Errors  no matrix; one of another shape than the problem's.
  Result<InputSource> with_matrix(Meaning tensor, std::string_view text, const Sentence& origin) const;
  /// Returns the inputs that have the problem's shape; seeded values stand in for the others.
  InputSource fitting_inputs(const AttentionProblem& problem) const;
  /// Errors  a matrix that does not have the shape of the requested problem.
  Status inputs_fit() const;

  /// `as_race` and the GPU's file are those of the time when `simulated` was asked for.
  void keep_good(const SimulationRequest& simulated, Race as_race, std::string source, GpuSpec base);
  /// Asks again for what is on screen.
  void back_to_good();
};

/// The control of a text of a mask's choice, which messages are of: "mask.0", "preset.1", "score"; and whether one is.
std::string mask_control(Setting where, std::size_t index);
bool is_mask_control(std::string_view control);

/// Returns the matrix of Q, K or V in a source of inputs; null if its values are random.
std::shared_ptr<const Matrix>& matrix_of(InputSource& inputs, Meaning tensor);
const std::shared_ptr<const Matrix>& matrix_of(const InputSource& inputs, Meaning tensor);

}  // namespace tilescope
