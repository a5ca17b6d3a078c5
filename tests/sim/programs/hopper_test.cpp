// The rungs of the ladder to Hopper: what each adds, what it needs, and who is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/engine/launch_order.h"
#include "sim/engine/operation_costs.h"
#include "sim/engine/simulation.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/hopper_lines.h"
#include "sim/programs/hopper_needs.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/occupancy.h"
#include "sim/programs/tile_program.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

AttentionProblem problem(std::int64_t seq, std::int64_t head_dim, bool causal = false) {
  AttentionProblem p;
  p.heads = p.kv_heads = 4;
  p.seq_q = p.seq_kv = seq;
  p.head_dim = head_dim;
  p.causal = causal;
  return p;
}

std::shared_ptr<const Simulation> run(std::string_view id, const AttentionProblem& p, const ProgramTile& tile, GpuSpec gpu) {
  SimulationRequest request;
  request.algorithm = std::string(id);
  request.problem = p;
  request.tile = tile;
  request.gpu = std::move(gpu);
  const auto simulation = simulate(request);
  REQUIRE_MESSAGE(simulation, (simulation ? std::string() : simulation.error().sentence.text()));
  return *simulation;
}

std::vector<std::string_view> ids() {
  std::vector<std::string_view> found;
  for (const HopperRung& rung : hopper_rungs()) found.push_back(rung.id());
  return found;
}

}  // namespace

TEST_CASE("hopper: a rung keeps what the rungs before it have, and most add one thing") {
  const HopperRung* before = nullptr;
  int added = 0;
  for (const HopperRung& rung : hopper_rungs()) {
    if (rung.lists) break;  // FlexAttention is no rung, and what follows is rung 1 again
    CAPTURE(rung.id());
    if (before != nullptr) {
      CHECK(rung.producer >= before->producer);
      CHECK(rung.overlap >= before->overlap);
      CHECK(rung.ping_pong >= before->ping_pong);
      CHECK(rung.persistent >= before->persistent);
      CHECK(rung.grouped >= before->grouped);
      const int more = (rung.producer != before->producer) + (rung.groups > before->groups) + (rung.overlap != before->overlap) +
                       (rung.ping_pong != before->ping_pong) + (rung.persistent != before->persistent) +
                       (rung.grouped != before->grouped);
      CHECK(more == 1);
      added += more;
    }
    before = &rung;
  }
  CHECK(added == 6);
  REQUIRE(before != nullptr);
  CHECK(before->draws());
}

TEST_CASE("hopper: a listing has each line once, and those of what its rung has") {
  int listings = 0;
  for (const HopperRung& rung : hopper_rungs()) {
    CAPTURE(rung.id());
    const auto info = find_program(rung.id());
    if (!info) continue;  // only flash3 launches it
    ++listings;
    std::map<std::string_view, int> times;
    for (const ListingLine& line : (*info)->listing) ++times[line.text];
    const auto has = [&](std::string_view text) { return times.contains(text); };
    // The producer goes through the key tiles, and so do the groups; without one, the block's loads are a loop of their own too.
    const std::string_view loop = rung.lists ? "for each listed tile j" : "for each key tile j, from the last";
    for (const auto& line : times) CHECK_MESSAGE(line.second == (line.first == loop ? 2 : 1), line.first);
    CHECK(has(loop));
    CHECK(has("producer: one warp") == (rung.producer && rung.lists));
    CHECK(has("producer: one thread of one warp") == (rung.producer && !rung.lists));
    CHECK(has("loads: one thread of the block") == !rung.producer);
    CHECK(has("draw the next ticket") == rung.draws());
    CHECK(has("wait for my turn") == rung.ping_pong);
    CHECK(has("pass the turn on") == rung.ping_pong);
    CHECK(has("load the two lists") == rung.lists);
    CHECK(has("S = f(S, b, h, q, kv)") == rung.lists);
    CHECK(has("wait for the other group") == !rung.producer);
    CHECK(has("wait empty[K]; load Kⱼ → full[K]") == rung.producer);
    CHECK(has("issue O = O + P V of the tile before") == rung.overlap);
    CHECK(has("issue O = O + P Vⱼ") == !rung.overlap);
    const auto place = [&](std::string_view text) {
      for (std::size_t n = 0; n < (*info)->listing.size(); ++n)
        if ((*info)->listing[n].text == text) return n;
      return (*info)->listing.size();
    };
    // Where groups take turns, the exponentials come behind the wait for O.
    if (rung.overlap) CHECK((place("wait O → empty[V] of the tile before") < place("P = exp(S − m′)")) == rung.ping_pong);
    for (const ListingLine& line : (*info)->listing)
      if (line.text == "consumer groups: 64 query rows each")
        CHECK(line.formula == (rung.producer ? "setmaxnreg.inc" : "threadIdx.x / 128"));
  }
  CHECK(listings == 8);
}

