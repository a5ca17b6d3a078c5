// When the loads of backward programs begin: once their buffers are free, and not before the kernel asks for them.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "sim/programs/backward_needs.h"
#include "sim/programs/backward_tensors.h"
#include "tests/sim/program_of.h"
#include "tests/sim/programs/last_use.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

AttentionProblem backward_problem(std::int64_t queries, std::int64_t keys, bool causal, DataType type = DataType::fp16) {
  AttentionProblem p = {.heads = 2, .kv_heads = 1, .seq_q = queries, .seq_kv = keys, .head_dim = 64, .dtype = type};
  p.causal = causal;
  p.pass = Pass::backward;
  return p;
}

template <class Check>
void for_each_block(const TileProgram& program, std::string_view launch, Check check) {
  for (std::size_t n = 0; n < program.launches().size(); ++n) {
    if (program.launches()[n].name != launch) continue;
    for (std::int64_t number = 0; number < program.launches()[n].blocks(); ++number) {
      CAPTURE(number);
      BlockOperations block;
      program.emit_block(static_cast<int>(n), number, block);
      check(block);
    }
  }
}

}  // namespace

TEST_CASE("pacing: a block of a backward kernel asks for what its next tile needs after the scores of the one before") {
  int paced = 0, freed = 0;
  for (const std::string_view id :
       {"flash2_backward", "flash2_backward_deterministic", "flash2_backward_two_pass", "flex_backward"})
    for (const bool causal : {false, true})
      for (const std::int64_t stages : {1, 2, 3})
        for (const std::int64_t keys : {640, 700}) {
          CAPTURE(id);
          CAPTURE(causal);
          CAPTURE(stages);
          CAPTURE(keys);
          const auto program = program_of(id, backward_problem(600, keys, causal), ProgramTile(32, 32, stages), h200_gpu());
          for_each_block(*program, "gradients", [&](const BlockOperations& block) {
            std::vector<std::int32_t> scores;  // by iteration
            std::int32_t listed = -1;          // the latest load of a list, which says what tiles come
            for (std::size_t at = 0; at < block.operations.size(); ++at) {
              const Operation& op = block.operations[at];
              if (op.kind == OpKind::matmul && op.dst == tiles::s) {
                CHECK(op.iteration == static_cast<std::int32_t>(scores.size()));
                scores.push_back(static_cast<std::int32_t>(at));
              }
              if (op.kind != OpKind::load) continue;
              if (op.tile.tensor->rows == Axis::query_block || op.tile.tensor->rows == Axis::key_block) {
                listed = static_cast<std::int32_t>(at);
                continue;
              }
              if (op.iteration < 1) continue;
              const std::int32_t before = scores[static_cast<std::size_t>(op.iteration) - 1];
              const std::int32_t used = std::max(listed, last_use(block, at));
              CAPTURE(at);
              CHECK(waited_for(block, at) == std::max(before, used));
              CHECK(op.paced == (before > used));
              ++(before > used ? paced : freed);
            }
          });
        }
  CHECK(paced > 1000);
  CHECK(freed > 1000);
}

TEST_CASE("pacing: a warp of standard_backward's rows asks for its next 256 keys of P and dP once it has used the last ones") {
  int pieces_of_tiles = 0, begun = 0;
  for (const DataType type : {DataType::fp16, DataType::fp32})
    for (const double room : {128.0, 16.0, 9.0, 5.0, 1.0})  // KiB of shared memory: from four rows to none
      for (const std::int64_t block_kv : {16, 64, 128, 400})
        for (const std::int64_t keys : {1000, 1024, 1300}) {
          const AttentionProblem p = backward_problem(6, keys, false, type);
          GpuSpec gpu = toy_gpu();
          gpu.sm_shared_bytes_per_block = room * 1024;
          gpu.sm_shared_bytes = 2 * room * 1024;
          CAPTURE(to_string(type));
          CAPTURE(room);
          CAPTURE(block_kv);
          CAPTURE(keys);
          const ProgramTile tile(4, block_kv);
          const KeptRows rows = gradient_rows(p, tile, gpu);
          const auto program = program_of("standard_backward", p, tile, gpu);
          // Four warps share the rows, and a lane takes eight keys at a time.
          const std::int64_t keys_at_once = 4 / rows.rows * 32 * 8, tiles_of_keys = (keys + block_kv - 1) / block_kv;
          if (keys_at_once / block_kv > 8) continue;  // the tokens of a ring begin again after eight buffers
          const auto ends_piece = [&](std::int64_t n) {
            return n + 1 == tiles_of_keys || keys_at_once < 2 * block_kv || (n + 1) % (keys_at_once / block_kv) == 0;
          };
          pieces_of_tiles += keys_at_once >= 2 * block_kv ? 1 : 0;
          for_each_block(*program, "dS", [&](const BlockOperations& block) {
            std::int32_t used_up = -1;  // the last operation of the latest piece
            for (std::size_t at = 0; at < block.operations.size(); ++at) {
              const Operation& op = block.operations[at];
              const bool is_second = op.iteration >= tiles_of_keys;
              CAPTURE(at);
              if (op.kind == OpKind::load) {
                CHECK((!is_second || !rows.kept));
                CHECK(waited_for(block, at) == std::max(used_up, last_use(block, at)));
                CHECK(op.paced == (used_up > last_use(block, at)));
                CHECK(op.sectors_at_once == 2 * 256 * element_bytes(type) / 32);
                ++begun;
                continue;
              }
              const bool ends_tile = op.kind == OpKind::row_sum || (is_second && op.kind == OpKind::multiply);
              if (!ends_tile) continue;
              const bool ends = ends_piece(op.iteration % tiles_of_keys);
              CHECK((op.instructions > 0) == ends);  // what the loop costs is counted once a piece
              if (ends) used_up = static_cast<std::int32_t>(at);
            }
          });
        }
  CHECK(pieces_of_tiles > 10);
  CHECK(begun > 1000);
}

TEST_CASE("pacing: flash1_backward asks for l once dQ is there and for m once l is, and multiplies once it has m") {
  const auto program = program_of("flash1_backward", backward_problem(96, 128, true), ProgramTile(32, 32), h200_gpu());
  int chains = 0;
  for_each_block(*program, "gradients", [&](const BlockOperations& block) {
    std::int32_t d_q = -1, l = -1, m = -1, stored = -1;
    for (std::size_t at = 0; at < block.operations.size(); ++at) {
      const Operation& op = block.operations[at];
      const auto self = static_cast<std::int32_t>(at);
      const std::int32_t waits = waited_for(block, at);
      if (op.kind == OpKind::store && op.src[0] == tiles::d_q) stored = self;
      if (op.kind == OpKind::load && op.dst == tiles::d_q) {
        CHECK(waits == std::max(stored, last_use(block, at)));
        CHECK(waits >= stored);  // the sums so far are complete in HBM
        d_q = self;
      }
      if (op.kind == OpKind::load && op.dst == tiles::l) CHECK(waits == d_q), l = self;
      if (op.kind == OpKind::load && op.dst == tiles::m) CHECK(waits == l), m = self;
      if (op.kind == OpKind::matmul && op.dst == tiles::s) {
        CHECK(waits == m);
        ++chains;
      }
    }
  });
  CHECK(chains > 10);
}

}  // namespace tilescope
