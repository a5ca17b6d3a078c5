// simulate(): totals against what the programs emit, the paper's access counts, bins, errors and cancelling, for every program.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/core/mask.h"
#include "sim/engine/run_program.h"
#include "sim/engine/simulation.h"
#include "sim/masks/mask_choice.h"
#include "sim/programs/attention_tensors.h"
#include "tests/rounds.h"
#include "tests/sim/test_gpus.h"
#include "tests/sim/tested_programs.h"

using namespace tilescope;

namespace {

using Run = std::shared_ptr<const Simulation>;

SimulationRequest request_for(std::string_view algorithm, const GpuSpec& gpu, const AttentionProblem& problem) {
  SimulationRequest request;
  request.algorithm = std::string(algorithm);
  request.gpu = gpu;
  request.problem = problem;
  return request;
}

Run run(const SimulationRequest& request) {
  const auto result = simulate(request);
  if (!result) FAIL(request.algorithm, ": ", result.error().sentence);
  return *result;
}

std::string error_of(const SimulationRequest& request) {
  const auto result = simulate(request);
  REQUIRE_FALSE(result);
  return result.error().sentence;
}

/// Whether two operations move and compute the same, each seen from its own block: planes from the block's own on either side, and
/// along its axis from its first row.
bool same_operation(const Operation& x, const BlockOperations& of_x, const Operation& y, const BlockOperations& of_y,
                    const AttentionProblem& problem) {
  const auto plane_from = [&](const Operation& op, const BlockOperations& block) {
    if (op.tile.tensor->planes == Planes::all) return std::int64_t{op.tile.plane};
    if (op.tile.tensor->planes == Planes::mask) return op.tile.plane - mask_plane_of(problem, block.domain.plane);
    const std::int64_t own = block.domain.plane;
    const bool by_keys = block.domain.axis == Axis::key, of_keys = op.tile.tensor->planes == Planes::key;
    if (by_keys == of_keys) return op.tile.plane - own;
    return op.tile.plane - (of_keys ? problem.kv_plane_of(own) : problem.first_query_plane_of(own));
  };
  const auto row_from = [](const Operation& op, const BlockOperations& block) {
    const bool list = op.tile.tensor.means(Meaning::table);  // its rows are blocks, and count from the first
    return op.tile.row - (!list && op.tile.tensor->rows == block.domain.axis ? block.domain.first : 0);
  };
  const auto col_from = [](const Operation& op, const BlockOperations& block) {
    return op.tile.col - (op.tile.tensor->cols == block.domain.axis ? block.domain.first : 0);
  };
  const auto work = [](const Operation& op) {
    return std::tuple(op.kind, op.line, op.dst, op.src, op.ring, op.rows, op.cols, op.inner, op.bytes, op.smem_read_bytes,
                      op.smem_write_bytes, op.flops, op.exps, op.tile.tensor, op.tile.rows, op.tile.cols, op.transpose,
                      op.transpose_left, op.swap_ab, op.accumulate, op.left_reads, op.right_reads);
  };
  const auto time = [](const Operation& op) {
    return std::tuple(op.instructions, op.other_alu, op.other_exps, op.shared_round_trips, op.barriers, op.l2_round_trips,
                      op.wavefronts, op.sectors_at_once, op.rounds, op.executed_eighths, op.slices, op.group, op.strip, op.paced,
                      op.asynchronous, op.source_strip, op.wait_on, op.wait_token, op.wait_count, op.signal_token, op.signal_count,
                      op.iteration);
  };
  if (work(x) != work(y) || time(x) != time(y)) return false;
  return !moves_tile(x.kind) || (plane_from(x, of_x) == plane_from(y, of_y) && row_from(x, of_x) == row_from(y, of_y) &&
                                 col_from(x, of_x) == col_from(y, of_y));
}
bool same_work(const BlockOperations& a, const BlockOperations& b, const AttentionProblem& problem) {
  if (a.operations.size() != b.operations.size() || a.shared_tiles != b.shared_tiles) return false;
  for (std::size_t i = 0; i < a.operations.size(); ++i)
    if (!same_operation(a.operations[i], a, b.operations[i], b, problem)) return false;
  return true;
}

/// Bytes by link, flops of products and exponentials, as the program's own operations say.
struct Sums {
  std::array<std::int64_t, link_count> bytes{};
  std::int64_t flops = 0, exps = 0;
  bool operator==(const Sums&) const = default;
};

Sums emitted(const TileProgram& program) {
  Sums sums;
  BlockOperations block;
  const auto at = [&](Link link) -> std::int64_t& { return sums.bytes[static_cast<std::size_t>(link)]; };
  for (std::size_t launch = 0; launch < program.launches().size(); ++launch)
    for (std::int64_t b = 0; b < program.launches()[launch].blocks(); ++b) {
      program.emit_block(static_cast<int>(launch), b, block);
      for (const Operation& op : block.operations) {
        if (reads_memory(op.kind)) at(Link::l2_to_sm) += op.bytes;
        if (writes_memory(op.kind)) at(Link::sm_to_l2) += op.bytes;
        at(Link::smem_read) += op.smem_read_bytes;
        at(Link::smem_write) += op.smem_write_bytes;
        if (op.kind == OpKind::matmul) sums.flops += op.flops;
        sums.exps += op.exps;
      }
    }
  return sums;
}

Sums simulated(const Simulation& simulation) {
  Sums sums;
  for (Link link : {Link::l2_to_sm, Link::sm_to_l2, Link::smem_read, Link::smem_write})
    sums.bytes[static_cast<std::size_t>(link)] = simulation.ledger.total(link).value;
  sums.flops = simulation.flops;
  sums.exps = simulation.exps;
  return sums;
}

TrafficTable sum_of_bins(const TimeBins& bins) {
  TrafficTable sum{};
  for (const TrafficTable& bin : bins.traffic)
    for (std::size_t t = 0; t < most_tensors; ++t)
      for (std::size_t l = 0; l < link_count; ++l) sum[t][l] += bin[t][l];
  return sum;
}

AttentionProblem small_problem(std::mt19937& random, bool causal) {
  AttentionProblem problem;
  problem.batch = 1 + static_cast<int>(random() % 2);
  problem.kv_heads = 1 + static_cast<int>(random() % 2);
  problem.heads = problem.kv_heads * (1 + static_cast<int>(random() % 2));
  problem.seq_q = 1 + static_cast<int>(random() % 90);
  problem.seq_kv = 1 + static_cast<int>(random() % 90);
  problem.head_dim = 1 + static_cast<int>(random() % 40);
  problem.dtype = static_cast<DataType>(random() % 3);
  problem.causal = causal;
  return problem;
}

}  // namespace

