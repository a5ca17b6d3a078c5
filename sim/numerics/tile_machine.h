// The tile machine executes a program's operations on real values, so that every S, P, m, l, alpha and O can be inspected.
//
//   InputSource (seeded, or a user's matrix) ─► run_block() ─► BlockValues: any on-chip tile after any operation
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/matrix.h"
#include "sim/core/result.h"
#include "sim/engine/simulation.h"

namespace tilescope {

class HbmImage;

/// The source of Q, K, V and dO. Any element can be computed on its own. A backward program that runs alone finds the forward
/// results of the float64 reference in HBM.
struct InputSource {
  std::uint64_t seed = 1;
  double spread = 1.0;  // standard deviation of the seeded values
  /// A user's values. Shape [seq, head_dim], used for every plane, or [planes * seq, head_dim], plane after plane.
  std::shared_ptr<const Matrix> q, k, v, d_o;
  float value(const AttentionProblem& problem, Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t col) const;
};
/// Returns whether both give every element of Q, K and V the same value.
bool same_numbers(const InputSource& a, const InputSource& b);

/// Reads a matrix from CSV text with commas, semicolons, tabs or blanks between numbers; # starts a comment.
/// Errors  empty, not numbers, ragged rows, not finite, more than 1024 x 256; each with the line
Result<Matrix> parse_csv_matrix(std::string_view text, const Sentence& origin);

/// The values of one block's on-chip tiles after any of its operations.
class BlockValues {
 public:
  virtual ~BlockValues() = default;
  virtual int launch() const = 0;
  virtual std::int64_t block() const = 0;
  virtual const BlockOperations& operations() const = 0;
  /// Returns the on-chip tile's value after operation `op` (-1: before the first); nullptr while it holds nothing. If each strip of
  /// the block's rows has its own, returns that of the strip that `op` works on.
  virtual std::shared_ptr<const Matrix> value(ChipTile chip_tile, int op) const = 0;
  /// Returns the last operation before `op` that works on the same strip of the block's rows; -1 if there is none. The value of a
  /// on-chip tile after it is the one that `op` finds.
  int before(int op) const {
    const std::vector<Operation>& all = operations().operations;
    int earlier = op - 1;
    if (op < 0 || op >= static_cast<int>(all.size())) return earlier;
    while (earlier >= 0 && all[static_cast<std::size_t>(earlier)].strip != all[static_cast<std::size_t>(op)].strip) --earlier;
    return earlier;
  }
  /// Returns what a reduce_add finds where it adds, if the blocks of its launch run in order. nullptr if that is not known: for
  /// other operations, and where the blocks before it are too much work (most_flops_for_sums).
  virtual std::shared_ptr<const Matrix> sums_found(int /*op*/) const { return nullptr; }
  /// Returns false if value() may have to rerun an iteration.
  virtual bool keeps_everything() const = 0;
  /// Returns whether value() would answer without a rerun.
  virtual bool at_hand(ChipTile /*chip_tile*/, int /*op*/) const { return true; }
};

/// The blocks of a launch that add before a block are run for BlockValues::sums_found() up to this many operations of products.
inline constexpr std::int64_t most_flops_for_sums = 4'000'000'000;

/// Runs one block, after the blocks of earlier launches that it depends on.
/// Types   inputs, operands of products and what lies in HBM are rounded to the type of their tensor, as in the kernel; sums are
/// fp32 Errors  a user's matrix of another shape, a launch or block that does not exist, cancelled
Result<std::shared_ptr<const BlockValues>> run_block(const TileProgram& program, const InputSource& inputs, int launch,
                                                     std::int64_t block, const Progress& progress = {});

/// What a program leaves in HBM once blocks of it ran. The program must outlive it.
class FinishedRun {
 public:
  FinishedRun(const TileProgram& program, std::shared_ptr<const HbmImage> image) : program_(program), image_(std::move(image)) {}
  /// Returns one plane of a tensor that the blocks wrote, [rows, cols].
  Matrix plane(std::int64_t plane, Tensor tensor) const;

 private:
  const TileProgram& program_;
  std::shared_ptr<const HbmImage> image_;
};

/// Runs all blocks that work on one plane of a tensor and returns the plane, [rows, cols], as the program leaves it in HBM.
Result<Matrix> run_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor,
                         const Progress& progress = {});

/// Runs the blocks of run_plane(), for whoever reads several tensors that they write.
/// Errors  those of run_plane()
Result<FinishedRun> run_blocks_of_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor,
                                        const Progress& progress = {});

/// Runs all blocks of a program, for whoever reads several tensors or planes of one run.
/// Errors  those of run_plane()
Result<FinishedRun> run_whole(const TileProgram& program, const InputSource& inputs, const Progress& progress = {});

/// Returns ‖a − b‖ / ‖b‖ in the Frobenius norm.
double relative_error(const Matrix& a, const Matrix& b);

}  // namespace tilescope
