// Tensors in HBM, their layouts, and the links that carry bytes. Only this file turns a tile into sectors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "sim/core/attention_problem.h"
#include "sim/core/units.h"

namespace tilescope {

/// What a tensor stands for. A meaning has the same colour and explanation in every program. TensorSpec::gradient marks dL/dX.
enum class Meaning : std::uint8_t {
  query,
  key,
  value,
  score,
  probability,
  output,
  log_sum_exp,
  row_max,
  row_sum,
  row_dot,  // D = rowsum(dO * O) of a backward pass
  bias,
  table  // block masks, page tables and other indices
};
inline constexpr int meaning_count = 12;

/// What the rows or columns of a tensor count. It decides their number and how a tile cuts them.
/// *_block: a block of the mask's block lists; key_page: a page of K and V. table_row, table_col: of a captured table, whose last
/// axis has the columns.
enum class Axis : std::uint8_t { one, query, key, head, query_block, key_block, key_page, table_row, table_col };
/// The planes of a tensor: B x H for queries, B x Hkv for keys. A mask has one plane for all heads, or batch and heads if it
/// depends on them. A page table has one for each sequence, a captured table one in all.
enum class Planes : std::uint8_t { query, key, mask, sequence, all };

/// A program's declaration of a tensor. Programs with the same tensor share the declaration.
struct TensorSpec {
  std::string_view name;  // "dQ"
  Meaning meaning = Meaning::query;
  std::uint8_t index = 0;  // unique among the tensors of a program, below most_tensors
  Planes planes = Planes::query;
  Axis rows = Axis::query, cols = Axis::head;
  std::optional<DataType> type;  // if absent, the problem's type
  bool gradient = false;
  std::int8_t table = -1;  // of the gradient of a captured table: its index in ScoreChange::table_gradients()
  std::int8_t read = -1;   // of the parts of such a gradient from one read: its index in ScoreChange::table_reads()
};

/// The most tensors that a program can declare.
inline constexpr int most_tensors = 40;

/// A handle to the declaration of a tensor, which must outlive it. Empty by default.
class Tensor {
 public:
  constexpr Tensor() = default;
  constexpr Tensor(const TensorSpec& spec) : spec_(&spec) {}  // converts: a declaration names its tensor

  Tensor(TensorSpec&&) = delete;  // would not outlive the handle

  constexpr explicit operator bool() const { return spec_ != nullptr; }
  constexpr const TensorSpec* operator->() const { return spec_; }
  constexpr std::size_t index() const { return spec_ != nullptr ? spec_->index : 0; }
  constexpr bool means(Meaning meaning) const { return spec_ != nullptr && spec_->meaning == meaning && !spec_->gradient; }
  /// Returns whether both stand for the same thing, possibly in different programs.
  constexpr bool means_as(Tensor other) const {
    return spec_ != nullptr && other.spec_ != nullptr && spec_->meaning == other.spec_->meaning &&
           spec_->gradient == other.spec_->gradient;
  }
  friend constexpr bool operator==(Tensor a, Tensor b) { return a.spec_ == b.spec_; }
  /// Orders tensors as their program declares them.
  friend constexpr bool operator<(Tensor a, Tensor b) { return a.index() < b.index(); }

 private:
  const TensorSpec* spec_ = nullptr;
};
std::string_view to_string(Tensor tensor);  // its name, "?" for none
/// Returns the type of a tensor's elements in a problem of type `of_problem`.
constexpr DataType type_of(Tensor tensor, DataType of_problem) {
  return tensor ? tensor->type.value_or(of_problem) : of_problem;
}

enum class Link : std::uint8_t { hbm_read, hbm_write, l2_to_sm, sm_to_l2, smem_read, smem_write, peer_read };
inline constexpr int link_count = 7;
/// The links inside a device. peer_read connects devices, so a run on one device does not have it.
inline constexpr std::array<Link, 6> all_links = {Link::hbm_read, Link::hbm_write, Link::l2_to_sm,
                                                  Link::sm_to_l2, Link::smem_read, Link::smem_write};
std::string_view to_string(Link link);  // "hbm_read", …

inline constexpr std::int64_t sector_size = 32;
inline constexpr std::int64_t line_size = 128;

/// A rectangle of one plane of a tensor: rows [row, row+rows), columns [col, col+cols).
struct TileRef {
  Tensor tensor;
  std::int32_t plane = 0;
  std::int32_t row = 0, rows = 0;
  std::int32_t col = 0, cols = 0;
  bool operator==(const TileRef&) const = default;
};

/// Returns the elements from one row of S or P to the next: the keys, rounded up to whole sectors. Every row then starts on a
/// sector and no store writes half a sector, which the hardware would have to complete from HBM. The rows of a page table, whose
/// elements are pages, start on sectors too.
constexpr std::int64_t row_pitch(std::int64_t seq_kv, DataType type) {
  return ceil_div(seq_kv * element_bytes(type), sector_size) * sector_size / element_bytes(type);
}

/// How a tensor lies in memory: planes are contiguous, rows follow one another, every tensor starts on a line.
struct TensorLayout {
  std::int64_t planes = 0, rows = 0, cols = 0;
  std::int64_t pad = 0;  // unused elements at the end of a row of S, P or a page table, see row_pitch()
  std::int64_t element_bytes = 2;
  /// The rectangle that the memory model tracks as one unit. Every access covers parts of one or more of these.
  std::int64_t tile_rows = 1, tile_cols = 1;

  std::int64_t row_bytes() const { return (cols + pad) * element_bytes; }
  Bytes bytes() const { return Bytes(planes * rows * row_bytes()); }
  Bytes plane_bytes() const { return Bytes(rows * row_bytes()); }
};

/// The layouts of a program's tensors, by index; the layouts of other indices are empty.
using TensorLayouts = std::array<TensorLayout, most_tensors>;

/// Counts the 32-byte sectors that `tile` touches, each once. Exact for every alignment.
std::int64_t sectors_touched(const TensorLayout& layout, const TileRef& tile);

}  // namespace tilescope
