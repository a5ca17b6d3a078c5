// run_block() and run_plane(): they run the required blocks in order, on one image of HBM.
#include "sim/numerics/tile_machine.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/core/refuse.h"
#include "sim/numerics/block_values.h"
#include "sim/numerics/producers.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {

namespace {

/// Returns the progress callback for a part of the work that begins at `begin` and is `share` of the whole.
Progress part_of(const Progress& progress, double begin, double share) {
  if (!progress) return {};
  return [&progress, begin, share](double fraction) { return progress(begin + fraction * share); };
}

Status run_in_order(const TileProgram& program, BlockMachine& machine, const std::vector<std::vector<std::int64_t>>& blocks,
                    HbmImage& image, const Progress& progress) {
  std::size_t total = 0, done = 0;
  for (const auto& of_launch : blocks) total += of_launch.size();
  BlockOperations block;
  for (std::size_t launch = 0; launch < blocks.size(); ++launch)
    for (std::int64_t number : blocks[launch]) {
      const double share = 1.0 / static_cast<double>(total);
      if (progress && !progress(static_cast<double>(done) * share)) return run_cancelled();
      program.emit_block(static_cast<int>(launch), number, block);
      const Progress part = part_of(progress, static_cast<double>(done) * share, share);
      if (Status status = run_operations(machine, block, image, part); !status) return status;
      ++done;
    }
  return Done{};
}

/// Returns whether any launch has blocks that own keys. Such a block reads all query heads that share its key head.
bool has_key_blocks(const TileProgram& program) {
  const auto launches = program.launches();
  return std::any_of(launches.begin(), launches.end(), [](const LaunchSpec& l) { return l.mixed || l.axis == Axis::key; });
}

/// Returns the blocks of a launch that work on the heads of one plane of `tensor`.
std::vector<std::int64_t> blocks_on_plane(const TileProgram& program, int launch, Tensor tensor, std::int64_t plane) {
  const AttentionProblem& p = program.problem();
  if (tensor->planes == Planes::all) {  // every block adds to it
    std::vector<std::int64_t> all(static_cast<std::size_t>(program.launches()[static_cast<std::size_t>(launch)].blocks()));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
  }
  const std::int64_t group = p.heads_of_kv_head(), kv_plane = tensor->planes == Planes::key ? plane : plane / group;
  std::vector<std::int64_t> found;
  const auto add = [&](const Slice& slice) {
    const std::vector<std::int64_t> blocks = blocks_of(program, launch, slice);
    found.insert(found.end(), blocks.begin(), blocks.end());
  };
  for (const Axis axis : axes_of(program.launches()[static_cast<std::size_t>(launch)])) {
    if (axis == Axis::key) {
      add({axis, kv_plane, 0, p.seq_kv});
    } else if (tensor->planes == Planes::query && !has_key_blocks(program)) {
      add({axis, plane, 0, p.seq_q});
    } else {
      for (std::int64_t head = 0; head < group; ++head) add({axis, kv_plane * group + head, 0, p.seq_q});
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Returns the blocks whose additions a block finds; none if they are too much work.
std::optional<std::vector<std::int64_t>> affordable_adders(const TileProgram& program, const BlockOperations& block) {
  std::int64_t flops = 0;
  bool adds = false;
  for (const Operation& op : block.operations) {
    if (op.kind == OpKind::matmul) flops += op.flops;
    adds |= op.kind == OpKind::reduce_add;
  }
  if (!adds) return std::nullopt;
  std::vector<std::int64_t> adders = adders_before(program, block);
  if (flops * static_cast<std::int64_t>(adders.size()) > most_flops_for_sums) return std::nullopt;
  return adders;
}

TileRef whole_plane(const TileProgram& program, std::int64_t plane, Tensor tensor) {
  const TensorLayout layout = tensor_layout(program.problem(), program.tile(), tensor);
  return {tensor, static_cast<std::int32_t>(plane),      0, static_cast<std::int32_t>(layout.rows),
          0,      static_cast<std::int32_t>(layout.cols)};
}

}  // namespace

Result<std::shared_ptr<const BlockValues>> run_block(const TileProgram& program, const InputSource& inputs, int launch,
                                                     std::int64_t block, const Progress& progress) {
  if (Status status = check(inputs, program.problem()); !status) return status.error();
  const auto launches = static_cast<int>(program.launches().size());
  if (launch < 0 || launch >= launches) return refuse("there is no launch {}: the program has 0 to {}", launch, launches - 1);
  const std::int64_t blocks = program.launches()[static_cast<std::size_t>(launch)].blocks();
  if (block < 0 || block >= blocks) return refuse("there is no block {}: launch {} has 0 to {}", block, launch, blocks - 1);

  BlockOperations operations;
  program.emit_block(launch, block, operations);
  auto machine = std::make_unique<BlockMachine>(program, inputs);
  HbmImage image;
  constexpr double before = 0.8;  // share of the earlier launches, for progress: they visit all keys, the last block only sums up
  const std::optional<std::vector<std::int64_t>> adders = affordable_adders(program, operations);
  const auto producers = producers_of(program, operations, adders.value_or(std::vector<std::int64_t>{}));
  const bool alone = std::all_of(producers.begin(), producers.end(), [](const auto& numbers) { return numbers.empty(); });
  if (Status status = run_in_order(program, *machine, producers, image, part_of(progress, 0, before)); !status)
    return status.error();
  const Progress rest = alone ? progress : part_of(progress, before, 1 - before);
  return record_block(std::move(machine), std::move(operations), image, values_budget_bytes, rest, adders.has_value());
}

namespace {

/// Returns a sentence if the inputs do not fit the problem, or the tensor has no such plane.
Status check_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor) {
  if (Status status = check(inputs, program.problem()); !status) return status;
  const TensorLayout layout = tensor_layout(program.problem(), program.tile(), tensor);
  if (plane >= 0 && plane < layout.planes) return Done{};
  return refuse("there is no plane {} of {}: it has 0 to {}", plane, to_string(tensor), layout.planes - 1);
}

}  // namespace

Result<FinishedRun> run_blocks_of_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor,
                                        const Progress& progress) {
  if (Status status = check_plane(program, inputs, plane, tensor); !status) return status.error();
  std::vector<std::vector<std::int64_t>> blocks;
  for (std::size_t launch = 0; launch < program.launches().size(); ++launch)
    blocks.push_back(blocks_on_plane(program, static_cast<int>(launch), tensor, plane));
  BlockMachine machine(program, inputs);
  auto image = std::make_shared<HbmImage>();
  if (Status status = run_in_order(program, machine, blocks, *image, progress); !status) return status.error();
  return FinishedRun(program, std::move(image));
}

Result<Matrix> run_plane(const TileProgram& program, const InputSource& inputs, std::int64_t plane, Tensor tensor,
                         const Progress& progress) {
  if (Status status = check_plane(program, inputs, plane, tensor); !status) return status.error();
  BlockMachine machine(program, inputs);
  if (machine.is_input(tensor)) return *machine.input(whole_plane(program, plane, tensor));
  const Result<FinishedRun> run = run_blocks_of_plane(program, inputs, plane, tensor, progress);
  if (!run) return run.error();
  return run->plane(plane, tensor);
}

Result<FinishedRun> run_whole(const TileProgram& program, const InputSource& inputs, const Progress& progress) {
  if (Status status = check(inputs, program.problem()); !status) return status.error();
  std::vector<std::vector<std::int64_t>> blocks;
  for (const LaunchSpec& launch : program.launches()) {
    blocks.emplace_back(static_cast<std::size_t>(launch.blocks()));
    std::iota(blocks.back().begin(), blocks.back().end(), std::int64_t{0});
  }
  BlockMachine machine(program, inputs);
  auto image = std::make_shared<HbmImage>();
  if (Status status = run_in_order(program, machine, blocks, *image, progress); !status) return status.error();
  return FinishedRun(program, std::move(image));
}

Matrix FinishedRun::plane(std::int64_t plane, Tensor tensor) const {
  return *image_->load(whole_plane(program_, plane, tensor)).values;
}

double relative_error(const Matrix& a, const Matrix& b) {
  if (a.rows != b.rows || a.cols != b.cols) return HUGE_VAL;
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    if (a.values[i] == b.values[i]) {
      // Equal infinities, such as L of a row that sees no key, count neither as an error nor in the norm.
      if (std::isfinite(b.values[i])) size += static_cast<double>(b.values[i]) * b.values[i];
      continue;
    }
    const double apart = static_cast<double>(a.values[i]) - b.values[i];
    difference += apart * apart;
    size += std::isinf(b.values[i]) ? 0 : static_cast<double>(b.values[i]) * b.values[i];
  }
  if (difference == 0) return 0;
  return std::sqrt(difference / size);
}

}  // namespace tilescope