TEST_CASE("simulation: S and P come back where the first blocks of a launch see no key") {
  AttentionProblem problem;
  problem.seq_q = 256;
  problem.seq_kv = 64;
  problem.causal = true;
  const auto program = (*find_program("standard"))->make(problem, TileShape{16, 16}, toy_gpu());
  REQUIRE(program);
  BlockOperations first;
  (*program)->emit_block(0, 0, first);
  REQUIRE(first.operations.empty());
  CHECK(use_of(**program).comes_back);
}

TEST_CASE("simulate: for every program and random shapes, the ledger and the bins hold exactly what the operations move" *
          doctest::test_suite("every program")) {
  for (unsigned seed = 1; seed <= rounds(25U); ++seed) {
    std::mt19937 random(seed);
    const AttentionProblem problem = small_problem(random, seed % 3 == 0);
    for (const ProgramInfo& info : tested_programs())
      for (const GpuSpec& gpu : {toy_gpu(), textbook_gpu(), h200_gpu()}) {
        INFO("seed ", seed, " ", std::string(info.id), " ", gpu.id);
        const auto result = simulate(request_for(info.id, gpu, problem));
        if (!result) {
          CHECK(result.error().sentence.text().find("causal") != std::string::npos);  // the only thing some programs refuse here
          continue;
        }
        const Simulation& simulation = **result;
        CHECK(simulated(simulation) == emitted(*simulation.program));
        CHECK(sum_of_bins(simulation.trace->bins()) == simulation.ledger.table());
        CHECK(simulation.ledger.total(Link::hbm_write) <= simulation.hbm_write_after_flush);
        if (!gpu.has_l2()) {
          // Without an L2 an addition reads HBM, and writes it.
          CHECK(simulation.ledger.total(Link::hbm_read) == simulation.ledger.total(Link::l2_to_sm) + simulation.reduced);
          CHECK(simulation.ledger.total(Link::hbm_write) == simulation.ledger.total(Link::sm_to_l2));
        }
        for (double use : simulation.utilisation) CHECK(use <= 1.0 + 1e-9);
      }
  }
}

