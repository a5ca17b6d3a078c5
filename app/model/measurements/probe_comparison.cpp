// Holds what a kernel saw of one row against the tile machine.
#include "app/model/measurements/probe_comparison.h"

#include <algorithm>
#include <cmath>

#include "app/model/measurements/block_of_row.h"
#include "sim/analysis/softmax_row.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

bool is_sum(ChipTile chip_tile) {
  return chip_tile.is(Meaning::row_sum) || chip_tile.is(Meaning::row_sum, TilePart::updated);
}

/// Which of the three an operation leaves; nullptr for any other.
double* target(const Operation& op, ProbedStep& step) {
  if (op.dst.is(Meaning::row_max) || op.dst.is(Meaning::row_max, TilePart::updated)) return &step.m;
  if (is_sum(op.dst)) return &step.l;
  return op.dst.is(Meaning::row_max, TilePart::factor) ? &step.alpha : nullptr;
}

/// The first row of the tile that an operation works on, of the rows of its block: each warp group has a strip of its own.
int first_row_of(const BlockOperations& block, const Operation& op) {
  return op.dst.has_strips() ? op.strip * static_cast<int>(block.whole_rows) : 0;
}

/// The tile machine's figures after each step: after each key tile of the row's query tile, or after the last one where the kernel
/// has no running statistics.
std::vector<ProbedStep> machine_steps(const BlockValues& history, std::int64_t query_tile, int row, bool running) {
  std::vector<ProbedStep> steps;
  std::vector<std::int32_t> visited;  // key tiles, in the order in which they come
  const auto& operations = history.operations().operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    if (op.kind == OpKind::load || op.kind == OpKind::fill || op.kv_tile < 0 || (op.q_tile >= 0 && op.q_tile != query_tile))
      continue;
    ProbedStep unused;
    if (target(op, unused) == nullptr) continue;
    if (std::ranges::find(visited, op.kv_tile) == visited.end()) visited.push_back(op.kv_tile);
    const auto step = running ? static_cast<std::size_t>(std::ranges::find(visited, op.kv_tile) - visited.begin()) : 0;
    if (steps.size() <= step) steps.resize(step + 1);
    const auto value = history.value(op.dst, static_cast<int>(i));
    const int own = row - first_row_of(history.operations(), op);
    if (value != nullptr && own >= 0 && own < value->rows) *target(op, steps[step]) = static_cast<double>(value->at(own, 0));
  }
  if (!running)
    for (ProbedStep& step : steps) step.alpha = 0;
  return steps;
}

int telling_op(const BlockOperations& block, std::int64_t query_tile, int row) {
  int found = -1;
  for (std::size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& op = block.operations[i];
    if (!is_sum(op.dst) || op.kv_tile < 0 || (op.q_tile >= 0 && op.q_tile != query_tile)) continue;
    const int own = row - first_row_of(block, op);
    if (op.dst.has_strips() && (own < 0 || own >= block.whole_rows)) continue;
    const bool is_second = found >= 0 && op.kv_tile != block.operations[static_cast<std::size_t>(found)].kv_tile;
    if (found < 0 || is_second) found = static_cast<int>(i);
    if (is_second) break;
  }
  return found;
}

/// Whether the last step left the row as it was.
bool unchanged_by_last(const std::vector<ProbedStep>& steps) {
  const ProbedStep &last = steps.back(), &before = steps[steps.size() - 2];
  return last.m == before.m && last.l == before.l && last.alpha == 1;
}

double relative(double kernel, double machine, double least) {
  const double size = std::max(std::fabs(machine), least);
  return size > 0 ? std::fabs(kernel - machine) / size : std::fabs(kernel);
}

/// The operations that make dS of a query tile, one for each key tile of the block.
std::vector<int> gradient_ops(const BlockOperations& block, std::int64_t plane, std::int64_t query_tile) {
  std::vector<int> found;
  for (std::size_t i = 0; i < block.operations.size(); ++i) {
    const Operation& op = block.operations[i];
    if (op.kind == OpKind::multiply && op.dst.tensor()->gradient && op.q_tile == query_tile && op.tile.plane == plane)
      found.push_back(static_cast<int>(i));
  }
  return found;
}

/// Takes the keys of one block into `pairs`.
void take_pairs(const TileProgram& program, const BlockValues& history, int op, int row, std::vector<ProbedPair>& pairs) {
  const SoftmaxRow at = softmax_row(program, history, op, row);
  if (!at.gradient) return;
  const RowGradient& gradient = *at.gradient;
  for (const RowScore& score : at.scores) {
    const auto i = static_cast<std::size_t>(score.key - gradient.first_key);
    if (!score.current || i >= gradient.d_s_row.size() || static_cast<std::size_t>(score.key) >= pairs.size()) continue;
    pairs[static_cast<std::size_t>(score.key)] = {static_cast<double>(score.value), static_cast<double>(gradient.p_row[i]),
                                                  static_cast<double>(gradient.d_p_row[i]),
                                                  static_cast<double>(gradient.d_s_row[i])};
  }
}

/// What a block owns. It is emitted where the program does not say it otherwise.
Domain domain_of(const TileProgram& program, int launch, std::int64_t block) {
  if (const std::optional<Domain> known = program.domain_of(launch, block)) return *known;
  BlockOperations operations;
  program.emit_block(launch, block, operations);
  return operations.domain;
}

