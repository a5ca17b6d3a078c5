// Names of tensors and links, and how many sectors a tile touches.
#include "sim/core/tensor.h"

#include <algorithm>
#include <numeric>

namespace tilescope {

std::string_view to_string(Tensor tensor) {
  return tensor ? tensor->name : "?";
}

std::string_view to_string(Link link) {
  constexpr std::array<std::string_view, link_count> names = {"hbm_read",  "hbm_write",  "l2_to_sm", "sm_to_l2",
                                                              "smem_read", "smem_write", "peer_read"};
  return names[static_cast<std::size_t>(link)];
}

namespace {

/// Counts the sectors of the byte range [first, first + length), length > 0.
std::int64_t sectors_of_range(std::int64_t first, std::int64_t length) {
  return (first + length - 1) / sector_size - first / sector_size + 1;
}

}  // namespace

std::int64_t sectors_touched(const TensorLayout& layout, const TileRef& tile) {
  if (tile.rows <= 0 || tile.cols <= 0) return 0;
  const std::int64_t row_bytes = layout.row_bytes();
  const std::int64_t first = tile.plane * layout.rows * row_bytes + tile.row * row_bytes + tile.col * layout.element_bytes;
  const std::int64_t length = tile.cols * layout.element_bytes;
  if (length == row_bytes) return sectors_of_range(first, tile.rows * row_bytes);
  if (row_bytes % sector_size == 0) return tile.rows * sectors_of_range(first, length);

  // Rows start at different offsets in a sector, and neighbouring rows can share a sector. How many new sectors a row touches
  // depends only on its offset, and the offsets repeat after at most 32 rows.
  const auto added = [&](std::int64_t r) {
    const std::int64_t begin = first + r * row_bytes;
    const std::int64_t shared = r > 0 && (begin - row_bytes + length - 1) / sector_size == begin / sector_size ? 1 : 0;
    return sectors_of_range(begin, length) - shared;
  };
  const std::int64_t further = tile.rows - 1;
  const std::int64_t period = sector_size / std::gcd(sector_size, row_bytes);
  std::int64_t count = added(0), one_period = 0;
  for (std::int64_t r = 1; r <= std::min(period, further); ++r) one_period += added(r);
  if (further < period) return count + one_period;
  count += further / period * one_period;
  for (std::int64_t r = 1; r <= further % period; ++r) count += added(r);
  return count;
}

}  // namespace tilescope
