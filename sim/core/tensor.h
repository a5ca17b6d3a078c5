// Tensors in HBM, the links bytes travel on, and where each tensor lies: the one place that turns a tile into sectors.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/core/attention_problem.h"
#include "sim/core/units.h"

namespace tilescope {

/// s and p are the [seq_q,seq_kv] matrices; lse, m and l are one fp32 number a query row.
enum class Tensor : std::uint8_t { q, k, v, s, p, o, lse, m, l };
inline constexpr int tensor_count = 9;
inline constexpr std::array<Tensor, tensor_count> all_tensors = {Tensor::q, Tensor::k,   Tensor::v, Tensor::s, Tensor::p,
                                                                 Tensor::o, Tensor::lse, Tensor::m, Tensor::l};
std::string_view to_string(Tensor tensor);  // "Q", "K", … "L" for lse, "m", "l"

enum class Link : std::uint8_t { hbm_read, hbm_write, l2_to_sm, sm_to_l2, smem_read, smem_write };
inline constexpr int link_count = 6;
inline constexpr std::array<Link, link_count> all_links = {Link::hbm_read, Link::hbm_write, Link::l2_to_sm,
                                                           Link::sm_to_l2, Link::smem_read, Link::smem_write};
std::string_view to_string(Link link);  // "hbm_read", …

inline constexpr std::int64_t sector_size = 32;
inline constexpr std::int64_t line_size = 128;

/// A rectangle of one plane of a tensor: rows [row, row+rows), columns [col, col+cols).
struct TileRef {
  Tensor tensor = Tensor::q;
  std::int32_t plane = 0;
  std::int32_t row = 0, rows = 0;
  std::int32_t col = 0, cols = 0;
  bool operator==(const TileRef&) const = default;
};

/// Elements from one row of S or P to the next: the keys, rounded up to whole sectors. So every row starts on a sector, is moved
/// in whole vectors, and no store leaves a sector half written, which the hardware would fill from HBM.
constexpr std::int64_t row_pitch(std::int64_t seq_kv, DataType type) {
  return ceil_div(seq_kv * element_bytes(type), sector_size) * sector_size / element_bytes(type);
}

/// Where a tensor lies. Planes are contiguous, rows follow one another, every tensor starts on a line.
struct TensorLayout {
  std::int64_t planes = 0, rows = 0, cols = 0;
  std::int64_t pad = 0;  // elements after a row's last column, up to the next row: S and P have them, see row_pitch()
  std::int64_t element_bytes = 2;
  /// The rectangle that the memory model tracks as one unit; every access is a part of one or more of these.
  std::int64_t tile_rows = 1, tile_cols = 1;

  std::int64_t row_bytes() const { return (cols + pad) * element_bytes; }
  Bytes bytes() const { return Bytes(planes * rows * row_bytes()); }
  Bytes plane_bytes() const { return Bytes(rows * row_bytes()); }
};

TensorLayout tensor_layout(const AttentionProblem& problem, const TileShape& tile, Tensor tensor);

/// 32-byte sectors that `tile` touches, each counted once. Exact for every alignment.
std::int64_t sectors_touched(const TensorLayout& layout, const TileRef& tile);

}  // namespace tilescope