TEST_CASE("hopper: a GPU without wgmma refuses every rung and names what has it") {
  for (const std::string_view id : ids()) {
    if (!find_program(id)) continue;  // only flash3 launches it
    SimulationRequest request;
    request.algorithm = std::string(id);
    request.problem = problem(64, 16);
    request.tile = ProgramTile(48, 16);
    request.gpu = toy_gpu();
    request.gpu.sm_wgmma_flops_per_cycle = 0;
    const auto simulation = simulate(request);
    REQUIRE_FALSE(simulation);
    CHECK(simulation.error().sentence.text().find("sm_90") != std::string::npos);
  }
}

TEST_CASE("hopper: boxes are whole at every head dimension, in whole sectors") {
  AttentionProblem p = problem(6, 16);
  p.heads = p.kv_heads = 1;
  for (const std::string_view id : {"hopper_wgmma", "hopper_flex"})
    for (const std::int64_t head_dim : {8, 16, 24, 40, 64}) {
      CAPTURE(id);
      CAPTURE(head_dim);
      p.head_dim = head_dim;
      const auto simulation = run(id, p, ProgramTile(128, 128), h200_gpu());
      CHECK(simulation->ledger.total(tensors::q, Link::l2_to_sm) == Bytes(64 * head_dim * 2));
      CHECK(simulation->ledger.total(tensors::k, Link::l2_to_sm) == Bytes(128 * head_dim * 2));
      CHECK(simulation->ledger.total(tensors::v, Link::l2_to_sm) == Bytes(128 * head_dim * 2));
    }
}

TEST_CASE("hopper: from rung 2 on a block has a producer and 64-row groups, with the registers moved") {
  for (const std::int64_t head_dim : {64, 128})
    for (const HopperRung& rung : hopper_rungs()) {
      CAPTURE(rung.id());
      const AttentionProblem p = problem(1024, head_dim);
      const TileShape tile = hopper_default_tile(rung.number, p, h200_gpu());
      const KernelNeeds needs = hopper_needs(rung.number, p, tile, h200_gpu());
      CHECK(why_block_does_not_fit(needs, h200_gpu()).text() == "");
      CHECK(needs.stages == 2);
      GpuSpec small = h200_gpu();
      for (const int missing : {0, 1}) {
        small.sm_shared_bytes_per_block = static_cast<double>(needs.shared_bytes - missing);
        CHECK(hopper_needs(rung.number, p, tile, small).stages == 2 - missing);
      }
      const int groups = hopper_groups(rung, p);
      CHECK(tile.block_q == 64 * groups);
      REQUIRE(needs.groups.size() == static_cast<std::size_t>(groups) + (rung.producer ? 1 : 0));
      if (!rung.producer) continue;  // the thread that loads belongs to a group
      int threads = 0, registers = 0;
      for (const WarpGroup& group : needs.groups) {
        threads += 32 * group.warps;
        registers += 32 * group.warps * group.registers;
      }
      CHECK(threads == needs.threads);
      CHECK(registers <= 65536);
      CHECK(registers <= registers_of_block(needs));
    }
}

TEST_CASE("hopper: the default tile has 64 rows a group from 99 KiB of shared memory on, and 8 below") {
  GpuSpec gpu = h200_gpu();
  for (const HopperRung& rung : hopper_rungs()) {
    CAPTURE(rung.id());
    const AttentionProblem p = problem(1024, 64);
    const auto rows = [&](double shared_bytes) {
      gpu.sm_shared_bytes_per_block = shared_bytes;
      return hopper_default_tile(rung.number, p, gpu).block_q;
    };
    CHECK(rows(99 * 1024) == 64 * hopper_groups(rung, p));
    CHECK(rows(99 * 1024 - 1) == 8 * hopper_groups(rung, p));
  }
}

