// TableSums: what flex_backward does for the gradients of captured tables besides gathering them: the zeros before, the sums in
// order after, and the bytes of all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/programs/block_builder.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/gathered_reads.h"

namespace tilescope {

class TableSums {
 public:
  struct Lines {
    LineId zero, store_zero, zero_sums, load_parts, sum_parts, store;
  };
  /// `plan` must outlive it.
  TableSums(const AttentionProblem& problem, const TileShape& tile, const BlockPlan& plan, const Lines& lines);

  /// Returns the reads of tables with a gradient; none: there is nothing to do.
  const std::vector<GatheredRead>& reads() const { return reads_; }
  /// Returns the blocks of the launch that adds in order: those of each such table, row after row.
  std::int64_t blocks() const;
  /// Emits the zeros of a block of the first launch, which has `blocks`.
  void emit_zeros(BlockBuilder& b, std::int64_t block, std::int64_t blocks) const;
  /// Emits a block of the launch that adds in order. Returns its tile iterations.
  std::int64_t emit_sums(BlockBuilder& b, std::int64_t block) const;
  /// Appends the terms of all. Returns false where their bytes depend on which numbers a tile meets.
  bool add_terms(ClosedForm& form, std::int64_t zero_blocks) const;

 private:
  class PartsOfChunk;

  TableBox zero_share(Tensor tensor, std::int64_t block, std::int64_t blocks) const;
  std::span<const TableGradient> gradients() const;

  const AttentionProblem problem_;
  const BlockPlan& plan_;
  const Lines lines_;
  std::vector<GatheredRead> reads_;
};

}  // namespace tilescope