TEST_CASE("simulate: no operation of any program begins before the tiles that it reads have arrived" *
          doctest::test_suite("every program")) {
  for (const ProgramInfo& info : tested_programs()) {
    const AttentionProblem problem = {.heads = 3, .kv_heads = 3, .seq_q = 96, .seq_kv = 112, .head_dim = 16};
    for (const bool causal : {false, true}) {
      SimulationRequest request = request_for(info.id, toy_gpu(), problem);
      request.problem.causal = causal;
      const auto simulation = simulate(request);
      if (!simulation) continue;  // a program without a mask
      CAPTURE(info.id);
      CAPTURE(causal);
      const Trace& trace = *(*simulation)->trace;
      std::map<std::pair<std::int32_t, std::int32_t>, double> landed;  // by run and operation
      for (const int sm : trace.focused_sms())
        for (const Interval& interval : trace.intervals(sm))
          if (interval.kind == OpKind::load) landed[{interval.run, interval.op}] = interval.end;
      BlockOperations block;
      std::int32_t emitted_run = -1;
      int compared = 0;
      for (const int sm : trace.focused_sms())
        for (const Interval& interval : trace.intervals(sm)) {
          if (interval.kind == OpKind::load) continue;
          if (interval.run != emitted_run) {
            const BlockRun& run = trace.runs()[static_cast<std::size_t>(interval.run)];
            (*simulation)->program->emit_block(run.launch, run.block, block);
            emitted_run = interval.run;
          }
          const Operation& op = block.operations[static_cast<std::size_t>(interval.op)];
          for (const ChipTile chip_tile : op.src) {
            if (chip_tile == ChipTile::none) continue;
            for (std::int32_t i = interval.op; i-- > 0;) {
              const Operation& earlier = block.operations[static_cast<std::size_t>(i)];
              if (earlier.dst != chip_tile || buffer_of(earlier, chip_tile) != buffer_of(op, chip_tile)) continue;
              if (earlier.kind == OpKind::load) {
                CAPTURE(interval.op);
                CAPTURE(to_string(chip_tile));
                CHECK(interval.start >= (landed[{interval.run, i}]) - 1e-6);
                ++compared;
              }
              break;
            }
          }
        }
      CHECK(compared > 0);
    }
  }
}

TEST_CASE("simulate: a block whose lists are empty stores its rows only once it knows that they are") {
  SimulationRequest request =
      request_for("flex", toy_gpu(), {.heads = 1, .kv_heads = 1, .seq_q = 32, .seq_kv = 32, .head_dim = 16});
  request.masking.masks = {"q < 0"};
  REQUIRE(settle_program(request));
  const Run simulation = run(request);
  double listed = 0, divided = simulation->cycles.value;
  for (const Interval& interval : simulation->trace->intervals(0)) {
    if (interval.run != simulation->trace->intervals(0).front().run) continue;
    if (interval.kind == OpKind::load) listed = std::max(listed, interval.end);
    if (interval.kind == OpKind::divide) divided = std::min(divided, interval.start);
  }
  CHECK(listed > 0);
  CHECK(divided >= listed);
}

TEST_CASE("simulate: where nothing is evicted, HBM is read once for each input and written once after the flush") {
  for (const GpuSpec& gpu : {toy_gpu(), h200_gpu()}) {
    AttentionProblem problem;
    problem.heads = problem.kv_heads = 2;
    problem.seq_q = problem.seq_kv = 128;
    problem.head_dim = 32;
    const Run flash2 = run(request_for("flash2", gpu, problem));
    for (Tensor tensor : {tensors::q, tensors::k, tensors::v})
      CHECK(flash2->ledger.total(tensor, Link::hbm_read).value == 2 * 128 * 32 * 2);
    CHECK(flash2->ledger.total(Link::hbm_write).value == 0);
    CHECK(flash2->hbm_write_after_flush.value == 2 * 128 * 32 * 2 + 2 * 128 * 4);
    // The intermediate S and P of standard attention never leave an L2 that holds them.
    const Run standard = run(request_for("standard", gpu, problem));
    CHECK(standard->ledger.total(tensors::s, Link::hbm_read).value == 0);
    CHECK(standard->hbm_write_after_flush.value == 2 * 128 * 32 * 2 + 2 * 2 * 128 * 128 * 2);
    CHECK(standard->peak_hbm.value == 4 * 2 * 128 * 32 * 2 + 2 * 2 * 128 * 128 * 2);
    CHECK(standard->extra_hbm.value == 2 * 2 * 128 * 128 * 2);
  }
}