/// Runs every block whose keys the row sees.
Result<std::shared_ptr<const ProbeComparison>> compare_pairs(const TileProgram& program, std::shared_ptr<const KnownProbe> known,
                                                             const Progress& progress) {
  const ProbeResult& probe = known->probe;
  const AttentionProblem& problem = probe.problem;
  const std::int64_t query_tile = probe.query / probe.tile.block_q, group = problem.heads / problem.kv_heads;
  constexpr std::int64_t most_pairs = std::int64_t{1} << 24;  // of a query and a key: about ten seconds
  if (problem.seq_q * problem.seq_kv * group > most_pairs)
    return refuse(
        "the tile machine does not run the key blocks of this head: it has {} pairs of a query and a key, and {} are the most",
        problem.seq_q * problem.seq_kv * group, most_pairs);
  ProbeComparison made;
  made.first_row = query_tile * probe.tile.block_q;
  made.row = static_cast<int>(probe.query - made.first_row);
  std::vector<ProbedPair> machine(probe.pairs.size());
  std::size_t seen = 0;
  const auto launches = static_cast<int>(program.launches().size());
  for (int launch = 0; launch < launches; ++launch)
    for (std::int64_t block = 0; block < program.launches()[static_cast<std::size_t>(launch)].blocks(); ++block) {
      const Domain domain = domain_of(program, launch, block);
      if (domain.axis != Axis::key || domain.plane != problem.kv_plane_of(probe.plane) || domain.first >= std::ssize(machine))
        continue;
      const auto share = [&](double done) {
        return !progress || progress((static_cast<double>(seen) + done * domain.count) / static_cast<double>(machine.size()));
      };
      const Result<std::shared_ptr<const BlockValues>> history = run_block(program, known->inputs, launch, block, share);
      if (!history) return history.error();
      for (const int op : gradient_ops((*history)->operations(), probe.plane, query_tile)) {
        if (made.telling_op < 0) made.launch = launch, made.block = block, made.telling_op = op;
        take_pairs(program, **history, op, made.row, machine);
      }
      seen += static_cast<std::size_t>(domain.count);
    }
  if (made.telling_op < 0) return refuse("no block of the model has query {} of head {}", probe.query, probe.plane);
  for (std::size_t key = 0; key < machine.size(); ++key) made.pairs.push_back({probe.pairs[key], machine[key]});
  made.probe = std::move(known);
  return std::make_shared<const ProbeComparison>(std::move(made));
}

}  // namespace

ProbedPair difference(const ComparedPair& pair) {
  const ProbedPair &kernel = pair.kernel, &machine = pair.machine;
  return {relative(kernel.s, machine.s, 1), relative(kernel.p, machine.p, 0), relative(kernel.d_p, machine.d_p, 1),
          relative(kernel.d_s, machine.d_s, machine.p)};
}

ProbedPair ProbeComparison::worst_pair() const {
  ProbedPair most;
  for (const ComparedPair& pair : pairs) {
    const ProbedPair d = difference(pair);
    most = {std::max(most.s, d.s), std::max(most.p, d.p), std::max(most.d_p, d.d_p), std::max(most.d_s, d.d_s)};
  }
  return most;
}

ProbedStep difference(const ComparedStep& step) {
  return {relative(step.kernel.m, step.machine.m, 1), relative(step.kernel.l, step.machine.l, 0),
          relative(step.kernel.alpha, step.machine.alpha, 0)};
}

ProbedStep ProbeComparison::worst() const {
  ProbedStep most;
  for (const ComparedStep& step : steps) {
    const ProbedStep d = difference(step);
    most = {std::max(most.m, d.m), std::max(most.l, d.l), std::max(most.alpha, d.alpha)};
  }
  return most;
}

Result<std::shared_ptr<const ProbeComparison>> compare_probe(const TileProgram& program, std::shared_ptr<const KnownProbe> known,
                                                             const Progress& progress) {
  const ProbeResult& probe = known->probe;
  if (!probe.pairs.empty()) return compare_pairs(program, std::move(known), progress);
  ProbeComparison made;
  made.launch = probe.row_launch;
  const auto block = block_of_row(program, made.launch, probe.plane, probe.query);
  if (!block) return refuse("no block of the model has query {} of head {}", probe.query, probe.plane);
  made.block = *block;
  const Result<std::shared_ptr<const BlockValues>> history = run_block(program, known->inputs, made.launch, made.block, progress);
  if (!history) return history.error();
  const std::int64_t query_tile = probe.query / probe.tile.block_q;
  made.first_row = std::max<std::int64_t>((*history)->operations().domain.first, query_tile * probe.tile.block_q);
  made.row = static_cast<int>(probe.query - made.first_row);
  made.telling_op = telling_op((*history)->operations(), query_tile, made.row);
  const bool running = probe.launches.size() == 1;
  std::vector<ProbedStep> machine = machine_steps(**history, query_tile, made.row, running);
  // A warp of the kernel stops at the last tile that one of its rows sees, the program at the last one of its block.
  while (machine.size() > probe.steps.size() && machine.size() > 1 && unchanged_by_last(machine)) machine.pop_back();
  if (machine.size() != probe.steps.size())
    return refuse("the kernel took {} steps for this row, the model {}", probe.steps.size(), machine.size());
  for (std::size_t i = 0; i < machine.size(); ++i) made.steps.push_back({probe.steps[i], machine[i]});
  made.probe = std::move(known);
  return std::make_shared<const ProbeComparison>(std::move(made));
}

}  // namespace tilescope
