// KernelSource: a mask and a score change as the structs that the flex kernels call, FlexMask and FlexScore; for a backward pass
// also FlexSlope, the derivative of the score change by the score, and FlexReads, the reads of tables with a gradient.
//
//   A part of an expression is computed where it changes, and no oftener:
//
//     level     changes with      computed by                           kept in
//     constant  nothing           the host                              an argument: another value needs no compilation
//     uniform   b, h              one thread, once a block              shared memory
//     row       q                 a thread a query row, once a block    shared memory, unless it is cheap
//     column    kv                a thread a key, once a tile           shared memory, unless it is cheap
//     element   q and kv, score   every lane, for each of its scores    a register
//
//   In flex_backward a block that owns keys goes through several heads: uniforms and columns are then of a head, rows of a tile.
//
//   An int a·q + b·kv + … of an element is a row's number plus a constant of the register, so q - kv <= w is one comparison.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/masks/expression.h"
#include "sim/masks/table_gradient.h"

namespace tilescope {

enum class KernelLevel : std::uint8_t { constant, uniform, row, column, element };
std::string_view to_string(KernelLevel level);

/// A table that the kernel reads: an `element` node of the expression that it computes, and where it is read.
struct KernelTableRead {
  bool of_mask = false;
  std::int32_t node = 0;
  KernelLevel level = KernelLevel::element;  // never constant
  std::size_t table = 0;                     // in KernelSource::tables
};

/// One line of the text, and the column of the expression that it computes; 0: none.
struct KernelSourceLine {
  std::string text;
  std::uint32_t column = 0;
};

struct KernelSource {
  std::vector<KernelSourceLine> mask, score, slope;  // the structs, line by line; slope: of a backward pass
  std::vector<KernelSourceLine> table_reads;         // empty where no table has a gradient
  std::vector<std::uint32_t> scalars;                // FlexArguments::scalars
  TableList tables;                                  // FlexArguments::tables
  std::vector<KernelTableRead> reads;                // in the order of their loads
  // 32-bit words of shared memory: a block's, a query row's, and a key's in each buffer of the ring.
  int uniforms = 0, rows = 0, columns = 0;
  bool shares_reciprocals = false;  // whether the score change has a tanh or sigmoid whose reciprocals the kernel takes

  /// Returns what NVRTC compiles between the prelude and the kernel: equal texts are equal kernels.
  std::string text() const;
};

/// Plans and writes both expressions; null where there is none. The mask is computed as split_remainders() has it.
/// Leaves out  checks of indices: they are clamped, and the host has looked at every element before
KernelSource kernel_source(const Expression* mask, const Expression* score);

/// Does the same for a backward pass. `slope`: the derivative of the score change by the score; null where it is 1.
KernelSource backward_kernel_source(const Expression* mask, const Expression* score, const Expression* slope,
                                    std::span<const TableGradient> gradients = {});

}  // namespace tilescope