TEST_CASE("simulate: on textbook, flash1 makes the accesses that the paper counts") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 1024;
  problem.head_dim = 64;
  const Run flash1 = run(request_for("flash1", textbook_gpu(), problem));
  const std::int64_t n = 1024, d = 64, bc = flash1->request.tile->block_kv, passes = ceil_div(n, bc);
  // M = 64 KiB of fp16 is 32768 elements, so Bc = M / 4d = 128.
  CHECK(bc == 128);
  const auto elements = [&](Tensor tensor, Link link) { return flash1->ledger.total(tensor, link).value / 2; };
  CHECK(elements(tensors::k, Link::hbm_read) + elements(tensors::v, Link::hbm_read) == 2 * n * d);
  CHECK(elements(tensors::q, Link::hbm_read) == passes * n * d);
  CHECK(elements(tensors::o, Link::hbm_read) == passes * n * d);
  // O is written in every pass, and once before the first to zero it.
  CHECK(elements(tensors::o, Link::hbm_write) == (passes + 1) * n * d);
  // The paper's (2 + 3 ceil(N/Bc)) N d, plus that initialisation.
  std::int64_t matrices = 0;
  for (Tensor tensor : {tensors::q, tensors::k, tensors::v, tensors::o})
    matrices += elements(tensor, Link::hbm_read) + elements(tensor, Link::hbm_write);
  CHECK(matrices == (2 + 3 * passes) * n * d + n * d);
  for (Tensor tensor : {tensors::m, tensors::l}) {
    CHECK(flash1->ledger.total(tensor, Link::hbm_read).value == passes * n * 4);
    CHECK(flash1->ledger.total(tensor, Link::hbm_write).value == (passes + 1) * n * 4);
  }
}

TEST_CASE("simulate: on textbook, standard attention moves S and P across HBM four times") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 1024;
  problem.head_dim = 64;
  const Run standard = run(request_for("standard", textbook_gpu(), problem));
  std::int64_t elements = 0;
  for (Tensor tensor : {tensors::s, tensors::p})
    for (Link link : {Link::hbm_read, Link::hbm_write}) elements += standard->ledger.total(tensor, link).value / 2;
  CHECK(elements == 4 * 1024 * 1024);
}

TEST_CASE("simulate: what HBM still writes when the run ends keeps no resource busy beyond the run") {
  GpuSpec gpu = toy_gpu();
  gpu.l2_capacity_bytes = 4096;
  gpu.hbm_bytes_per_second = 4e9;
  gpu.hbm_latency_cycles = 100;
  for (const std::int64_t n : {64, 128, 256}) {
    const auto simulation = *simulate(request_for("flash2", gpu, {.seq_q = n, .seq_kv = n, .head_dim = 16}));
    const double hbm = simulation->utilisation[static_cast<std::size_t>(Bound::hbm)];
    CHECK(hbm <= 1);
    CHECK(hbm > 0.5);
  }
}

TEST_CASE("simulate: the busy share of the L2 is of its lookups or of the ports, and without sharing every read is a lookup") {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = 8;
  problem.seq_q = problem.seq_kv = 1024;
  problem.head_dim = 64;
  GpuSpec gpu = h200_gpu();
  gpu.l2_merge_cycles = 66;
  const Run shared = run(request_for("flash2", gpu, problem));
  const double read = static_cast<double>(shared->ledger.total(Link::l2_to_sm).value);
  CHECK(shared->l2.looked_up.value > 0);
  CHECK(static_cast<double>(shared->l2.looked_up.value) < 0.9 * read);
  CHECK(shared->l2.unshared == doctest::Approx(read / (gpu.l2_bytes_per_cycle * shared->cycles.value)));
  CHECK(shared->l2.lookups ==
        doctest::Approx(shared->l2.unshared * static_cast<double>(shared->l2.looked_up.value) / read).epsilon(0.001));
  CHECK(shared->utilisation[static_cast<std::size_t>(Bound::l2)] == std::max(shared->l2.lookups, shared->l2.ports));
  gpu.l2_merge_cycles = 0;
  const Run unshared = run(request_for("flash2", gpu, problem));
  CHECK(unshared->l2.looked_up.value == unshared->ledger.total(Link::l2_to_sm).value);
  CHECK(unshared->l2.lookups == doctest::Approx(unshared->l2.unshared));
  gpu.l2_capacity_bytes = 0;
  CHECK(run(request_for("flash2", gpu, problem))->l2.looked_up.value == 0);
}

