// Layouts that follow a problem and a tile.
#include "sim/programs/tensor_layout.h"

#include <doctest/doctest.h>

#include "sim/programs/attention_tensors.h"

namespace tilescope {
namespace {

TEST_CASE("tensor layout: layouts follow the problem, with keys on the planes of their own heads and statistics in fp32") {
  AttentionProblem p;
  p.batch = 2;
  p.heads = 6;
  p.kv_heads = 3;
  p.seq_q = 10;
  p.seq_kv = 20;
  p.head_dim = 8;
  const TileShape tile{4, 5};
  const auto same = [&](Tensor tensor, std::int64_t planes, std::int64_t rows, std::int64_t cols, std::int64_t element,
                        std::int64_t tile_rows, std::int64_t tile_cols) {
    const TensorLayout layout = tensor_layout(p, tile, tensor);
    CHECK(layout.planes == planes);
    CHECK(layout.rows == rows);
    CHECK(layout.cols == cols);
    CHECK(layout.element_bytes == element);
    CHECK(layout.tile_rows == tile_rows);
    CHECK(layout.tile_cols == tile_cols);
    CHECK(layout.row_bytes() == (cols == p.seq_kv ? 32 : cols) * element);  // 20 keys take a pitch of 32
    CHECK(layout.bytes().value == planes * rows * layout.row_bytes());
    CHECK(layout.plane_bytes().value == rows * layout.row_bytes());
  };
  for (Tensor tensor : {tensors::q, tensors::o}) same(tensor, 12, 10, 8, 2, 4, 8);
  for (Tensor tensor : {tensors::k, tensors::v}) same(tensor, 6, 20, 8, 2, 5, 8);
  for (Tensor tensor : {tensors::s, tensors::p}) same(tensor, 12, 10, 20, 2, 4, 5);
  for (Tensor tensor : {tensors::lse, tensors::m, tensors::l}) same(tensor, 12, 10, 1, 4, 4, 1);
}

}  // namespace
}  // namespace tilescope
