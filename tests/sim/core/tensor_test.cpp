// Layouts, names, and sectors counted against a count of every byte.
#include "sim/core/tensor.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "tests/sim/attention_schema.h"

#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

namespace tilescope {
namespace {

/// Every byte's sector, one by one.
std::int64_t sectors_by_bytes(const TensorLayout& layout, const TileRef& tile) {
  std::set<std::int64_t> sectors;
  for (std::int64_t r = 0; r < tile.rows; ++r)
    for (std::int64_t c = 0; c < tile.cols; ++c)
      for (std::int64_t b = 0; b < layout.element_bytes; ++b)
        sectors.insert(
            (((tile.plane * layout.rows + tile.row + r) * (layout.cols + layout.pad) + tile.col + c) * layout.element_bytes + b) /
            sector_size);
  return static_cast<std::int64_t>(sectors.size());
}

TEST_CASE("tensor: sectors of random tiles equal a count of every byte") {
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    TensorLayout layout;
    layout.planes = pick(1, 3);
    layout.rows = pick(1, 80);
    layout.cols = seed % 3 == 0 ? 16 * pick(1, 4) : pick(1, 70);
    layout.element_bytes = seed % 2 == 0 ? 2 : 4;
    if (seed % 5 == 0) layout.pad = pick(0, 20);
    TileRef tile;
    tile.plane = static_cast<std::int32_t>(pick(0, layout.planes - 1));
    tile.row = static_cast<std::int32_t>(pick(0, layout.rows - 1));
    tile.rows = static_cast<std::int32_t>(pick(1, layout.rows - tile.row));
    tile.col = static_cast<std::int32_t>(pick(0, layout.cols - 1));
    tile.cols = static_cast<std::int32_t>(pick(1, layout.cols - tile.col));
    CAPTURE(seed);
    REQUIRE(sectors_touched(layout, tile) == sectors_by_bytes(layout, tile));
  }
}

TEST_CASE("tensor: rows of S and P are padded to whole sectors, by less than one") {
  CHECK(row_pitch(1, DataType::fp16) == 16);
  CHECK(row_pitch(16, DataType::bf16) == 16);
  CHECK(row_pitch(17, DataType::bf16) == 32);
  CHECK(row_pitch(17, DataType::fp32) == 24);
  AttentionProblem p;
  p.seq_q = 3;
  p.seq_kv = 1001;
  for (DataType type : {DataType::fp16, DataType::bf16, DataType::fp32}) {
    p.dtype = type;
    const TensorLayout layout = tensor_layout(p, {128, 128}, tensors::p);
    CHECK(layout.cols == 1001);
    CHECK(layout.row_bytes() % sector_size == 0);
    CHECK(layout.pad * layout.element_bytes < sector_size);
    CHECK(layout.bytes().value == 3 * layout.row_bytes());
    // The last tile of a row reaches into the row's last sector, and no further.
    CHECK(sectors_touched(layout, {tensors::p, 0, 0, 3, 0, 1001}) * sector_size == layout.bytes().value);
    CHECK(sectors_touched(layout, {tensors::p, 0, 1, 1, 896, 105}) * sector_size ==
          layout.row_bytes() - 896 * layout.element_bytes);
  }
}

TEST_CASE("tensor: an empty tile touches no sector") {
  TensorLayout layout;
  layout.planes = layout.rows = layout.cols = 8;
  CHECK(sectors_touched(layout, {tensors::q, 0, 3, 0, 0, 8}) == 0);
  CHECK(sectors_touched(layout, {tensors::q, 0, 3, 2, 0, 0}) == 0);
}

TEST_CASE("tensor: a tile far into a tensor of terabytes is counted without overflow") {
  AttentionProblem p;
  p.batch = 1024;
  p.heads = p.kv_heads = 64;
  p.seq_q = p.seq_kv = 1 << 14;
  p.head_dim = 128;
  const TensorLayout layout = tensor_layout(p, {128, 128}, tensors::s);
  CHECK(layout.bytes().value == std::int64_t{65536} * 16384 * 16384 * 2);
  CHECK(sectors_touched(layout, {tensors::s, 65535, 16384 - 128, 128, 16384 - 128, 128}) == 128 * 8);
}

TEST_CASE("tensor: names of tensors and links are all different, and links are named as in the JSON") {
  std::set<std::string_view> names;
  for (Tensor tensor : attention_tensors()) CHECK(names.insert(to_string(tensor)).second);
  CHECK(to_string(tensors::lse) == "L");
  std::string links;
  for (Link link : all_links) links += std::string(to_string(link)) + " ";
  CHECK(links == "hbm_read hbm_write l2_to_sm sm_to_l2 smem_read smem_write ");
}

}  // namespace
}  // namespace tilescope