TEST_CASE("hopper: the default tile has 128 keys, and 32 where elements have 32 bits") {
  for (const HopperRung& rung : hopper_rungs()) {
    CAPTURE(rung.id());
    AttentionProblem p = problem(1024, 64);
    const auto keys = [&] { return hopper_default_tile(rung.number, p, h200_gpu()).block_kv; };
    CHECK(keys() == 128);
    p.dtype = DataType::fp32;
    CHECK(keys() == 32);
  }
}

TEST_CASE("hopper: a block has the threads of the compiled kernel, at either head dimension") {
  int compared = 0;
  for (const std::int64_t head_dim : {64, 128})
    for (const KernelProfile& kernel : kernel_profiles()) {
      const auto rung = std::ranges::find(hopper_rungs(), kernel.id, &HopperRung::id);
      if (rung == hopper_rungs().end() || kernel.builds.empty()) continue;
      CAPTURE(kernel.id);
      CAPTURE(head_dim);
      const AttentionProblem p = problem(1024, head_dim);
      const KernelNeeds needs = hopper_needs(rung->number, p, hopper_default_tile(rung->number, p, h200_gpu()), h200_gpu());
      CHECK(needs.threads == kernel.build("attention", p).threads);
      CHECK(needs.registers_per_thread == kernel.build("attention", p).registers);
      // The first group is the producer, if there is one.
      CHECK(needs.groups.front().registers == kernel.build("attention", p).setmaxnreg_dec);
      CHECK(needs.groups.back().registers == kernel.build("attention", p).setmaxnreg_inc);
      ++compared;
    }
  CHECK(compared >= 2 * 8);
}

TEST_CASE("flash3: its program is the rung that its kernel launches, with that listing and that time") {
  struct Case {
    std::int64_t n, head_dim;
    bool causal;
    std::string_view rung;
  };
  for (const Case& c : {Case{1024, 64, false, "hopper_wgmma"}, Case{2048, 64, false, "hopper_causal"},
                        Case{1024, 128, true, "hopper_causal"}, Case{8192, 64, true, "hopper_causal"}}) {
    CAPTURE(c.n);
    CAPTURE(c.rung);
    AttentionProblem p = problem(c.n, c.head_dim);
    p.causal = c.causal;
    SimulationRequest request;
    request.problem = p;
    request.gpu = h200_gpu();
    request.algorithm = "flash3";
    const auto flash3 = simulate(request);
    request.algorithm = std::string(c.rung);
    const auto rung = simulate(request);
    REQUIRE(flash3);
    REQUIRE(rung);
    CHECK((*flash3)->cycles.value == (*rung)->cycles.value);
    CHECK((*flash3)->info->id == "flash3");
    CHECK((*flash3)->info->listing.data() == (*rung)->info->listing.data());
  }
  // Under a mask the rung without roles takes the longest rows first, by sets of heads.
  AttentionProblem p = problem(4096, 64);
  p.causal = true;
  SimulationRequest request{.algorithm = "flash3", .problem = p, .gpu = h200_gpu()};
  const auto longest = simulate(request);
  REQUIRE(longest);
  const LaunchSpec& launch = (*longest)->program->launches().front();
  CHECK(launch.grouped);
  CHECK_FALSE(launch.persistent);
  CHECK_FALSE(launch.draws);
  CHECK(launch.needs.threads == 256);
}

