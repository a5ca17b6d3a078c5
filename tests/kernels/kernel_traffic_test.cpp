// The kernels' closed forms against the tile programs of the same ids.
#include "kernels/kernel_traffic.h"

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "sim/programs/tile_program.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

struct Sums {
  std::int64_t in = 0, out = 0, added = 0;
};

/// What the operations of every block move.
Sums moved_by(const TileProgram& program) {
  Sums sums;
  BlockOperations block;
  int launch = 0;
  for (const LaunchSpec& spec : program.launches()) {
    for (std::int64_t b = 0; b < spec.blocks(); ++b) {
      program.emit_block(launch, b, block);
      for (const Operation& op : block.operations) {
        if (reads_memory(op.kind)) sums.in += op.bytes;
        if (writes_memory(op.kind)) sums.out += op.bytes;
        if (op.kind == OpKind::reduce_add) sums.added += op.bytes;
      }
    }
    ++launch;
  }
  return sums;
}

}  // namespace

TEST_CASE("kernel traffic: the closed form is what the program's operations move") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 engine(seed);
  for (const KernelInfo& row : kernel_table()) {
    if (row.is_library) continue;
    for (int i = 0; i < 12; ++i) {
      AttentionProblem p;
      p.batch = 1 + static_cast<std::int64_t>(engine() % 2);
      p.kv_heads = 1 + static_cast<std::int64_t>(engine() % 2);
      p.heads = p.kv_heads * (1 + static_cast<std::int64_t>(engine() % 3));
      p.seq_q = 16 * (1 + static_cast<std::int64_t>(engine() % 24));
      p.seq_kv =
          16 * (1 + static_cast<std::int64_t>(engine() % 24)) - static_cast<std::int64_t>(engine() % 2 == 0 ? 0 : engine() % 16);
      p.head_dim = engine() % 2 == 0 ? 64 : 128;
      p.causal = row.takes_causal && engine() % 2 == 0;
      const KernelInfo& kernel = launched_kernel(row, p);
      if (p.causal && p.seq_kv < p.seq_q) p.seq_kv = p.seq_q;
      p.pass = kernel.pass;
      const std::int64_t page_sizes[] = {0, 16, 32, 64, 128, 256, 384};
      if (row.takes_pages) p.page_size = page_sizes[engine() % std::size(page_sizes)];
      CAPTURE(p.page_size);
      CAPTURE(std::string(kernel.id));
      CAPTURE(p.seq_q);
      CAPTURE(p.seq_kv);
      CAPTURE(p.head_dim);
      CAPTURE(p.causal);
      const Result<const ProgramInfo*> info = find_program(kernel.program());
      REQUIRE(info);
      const Result<std::unique_ptr<TileProgram>> program = (*info)->make(p, kernel.program_tile(p), h200_gpu());
      REQUIRE(program);
      const Sums moved = moved_by(**program);
      const std::optional<KernelTraffic> closed = kernel_traffic(kernel, p, static_cast<int>(h200_gpu().sm_count));
      REQUIRE(closed);
      CHECK(kernel_traffic(row, p, static_cast<int>(h200_gpu().sm_count))->l2_to_sm_bytes == closed->l2_to_sm_bytes);
      CHECK(closed->l2_to_sm_bytes == moved.in);
      CHECK(closed->sm_to_l2_bytes == moved.out);
      CHECK(closed->reduce_bytes == moved.added);
    }
  }
}

TEST_CASE("kernel traffic: a library's kernel has no closed form of ours") {
  for (const KernelInfo& kernel : kernel_table())
    CHECK(kernel_traffic(kernel, {1, 1, 1, 256, 256, 64}, 132).has_value() != kernel.is_library);
}
