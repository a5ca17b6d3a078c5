// AttentionProblem: the sizes and the element type of one attention call. TileShape: the tile that a program cuts it into.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

enum class DataType : std::uint8_t { fp16, bf16, fp32 };
enum class Pass : std::uint8_t { forward, backward, both };
/// The order of the pages of K and V in their pool: sequence after sequence, or mixed, as pages that came and went leave it.
enum class PageOrder : std::uint8_t { shuffled, contiguous };

constexpr int element_bytes(DataType type) {
  return type == DataType::fp32 ? 4 : 2;
}
std::string_view to_string(DataType type);
std::string_view to_string(Pass pass);
std::string_view to_string(PageOrder order);
std::optional<DataType> data_type_from(std::string_view name);
std::optional<Pass> pass_from(std::string_view name);
std::optional<PageOrder> page_order_from(std::string_view name);

class Mask;         // sim/core/mask.h
class ScoreChange;  // sim/masks/score_change.h

/// Describes one attention call.
/// Equation  O = softmax(scale * Q K^T + mask) V
/// Shapes    q,o [batch,heads,seq_q,head_dim]  k,v [batch,kv_heads,seq_kv,head_dim], contiguous, row-major
///           With a page_size, K and V lie in a pool of pages instead: see PageTable.
/// Limits    1 <= head_dim <= 256; heads % kv_heads == 0. Query head h reads key head h / (heads / kv_heads).
///           A causal mask aligns bottom right: query i sees keys j <= i + seq_kv - seq_q.
struct AttentionProblem {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t seq_q = 64;
  std::int64_t seq_kv = 64;
  std::int64_t head_dim = 16;
  DataType dtype = DataType::fp16;
  bool causal = false;
  Pass pass = Pass::forward;
  std::shared_ptr<const Mask> mask;                 // replaces `causal`; null: `causal` decides
  std::shared_ptr<const ScoreChange> score_change;  // applied to every score before the mask; null: none
  std::int64_t mask_block = 0;                      // edge of a block in the mask's block lists; 0: see mask_block_of()
  std::int64_t page_size = 0;                       // keys of a page of K and V; 0: they have no pages
  PageOrder page_order = PageOrder::shuffled;       // of a pool of pages

  bool operator==(const AttentionProblem&) const = default;

  double scale() const;  // 1 / sqrt(head_dim)
  /// Counts the planes (batch x heads) of Q.
  std::int64_t query_planes() const { return batch * heads; }
  /// Returns the plane of K and V (batch x kv_heads) that query plane `plane` reads.
  std::int64_t kv_plane_of(std::int64_t plane) const { return (plane / heads) * kv_heads + (plane % heads) / (heads / kv_heads); }
  std::int64_t kv_planes() const { return batch * kv_heads; }
  /// Returns how many query heads read one key head.
  std::int64_t heads_of_kv_head() const { return heads / kv_heads; }
  /// Returns the first of the query planes that read plane `kv_plane` of K and V. The others follow it.
  std::int64_t first_query_plane_of(std::int64_t kv_plane) const {
    return kv_plane / kv_heads * heads + kv_plane % kv_heads * heads_of_kv_head();
  }
  bool has_mask() const { return causal || mask != nullptr; }
  /// Returns the end of the key range that query `row` sees: one past the last visible key. `mask` may hide keys before it.
  std::int64_t visible_keys(std::int64_t row, std::int64_t plane = 0) const;
};

/// The rows of Q (Br) and the rows of K and V (Bc) in one tile.
struct TileShape {
  static constexpr std::int64_t most_rows = 4096;
  std::int64_t block_q = 16;
  std::int64_t block_kv = 16;
  bool operator==(const TileShape&) const = default;
};

/// Returns the block size of the mask's block lists: problem.mask_block if it is set. Otherwise 128 x 128, as in the kernels, if
/// both edges of the tile are at least 64 and divide 128. Otherwise the tile itself.
TileShape mask_block_of(const AttentionProblem& problem, const TileShape& tile);

/// Returns the pages of one sequence of a problem with pages. The last one may be partly filled.
std::int64_t pages_of_sequence(const AttentionProblem& problem);

/// Returns the setting to lower where the sequences are too long.
Setting longer_sequence(const AttentionProblem& problem);

/// Checks the sizes. Tensors that only some programs have, as S of standard attention, are for the check of HBM.
/// Errors  a size below 1, Q or K over 2^46 bytes, over 2^45 scores, head_dim over 256, heads not divisible by kv_heads
Status check(const AttentionProblem& problem);
Status check(const TileShape& tile);

}  // namespace tilescope