TEST_CASE("hopper: without a producer the first group asks for each next tile, one tile ahead, and is late by the second request") {
  const AttentionProblem p = problem(1024, 128);
  const ProgramTile tile(hopper_default_tile(HopperRungId::wgmma, p, h200_gpu()));
  const auto simulation = run("hopper_wgmma", p, tile, h200_gpu());
  BlockOperations block;
  simulation->program->emit_block(0, 0, block);
  int requests = 0, ahead = 0;
  for (const Operation& op : block.operations) {
    if (op.kind == OpKind::load) {
      CHECK(op.group == 0);
      if (op.tile.tensor == tensors::k && op.iteration >= 0) ahead += 1024 / 128 - 1 - op.kv_tile == op.iteration + 1 ? 1 : 0;
    }
    if (op.requests == 0) continue;
    CHECK(op.group == 0);
    CHECK(op.kind == OpKind::wait);
    CHECK(op.requests == 2);
    CHECK(op.instructions == 28);  // of the thread that asks
    ++requests;
  }
  CHECK(requests == 1024 / 128 - 1);
  CHECK(ahead == 1024 / 128 - 1);
  const GpuSpec gpu = h200_gpu();
  GpuSpec at_once = gpu;
  at_once.sm_box_issue_cycles = 0;
  const OperationCosts slow(gpu, p), quick(at_once, p);
  for (const Operation& op : block.operations)
    if (op.requests > 0)
      CHECK(slow.class_of(op, block).timing.duration - quick.class_of(op, block).timing.duration ==
            doctest::Approx(gpu.sm_box_issue_cycles));
}

TEST_CASE("hopper: the softmax of a group overlaps its own products from rung 4 on, and not before") {
  const AttentionProblem p = problem(64, 16);
  const ProgramTile tile(32, 16);
  for (const std::string_view id : {"hopper_producer", "hopper_overlap"}) {
    const auto simulation = run(id, p, tile, toy_gpu());
    const auto intervals = simulation->trace->intervals(0);
    int overlaps = 0;
    for (const Interval& product : intervals)
      for (const Interval& softmax : intervals)
        overlaps += product.kind == OpKind::matmul && softmax.kind == OpKind::exp && product.run == softmax.run &&
                            product.group == softmax.group && softmax.start < product.end && product.start < softmax.end
                        ? 1
                        : 0;
    CAPTURE(id);
    CHECK((overlaps > 0) == (id == "hopper_overlap"));
  }
}

TEST_CASE("hopper: groups that take turns never issue products at once") {
  const auto simulation = run("hopper_ping_pong", problem(96, 16), ProgramTile(48, 16), toy_gpu());
  // Between a wait for the turn and passing it on, no other group of the block waits successfully for its own.
  const auto intervals = simulation->trace->intervals(0);
  std::set<std::int32_t> blocks;
  for (const Interval& interval : intervals) blocks.insert(interval.run);
  REQUIRE_FALSE(blocks.empty());
  BlockOperations block;
  for (const std::int32_t run_id : blocks) {
    simulation->program->emit_block(0, simulation->trace->runs()[static_cast<std::size_t>(run_id)].block, block);
    std::map<std::int32_t, const Interval*> by_op;
    for (const Interval& interval : intervals)
      if (interval.run == run_id) by_op[interval.op] = &interval;
    // Collect the turns: [end of the wait, end of the passing on].
    std::vector<std::pair<double, double>> turns;
    std::map<int, double> began;
    std::map<int, bool> has_turn;
    for (const auto& [op, interval] : by_op) {
      const Operation& o = block.operations[static_cast<std::size_t>(op)];
      // The last O += P V of a group has no product after it, and no turn.
      if (o.kind == OpKind::matmul && o.iteration < block.iterations) CHECK(has_turn[o.group]);
      if (o.kind != OpKind::wait || o.wait_on != WaitOn::named_barrier) continue;
      has_turn[o.group] = o.signal_token < 0;
      if (o.signal_token < 0)
        began[o.group] = interval->end;
      else
        turns.emplace_back(began[o.group], interval->end);
    }
    std::sort(turns.begin(), turns.end());
    REQUIRE(turns.size() > 2);
    for (std::size_t i = 1; i < turns.size(); ++i) CHECK(turns[i].first >= turns[i - 1].second);
  }
}

