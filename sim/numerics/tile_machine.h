// The tile machine: executes a program's operations on real values, so that every S, P, m, l, alpha and O can be looked at.
//
//   Inputs (seeded, or a user's matrix) ─► HbmValues ─► run_block() ─► BlockHistory: any slot after any operation
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/matrix.h"

namespace tilescope {

/// Where Q, K and V come from. Any element can be had without making the rest.
struct InputSource {
  std::uint64_t seed = 1;
  double spread = 1.0;  // standard deviation of the seeded values
  /// A user's own matrix for one plane; the same for every plane. Shape [seq, head_dim].
  std::shared_ptr<const Matrix> q, k, v;
  float value(const AttentionProblem& problem, Tensor tensor, std::int64_t plane, std::int64_t row, std::int64_t col) const;
};

/// Reads a matrix from CSV text (comma, semicolon, tab or blanks between numbers; # starts a comment).
/// Errors  empty, not numbers, ragged rows, not finite, more than 1024 x 256 — with the line.
Result<Matrix> parse_csv_matrix(std::string_view text, std::string_view origin);

/// Values of one block, after any of its operations.
class BlockHistory {
 public:
  virtual ~BlockHistory() = default;
  virtual int launch() const = 0;
  virtual std::int64_t block() const = 0;
  virtual const BlockOperations& operations() const = 0;
  /// The slot's value after operation `op` (-1: before the first); nullptr while it holds nothing.
  virtual std::shared_ptr<const Matrix> value(Slot slot, int op) const = 0;
  /// False where values far from the last one asked for cost the time of running an iteration again.
  virtual bool keeps_everything() const = 0;
  /// Whether value() would answer at once.
  virtual bool at_hand(Slot /*slot*/, int /*op*/) const { return true; }
};

/// Runs one block, with what earlier launches must have written for it.
/// Types   operands are rounded to the problem's type where the kernel holds them so (Q, K, V, P as operand, S and O in HBM);
///         sums are fp32
/// Errors  a user's matrix of another shape, a launch or block that is not there, cancelled
Result<std::shared_ptr<const BlockHistory>> run_block(const TileProgram& program, const InputSource& inputs, int launch,
                                                      std::int64_t block, const Progress& progress = {});

/// Runs every block of every launch and returns one plane of an HBM tensor ([rows, cols]) as the program left it.
Result<Matrix> run_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor,
                         const Progress& progress = {});

/// The same plane in float64, straight from the definition, rounded once. Takes o, p, s, lse.
/// Source  arXiv:2205.14135, section 2.2
Matrix reference_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor);

/// ‖a − b‖ / ‖b‖ (Frobenius).
double relative_error(const Matrix& a, const Matrix& b);

}  // namespace tilescope