TEST_CASE("simulate: at real sizes bins add up to the ledger, utilisation stays below one, and the L2 is full") {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = 16;
  problem.seq_q = problem.seq_kv = 2048;
  problem.head_dim = 64;
  for (std::string_view id : {"flash2", "standard", "flash1"})
    for (bool causal : {false, true}) {
      problem.causal = causal;
      const Run simulation = run(request_for(id, h200_gpu(), problem));
      INFO(std::string(id), " causal ", causal);
      const TimeBins& bins = simulation->trace->bins();
      CHECK(bins.traffic.size() <= 2048);
      CHECK(bins.busy_cycles.size() == bins.traffic.size());
      CHECK(sum_of_bins(bins) == simulation->ledger.table());
      for (double use : simulation->utilisation) CHECK(use <= 1.0 + 1e-9);
      const double most = bins.width * 132 * (1 + 1e-9);
      double busiest = 0;
      std::int64_t fullest = 0;
      for (std::size_t i = 0; i < bins.traffic.size(); ++i) {
        std::int64_t resident = 0;
        for (std::int64_t bytes : bins.l2[i].resident) resident += bytes;
        fullest = std::max(fullest, resident);
        for (double busy : bins.busy_cycles[i]) busiest = std::max(busiest, busy);
      }
      CHECK(busiest <= most);
      CHECK(fullest <= 60 * 1024 * 1024);
      CHECK(fullest > 0);
      std::int64_t dirty = 0;
      for (std::int64_t bytes : bins.l2.back().dirty) dirty += bytes;
      CHECK(simulation->ledger.total(Link::hbm_write).value + dirty == simulation->hbm_write_after_flush.value);
    }
}

TEST_CASE("simulate: a program that knows where a block works says the same as its operations" *
          doctest::test_suite("every program")) {
  std::mt19937 random(9);
  BlockOperations first, second;
  for (int round = 0; round < rounds(40); ++round) {
    AttentionProblem problem = small_problem(random, round % 2 == 0);
    if (round % 3 != 0) problem.head_dim = 16 * (1 + problem.head_dim / 16);
    if (round % 4 == 1) {
      problem.causal = false;
      problem.seq_q = 8 * (1 + problem.seq_q / 8);  // numbers of rows fill sectors, so that planes may have one shape
      const char* const by_plane[] = {"h == b", "q >= kv + 7 * h", "(q + kv) % 3 == (h + b) % 3", "kv < 16 * (h + 1)"};
      REQUIRE(settle_masks({.masks = {by_plane[round / 4 % 4]}}, problem));
    }
    for (const ProgramInfo& info : tested_programs()) {
      const auto program =
          info.make(problem, {1 + static_cast<int>(random() % 40), 1 + static_cast<int>(random() % 40)}, h200_gpu());
      if (!program) continue;
      for (std::size_t launch = 0; launch < (*program)->launches().size(); ++launch) {
        std::map<std::int64_t, std::int64_t> block_of_shape;
        for (std::int64_t b = 0; b < (*program)->launches()[launch].blocks(); ++b) {
          const auto place = (*program)->place_of(static_cast<int>(launch), b);
          if (!place) continue;
          (*program)->emit_block(static_cast<int>(launch), b, second);
          INFO("round ", round, " ", std::string(info.id), " launch ", launch, " block ", b);
          CHECK(second.domain.plane == place->domain.plane);
          CHECK(second.domain.first == place->domain.first);
          const std::int64_t twin = block_of_shape.emplace(place->shape, b).first->second;
          (*program)->emit_block(static_cast<int>(launch), twin, first);
          CHECK(same_work(first, second, problem));
        }
      }
    }
  }
}