TEST_CASE("hopper: a tile whose last groups have no rows takes as long as a whole one, and counts only what exists") {
  for (const HopperRung& rung : hopper_rungs()) {
    CAPTURE(rung.id());
    if (!find_program(rung.id())) continue;  // one that only flash3 names
    const std::int64_t rows = std::int64_t{64} * hopper_groups(rung, problem(64, 64));
    AttentionProblem whole = problem(rows, 64), cut = problem(64, 64);
    whole.seq_kv = cut.seq_kv = 8192;
    const ProgramTile tile(rows, 128);
    const auto of_whole = run(rung.id(), whole, tile, h200_gpu()), of_cut = run(rung.id(), cut, tile, h200_gpu());
    CHECK(of_cut->cycles.value > 0.98 * of_whole->cycles.value);
    CHECK(of_cut->flops * rows == of_whole->flops * 64);
    CHECK(of_cut->exps * rows == of_whole->exps * 64);
    CHECK(of_cut->ledger.total(tensors::q, Link::l2_to_sm).value * rows ==
          of_whole->ledger.total(tensors::q, Link::l2_to_sm).value * 64);
  }
}

TEST_CASE("hopper: a persistent block begins to load before the block before it has stored") {
  const AttentionProblem p = problem(256, 16);
  const ProgramTile tile(32, 16);
  const auto plain = run("hopper_ping_pong", p, tile, toy_gpu()), persistent = run("hopper_persistent", p, tile, toy_gpu());
  CHECK(persistent->cycles.value < plain->cycles.value);
  const auto overlapping = [](const Simulation& simulation) {
    int found = 0;
    const auto runs = simulation.trace->runs();
    for (const BlockRun& a : runs)
      for (const BlockRun& b : runs) found += a.sm == b.sm && a.start < b.start && b.start < a.end ? 1 : 0;
    return found;
  };
  CHECK(overlapping(*persistent) > 0);
  // All of it is done, once.
  CHECK(persistent->flops == plain->flops);
  CHECK(persistent->ledger.total(tensors::o, Link::sm_to_l2).value == plain->ledger.total(tensors::o, Link::sm_to_l2).value);
  CHECK(persistent->ledger.total(tensors::k, Link::l2_to_sm).value == plain->ledger.total(tensors::k, Link::l2_to_sm).value);
}

TEST_CASE("hopper: loads of a persistent block wait until the block before has read the buffer") {
  const auto simulation = run("hopper_persistent", problem(128, 16), ProgramTile(32, 16, 2), toy_gpu());
  const auto intervals = simulation->trace->intervals(0);
  const auto runs = simulation->trace->runs();
  // By run: when K's last product of each group ended, and when its first K load was issued.
  std::map<std::int32_t, double> last_scores, first_load;
  BlockOperations block;
  for (const Interval& interval : intervals) {
    simulation->program->emit_block(0, runs[static_cast<std::size_t>(interval.run)].block, block);
    const Operation& op = block.operations[static_cast<std::size_t>(interval.op)];
    // The ring has two buffers, and this problem eight tiles: the first load may come once the seventh tile has been read.
    if (op.kind == OpKind::matmul && op.transpose && op.iteration == 6)
      last_scores[interval.run] = std::max(last_scores[interval.run], interval.end);
    if (op.kind == OpKind::load && op.tile.tensor == tensors::k && op.iteration == 0) first_load[interval.run] = interval.start;
  }
  int checked = 0;
  for (const auto& [run_id, start] : first_load)
    for (const auto& [other, end] : last_scores) {
      const BlockRun &mine = runs[static_cast<std::size_t>(run_id)], &before = runs[static_cast<std::size_t>(other)];
      if (before.start < mine.start && before.end > mine.start) {
        CHECK(start >= end);
        ++checked;
      }
    }
  CHECK(checked > 0);
}

TEST_CASE("hopper: each block that draws tickets counts itself as done at its last tile, and the last one resets both counters") {
  const GpuSpec gpu = toy_gpu();
  for (const bool causal : {false, true})
    for (const std::int64_t seq : {32, 256}) {
      CAPTURE(causal);
      CAPTURE(seq);
      const auto simulation = run("hopper_causal", problem(seq, 16, causal), ProgramTile(32, 16), gpu);
      const std::int64_t tiles = simulation->program->launches().front().blocks();
      const std::int64_t resident =
          std::min<std::int64_t>(tiles, simulation->launches.front().blocks_per_sm * static_cast<std::int64_t>(gpu.sm_count));
      CHECK(simulation->ledger.total(tickets, Link::l2_to_sm).value == 32 * (tiles + resident));
      CHECK(simulation->ledger.total(tickets, Link::sm_to_l2).value == 32 * (tiles + resident + 2));
      // The blocks that count themselves have the last tickets, and the last of these resets the counters.
      std::int64_t counted = 0;
      BlockOperations block;
      for (const BlockRun& each : simulation->trace->runs()) {
        simulation->program->emit_block(0, each.block, block);
        const auto is_reset = [](const Operation& op) { return op.kind == OpKind::write && op.tile.tensor == tickets; };
        const auto draws = std::ranges::count(block.operations, OpKind::fetch_add, &Operation::kind);
        const std::int64_t number = ticket_of(*simulation, each)->number;
        CHECK(draws == (number >= tiles - resident ? 2 : 1));
        CHECK(std::ranges::count_if(block.operations, is_reset) == (number == tiles - 1 ? 2 : 0));
        counted += draws - 1;
      }
      CHECK(counted == resident);
    }
}

