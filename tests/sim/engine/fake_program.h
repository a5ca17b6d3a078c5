// FakeProgram: a program written operation by operation in a test, so that its bytes and cycles can be worked out by hand.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/run_program.h"
#include "tests/sim/attention_schema.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {

class FakeProgram final : public TileProgram {
 public:
  using Emit = std::function<void(int launch, std::int64_t block, BlockOperations&)>;

  FakeProgram(const AttentionProblem& problem, const TileShape& tile, const std::vector<std::int64_t>& blocks, Emit emit)
      : TileProgram(problem, tile, attention_schema()), emit_(std::move(emit)) {
    for (std::int64_t count : blocks) {
      LaunchSpec launch;
      launch.name = "launch";
      launch.grid_x = count;
      launch.needs.threads = 128;
      launch.needs.registers_per_thread = 32;
      launches_.push_back(launch);
    }
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    out.clear();
    out.launch = launch;
    out.block = block;
    out.domain = {};
    emit_(launch, block, out);
  }
  std::optional<ClosedForm> closed_form() const override { return std::nullopt; }
  void set_needs(const KernelNeeds& needs) {
    for (LaunchSpec& launch : launches_) launch.needs = needs;
  }
  void set_product_instruction(ProductInstruction instruction) {
    for (LaunchSpec& launch : launches_) launch.needs.instruction = instruction;
  }

 private:
  Emit emit_;
};

/// Adds an operation and returns its index.
inline int add(BlockOperations& out, const Operation& op) {
  const auto before = std::count_if(out.operations.begin(), out.operations.end(),
                                    [&](const Operation& other) { return other.signal_token == op.signal_token; });
  out.operations.push_back(op);
  if (op.signal_token >= 0) out.operations.back().signal_count = static_cast<std::int32_t>(before) + 1;
  return static_cast<int>(out.operations.size()) - 1;
}
/// The same of one that waits for operation `earlier`, by a token of its own; -1: for nothing.
inline int add_after(BlockOperations& out, int earlier, Operation op) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 64; ++i) all.push_back("token " + std::to_string(i));
    return all;
  }();
  out.tokens = names;
  if (earlier >= 0) {
    Operation& signals = out.operations[static_cast<std::size_t>(earlier)];
    if (signals.signal_token < 0) {
      signals.signal_token = static_cast<std::int16_t>(earlier);
      signals.signal_count = 1;
    }
    op.wait_token = signals.signal_token;
    op.wait_count = signals.signal_count;
  }
  return add(out, op);
}

/// A load of `rows` rows of K from `row` on, 16 columns of fp16: rows x 32 bytes.
inline Operation load_k(std::int32_t row, std::int32_t rows, std::int32_t ring = 0) {
  Operation op;
  op.kind = OpKind::load;
  op.line = 1;
  op.dst = tiles::k;
  op.ring = ring;
  op.tile = {tensors::k, 0, row, rows, 0, 16};
  op.rows = rows;
  op.cols = 16;
  op.bytes = rows * 32;
  return op;
}

inline Operation store_o(std::int32_t row, std::int32_t rows) {
  Operation op;
  op.kind = OpKind::store;
  op.line = 3;
  op.src[0] = tiles::o;
  op.tile = {tensors::o, 0, row, rows, 0, 16};
  op.rows = rows;
  op.cols = 16;
  op.bytes = rows * 32;
  return op;
}

/// A matrix product of so many operations, on tensor cores.
inline Operation matmul(std::int64_t flops) {
  Operation op;
  op.kind = OpKind::matmul;
  op.line = 2;
  op.dst = tiles::s;
  op.src = {tiles::q, tiles::k, ChipTile::none, ChipTile::none};
  op.rows = op.cols = op.inner = 16;
  op.flops = flops;
  return op;
}

inline Operation exps(std::int64_t count) {
  Operation op;
  op.kind = OpKind::exp;
  op.line = 2;
  op.dst = tiles::p;
  op.src[0] = tiles::s;
  op.rows = 1;
  op.cols = static_cast<std::int32_t>(count);
  op.exps = count;
  return op;
}

/// Runs it on `gpu`; the problem is 4096 keys and queries of 16 columns, in tiles of 16.
inline Result<std::shared_ptr<const Simulation>> run_fake(const GpuSpec& gpu, const std::vector<std::int64_t>& blocks,
                                                          FakeProgram::Emit emit, std::optional<int> blocks_per_sm = std::nullopt,
                                                          const Progress& progress = {}) {
  static const ListingLine listing[] = {{}, {}, {}};
  static const ProgramInfo info = {.id = "fake", .title = "Fake", .family = "test", .listing = listing};
  SimulationRequest request;
  request.algorithm = "fake";
  request.gpu = gpu;
  request.problem.seq_q = request.problem.seq_kv = 4096;
  request.blocks_per_sm = blocks_per_sm;
  return run_program(request, info, std::make_shared<FakeProgram>(request.problem, TileShape{}, blocks, std::move(emit)), progress);
}

}  // namespace tilescope