TEST_CASE("simulate: where tiles are whole, blocks that do the same have one shape, so that it is worked out once" *
          doctest::test_suite("every program")) {
  for (const bool causal : {false, true})
    for (const std::int64_t kv_heads : {2, 1})
      for (const ProgramInfo& info : tested_programs()) {
        AttentionProblem problem = {.batch = 2, .heads = 2, .kv_heads = kv_heads, .seq_q = 384, .seq_kv = 384, .head_dim = 64};
        problem.causal = causal;
        problem.pass = info.pass;
        const auto program = info.make(problem, {128, 128}, h200_gpu());
        if (!program) continue;
        for (std::size_t launch = 0; launch < (*program)->launches().size(); ++launch) {
          INFO(std::string(info.id), " launch ", launch, " causal ", causal, " kv heads ", kv_heads);
          // Which blocks of these are alike only their lists say.
          if (info.id == "flex_backward" && launch == 1 && causal) continue;
          if (!(*program)->place_of(static_cast<int>(launch), 0)) continue;  // a program need not say
          std::set<std::int64_t> shapes;
          std::vector<BlockOperations> kinds;
          for (std::int64_t b = 0; b < (*program)->launches()[launch].blocks(); ++b) {
            const auto place = (*program)->place_of(static_cast<int>(launch), b);
            REQUIRE(place);
            shapes.insert(place->shape);
            BlockOperations made;
            (*program)->emit_block(static_cast<int>(launch), b, made);
            if (std::none_of(kinds.begin(), kinds.end(),
                             [&](const BlockOperations& kind) { return same_work(kind, made, problem); }))
              kinds.push_back(std::move(made));
          }
          // Columns of P and dS may share sectors with their neighbours, so a key tile of these launches has a shape of its own.
          const bool by_key_tile = info.id == "standard_backward" && (launch == 0 || launch == 4);
          CHECK(shapes.size() == (by_key_tile ? 3 : kinds.size()));
        }
      }
}

TEST_CASE("simulate: what was left open is filled in, and asking again with it gives the same") {
  const Run open = run(request_for("standard", toy_gpu(), {}));
  REQUIRE(open->request.tile);
  REQUIRE(open->request.blocks_per_sm);
  const Run filled = run(open->request);
  CHECK(filled->cycles == open->cycles);
  CHECK(filled->launches.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(filled->launches[i].blocks_per_sm == open->launches[i].blocks_per_sm);
  SimulationRequest one = open->request;
  one.blocks_per_sm = 1;
  CHECK(run(one)->launches[0].blocks_per_sm == 1);
}

TEST_CASE("simulate: progress is called with rising fractions, and false cancels at once") {
  AttentionProblem problem;
  problem.heads = problem.kv_heads = 64;  // far more than there is time for before it is cancelled
  problem.seq_q = problem.seq_kv = 16384;
  problem.head_dim = 128;
  double last = 0;
  int calls = 0;
  const auto cancelled = simulate(request_for("flash2", h200_gpu(), problem), [&](double part) {
    CHECK(part >= last);
    CHECK(part <= 1);
    last = part;
    return ++calls < 5;
  });
  CHECK(calls == 5);
  REQUIRE_FALSE(cancelled);
  CHECK(cancelled.error().kind == Error::Kind::cancelled);
}

TEST_CASE("simulate: each wrong request is one sentence with the values and the way out") {
  const auto has = [](const std::string& sentence, std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      INFO(sentence);
      CHECK(sentence.find(part) != std::string::npos);
    }
    CHECK(sentence.find('\n') == std::string::npos);
  };
  SimulationRequest request = request_for("flash3000", toy_gpu(), {});
  has(error_of(request), {"flash3000", "flash2"});
  request.algorithm = "flash2";
  request.problem.seq_q = 0;
  has(error_of(request), {"seq", "0"});
  request.problem = {};
  request.tile = TileShape{0, 16};
  has(error_of(request), {"block_q", "0"});
  request.tile = TileShape{512, 512};
  request.problem.head_dim = 128;
  has(error_of(request), {"512x512", "toy", "KiB", "use a smaller"});
  request.problem = {};
  request.tile = ProgramTile{16, 16, 9};
  has(error_of(request), {"stages", "9", "1 to 8"});
  request.algorithm = "flash1";
  request.tile = ProgramTile{16, 16, 2};
  has(error_of(request), {"stages is 2", "flash1", "no ring"});
  request.algorithm = "flash2";
  request.tile = TileShape{16, 16};
  request.blocks_per_sm = 0;
  has(error_of(request), {"blocks_per_sm", "0", "at least 1"});
  request.blocks_per_sm = 1000;
  has(error_of(request), {"blocks_per_sm is 1000", "8 blocks", "toy", "use at most 8"});
  request.blocks_per_sm.reset();
  request.focus_sm = 4;
  has(error_of(request), {"SM 4", "0 to 3"});
  request.focus_sm = 0;
  request.gpu.sm_count = 0;
  has(error_of(request), {"toy", "at least one SM"});
  request.gpu = toy_gpu();
  request.gpu.hbm_read_fraction = 0.1;
  has(error_of(request), {"hbm.read_fraction is 0.1", "more than half"});
  request.gpu = toy_gpu();
  request.gpu.sm_shared_bytes_per_block = 2 * request.gpu.sm_shared_bytes;
  has(error_of(request), {"sm.shared_bytes_per_block", "more than its SM"});
}