TEST_CASE("hopper: persistent blocks that do not draw take every n-th tile") {
  const GpuSpec gpu = toy_gpu();
  const auto fixed = run("hopper_persistent", problem(256, 16, true), ProgramTile(32, 16), gpu);
  const int places = fixed->launches.front().blocks_per_sm;
  const std::int64_t resident = std::int64_t{places} * gpu.sm_count;
  std::map<std::int32_t, std::vector<std::int64_t>> of_sm;
  std::size_t blocks = 0;
  for (const BlockRun& each : fixed->trace->runs()) {
    std::vector<std::int64_t>& found = of_sm[each.sm];
    if (std::find(found.begin(), found.end(), each.block % resident) == found.end()) found.push_back(each.block % resident);
    ++blocks;
  }
  CHECK(blocks == 32);
  REQUIRE(static_cast<std::int64_t>(blocks) > resident);
  for (const auto& [sm, found] : of_sm) CHECK(found.size() <= static_cast<std::size_t>(places));
}

TEST_CASE("hopper: products and the arithmetic beside them slow each other down, and only where products are wgmma") {
  GpuSpec apart = h200_gpu();
  apart.sm_beside_wgmma_alu_cycles = apart.sm_beside_wgmma_exp_cycles = 0;
  apart.sm_wgmma_fp32_cycles = apart.sm_wgmma_mixed_cycles = apart.sm_wgmma_alu_cycles = 0;
  AttentionProblem p = problem(2048, 128);
  p.heads = p.kv_heads = 16;
  const ProgramTile tile(128, 128);
  const double beside = run("hopper_ping_pong", p, tile, h200_gpu())->cycles.value,
               alone = run("hopper_ping_pong", p, tile, apart)->cycles.value;
  CHECK(beside > 1.08 * alone);
  CHECK(beside < 1.4 * alone);
  const ProgramTile smaller(128, 64);
  CHECK(run("flash2", p, smaller, h200_gpu())->cycles.value == run("flash2", p, smaller, apart)->cycles.value);
  // Either half of it counts.
  const ProgramTile three_groups(192, 128);
  GpuSpec half = apart;
  half.sm_wgmma_fp32_cycles = h200_gpu().sm_wgmma_fp32_cycles;
  CHECK(run("hopper_three_groups", p, three_groups, half)->cycles.value >
        1.01 * run("hopper_three_groups", p, three_groups, apart)->cycles.value);
  half = apart;
  half.sm_beside_wgmma_exp_cycles = h200_gpu().sm_beside_wgmma_exp_cycles;
  p.head_dim = 64;
  CHECK(run("hopper_three_groups", p, three_groups, half)->cycles.value >
        1.01 * run("hopper_three_groups", p, three_groups, apart)->cycles.value);
}

TEST_CASE("hopper: with a causal mask the longest rows start first, without a flag") {
  const AttentionProblem p = problem(256, 16, true);
  const ProgramTile tile(32, 16);
  const auto first_rows = [&](std::string_view id) {
    const auto simulation = run(id, p, tile, toy_gpu());
    const BlockRun& first = simulation->trace->runs().front();
    return simulation->program->place_of(0, first.block)->domain.first;
  };
  CHECK(first_rows("hopper_persistent") == 0);
  CHECK(first_rows("hopper_causal") == 256 - 32);
}

}  // namespace tilescope