TEST_CASE("simulate: tensors that do not fit HBM are an error with both sizes and what they are for") {
  AttentionProblem problem;
  problem.batch = 4;
  problem.heads = problem.kv_heads = 32;
  problem.seq_q = problem.seq_kv = 32768;
  problem.head_dim = 128;
  const std::string sentence = error_of(request_for("standard", h200_gpu(), problem));
  INFO(sentence);
  CHECK(sentence.find("standard needs 554.1 GB of HBM, 549.8 GB of it for S and P") != std::string::npos);
  CHECK(sentence.find("h200 has 141 GB") != std::string::npos);
  CHECK(sentence.find("use a smaller batch, heads or seq") != std::string::npos);
}

TEST_CASE("simulate: where the user made HBM too small, the refusal advises a larger one") {
  SimulationRequest request = request_for("flash2", toy_gpu(), AttentionProblem{});
  REQUIRE(set_spec_value(request.gpu, "hbm.capacity_bytes=10"));
  CHECK_MESSAGE(error_of(request).ends_with("toy has 10 B, as set: use a larger hbm.capacity_bytes"), error_of(request));
}

TEST_CASE("simulate: pages too long for HBM are what the refusal names, and the size that it advises runs") {
  AttentionProblem problem;
  problem.batch = 64;
  problem.seq_q = problem.seq_kv = 100;
  problem.head_dim = 64;
  problem.page_size = 1 << 24;
  SimulationRequest request = request_for("flex", toy_gpu(), problem);
  request.tile = TileShape{16, 16};
  CHECK(error_of(request) ==
        "flex needs 274.9 GB of HBM, because pages of 16777216 keys are not filled; toy has 1.074 GB: use page_size 112");
  request.problem.page_size = 112;
  CHECK(simulate(request));
  // Here no page is too long: the keys themselves are too many.
  request.problem.seq_kv = 1 << 24;
  const std::string sentence = error_of(request);
  CHECK_MESSAGE(sentence.ends_with("toy has 1.074 GB: use a smaller batch, heads or seq_kv"), sentence);
}

TEST_CASE("simulate: one query over many keys runs, since only standard attention has a score matrix") {
  AttentionProblem problem;
  problem.seq_q = 1;
  problem.seq_kv = 4'000'000;
  SimulationRequest request = request_for("flash2", h200_gpu(), problem);
  request.keeps_intervals = false;
  const auto simulated = simulate(request);
  REQUIRE_MESSAGE(simulated, error_of(request));
  CHECK((*simulated)->ledger.total(tensors::k, Link::l2_to_sm) == Bytes(problem.seq_kv * problem.head_dim * 2));
}

TEST_CASE("simulate: blocks too long for the host's memory are an error, not a crash") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 1 << 20;
  SimulationRequest request = request_for("flash1", h200_gpu(), problem);
  request.tile = TileShape{16, 16};
  const std::string sentence = error_of(request);
  INFO(sentence);
  CHECK(sentence.find("flash1 with tile 16x16") != std::string::npos);
  CHECK(sentence.find("of memory") != std::string::npos);
}

TEST_CASE("simulate: one long block is simulated, and many of them at once are refused with their number") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 4096;
  problem.head_dim = 16;
  SimulationRequest request = request_for("flash1", h200_gpu(), problem);
  request.tile = TileShape{16, 16};
  request.keeps_intervals = false;
  const auto alone = simulate(request);
  REQUIRE_MESSAGE(alone, error_of(request));
  CHECK((*alone)->ledger.total(tensors::k, Link::l2_to_sm) == Bytes(problem.seq_kv * problem.head_dim * 2));
  for (const std::int64_t heads : {80, 132}) {  // a block each, and room for each at once
    request.problem.heads = request.problem.kv_heads = heads;
    CHECK(error_of(request).find(fmt::format("operations, {} of them at once", heads)) != std::string::npos);
  }
}

TEST_CASE("simulate: what limits the SMs of a small grid is not hidden by those without a block") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = h200_gpu();
  request.problem = {.heads = 1, .kv_heads = 1, .seq_q = 512, .seq_kv = 16384, .head_dim = 128};
  const auto small = simulate(request);
  REQUIRE(small);
  const double blocks = static_cast<double>((*small)->launches[0].blocks);
  CHECK((*small)->bound == Bound::tensor);
  CHECK((*small)->sms.with_blocks == blocks);
  CHECK((*small)->sms.all == 132);
  CHECK((*small)->sms.never_used());
  CHECK((*small)->sms.idle == doctest::Approx(1 - blocks / 132).epsilon(0.01));
  const auto tensor = [](const Simulation& run) { return run.utilisation[static_cast<std::size_t>(Bound::tensor)]; };

  // A GPU of just these SMs has the same limit, and is as busy.
  request.gpu.sm_count = blocks;
  request.gpu.sm_groups.clear();
  const auto alone = simulate(request);
  REQUIRE(alone);
  CHECK((*alone)->bound == Bound::tensor);
  CHECK(tensor(**small) == doctest::Approx(tensor(**alone)).epsilon(0.05));
  CHECK_FALSE((*alone)->sms.many_idle());
}

TEST_CASE("simulate: a full grid is as busy on its SMs as on the whole GPU, and a last wave of few blocks is idle time") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = h200_gpu();
  request.blocks_per_sm = 1;
  request.problem = {.heads = 33, .kv_heads = 33, .seq_q = 512, .seq_kv = 4096, .head_dim = 128};
  const auto full = simulate(request);
  REQUIRE(full);
  REQUIRE((*full)->launches[0].waves == 1);
  CHECK_FALSE((*full)->sms.many_idle());
  CHECK((*full)->sms.with_blocks == 132);
  request.problem.heads = request.problem.kv_heads = 34;  // four blocks more
  const auto tail = simulate(request);
  REQUIRE(tail);
  CHECK((*tail)->bound == (*full)->bound);
  CHECK((*tail)->sms.with_blocks == 132);
  CHECK_FALSE((*tail)->sms.never_used());
  CHECK((*tail)->sms.idle > 0.4);
  CHECK((*tail)->sms.idle < 0.5);
}

TEST_CASE("simulate: a resource that all SMs share is busy over the whole run, however few SMs have a block") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = toy_gpu();
  request.gpu.sm_count = 64;
  request.gpu.sm_groups.clear();
  request.problem = {.heads = 1, .kv_heads = 1, .seq_q = 64, .seq_kv = 1024, .head_dim = 32};
  const auto run = simulate(request);
  REQUIRE(run);
  CHECK((*run)->sms.never_used());
  const double hbm = (*run)->utilisation[static_cast<std::size_t>(Bound::hbm)];
  CHECK(hbm == doctest::Approx((*run)->launches[0].hbm_busy_cycles / (*run)->cycles.value).epsilon(0.01));
}

TEST_CASE("simulate: the L2 is as busy as the slower of its reads and its writes") {
  SimulationRequest request;
  request.algorithm = "standard";
  request.gpu = toy_gpu();
  request.problem = {.seq_q = 128, .seq_kv = 128, .head_dim = 16};
  const auto busy_cycles = [&](double read_rate, double write_rate) {
    request.gpu.l2_bytes_per_cycle = read_rate;
    request.gpu.l2_write_bytes_per_cycle = write_rate;
    const auto run = simulate(request);
    REQUIRE(run);
    return (*run)->utilisation[static_cast<std::size_t>(Bound::l2)] * (*run)->cycles.value;
  };
  const auto run = simulate(request);
  REQUIRE(run);
  const auto written = static_cast<double>((*run)->ledger.total(Link::sm_to_l2).value);
  const auto read = static_cast<double>((*run)->ledger.total(Link::l2_to_sm).value);
  CHECK(busy_cycles(1000, 1) == doctest::Approx(written));
  CHECK(busy_cycles(1, 1000) == doctest::Approx(read));
}

TEST_CASE("simulate: an L2 of one set that has room for whole tiles writes back whole tiles, however large they are") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = toy_gpu();
  request.gpu.l2_ways = 0;
  request.gpu.sm_shared_bytes = request.gpu.sm_shared_bytes_per_block = 128 * 1024;
  request.problem = {.seq_q = 256, .seq_kv = 256, .head_dim = 64};
  request.tile = ProgramTile(64, 64);
  constexpr std::int64_t tile_bytes = 64 * 64 * 2;
  for (const std::int64_t tiles : {1, 2, 3}) {
    request.gpu.l2_capacity_bytes = static_cast<double>(tiles * tile_bytes);
    const auto run = simulate(request);
    REQUIRE(run);
    const std::int64_t written = (*run)->ledger.total(tensors::o, Link::hbm_write).value;
    CHECK(written > 0);
    CHECK(written % tile_bytes == 0);
  }
}
