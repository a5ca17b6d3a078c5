// The memory system against its queues, one access after another.
#include "sim/engine/memory_system.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "sim/programs/backward_tensors.h"
#include "sim/programs/tensor_layout.h"
#include "tests/rounds.h"
#include "tests/sim/engine/fake_program.h"

using namespace tilescope;

namespace {

/// A queue that serves in order of arrival.
struct ServedInOrder {
  double free = 0, busy = 0;
  double serve(double time, double cycles) {
    free = std::max(free, time) + cycles;
    busy += cycles;
    return free;
  }
};

/// The ports, the L2 and HBM as queues. Nothing is evicted: what was read or written once is in the L2.
struct MemoryRules {
  const GpuSpec& gpu;
  std::array<ServedInOrder, 4> in, out;
  ServedInOrder reads, writes, hbm;
  std::map<std::pair<std::size_t, std::int32_t>, double> arrivals;  // by tensor and row
  double hbm_bytes = 0;

  double hbm_cycles_a_byte(bool is_read) const {
    const double peak = gpu.hbm_bytes_per_second / gpu.sm_clock_hz;
    // A copy of equal parts reaches the sustained rate, so a write takes what a read leaves of it.
    const double read = 1 / (peak * gpu.hbm_read_fraction), both = 2 / (peak * gpu.hbm_sustained_fraction);
    return is_read ? read : both - read;
  }

  Transfer load(int sm, double now, Tensor tensor, std::int32_t row, double bytes) {
    const double port = bytes / gpu.sm_l2_bytes_per_cycle, l2 = gpu.has_l2() ? bytes / gpu.l2_bytes_per_cycle : 0;
    const double latency = gpu.has_l2() ? gpu.l2_latency_cycles : 0;
    Transfer made;
    double served = in[static_cast<std::size_t>(sm)].serve(now, port);
    served = std::max(served, reads.serve(now, l2)) + latency;
    double arrival = 0, from_hbm = 0;
    const auto known = arrivals.find({tensor.index(), row});
    if (known == arrivals.end() || !gpu.has_l2()) {
      from_hbm = bytes * hbm_cycles_a_byte(true);
      arrival = arrivals[{tensor.index(), row}] = hbm.serve(now, from_hbm) + gpu.hbm_latency_cycles;
      made.hbm_bytes = static_cast<std::int64_t>(bytes);
      hbm_bytes += bytes;
    } else {
      arrival = known->second;
    }
    made.end = std::max(served, arrival);
    made.streams = std::max({port, l2, from_hbm});
    // Bandwidth is to blame where a transfer takes more than twice its latency.
    if (arrival >= served)
      made.limit = arrival - now > 2 * gpu.hbm_latency_cycles ? WaitCause::hbm : WaitCause::data;
    else
      made.limit = served - now > 2 * latency ? WaitCause::l2_path : WaitCause::data;
    return made;
  }

  Transfer store(int sm, double now, Tensor tensor, std::int32_t row, double bytes, bool adds) {
    const double port = bytes / (adds ? gpu.sm_reduce_bytes_per_cycle : gpu.sm_store_bytes_per_cycle);
    const double l2 = gpu.has_l2() ? bytes / (adds ? gpu.l2_reduce_bytes_per_cycle : gpu.l2_write_bytes_per_cycle) : 0;
    Transfer made;
    made.sent = std::max(out[static_cast<std::size_t>(sm)].serve(now, port), writes.serve(now, l2));
    made.streams = std::max(port, l2);
    if (gpu.has_l2())
      reads.free = std::max(reads.free, now) + bytes * std::max(0.0, 2 / gpu.l2_copy_bytes_per_cycle - 1 / gpu.l2_bytes_per_cycle);
    double arrival = 0;
    const bool is_known = arrivals.contains({tensor.index(), row});
    if (adds && (!is_known || !gpu.has_l2())) {  // the sums so far come from HBM
      arrival = hbm.serve(now, bytes * hbm_cycles_a_byte(true)) + gpu.hbm_latency_cycles;
      hbm_bytes += bytes;
    }
    if (!gpu.has_l2()) {
      const double cycles = bytes * hbm_cycles_a_byte(false);
      arrival = hbm.serve(std::max(now, arrival), cycles) + gpu.hbm_latency_cycles;
      hbm_bytes += bytes;
      made.streams = std::max(made.streams, cycles);
    } else if (!is_known) {
      arrivals[{tensor.index(), row}] = 0;
    }
    made.end = std::max(made.sent + (gpu.has_l2() ? gpu.l2_latency_cycles : 0), arrival);
    return made;
  }
};

GpuSpec memory_spec(int kind) {
  GpuSpec gpu = kind == 2 ? textbook_gpu() : toy_gpu();
  gpu.hbm_sustained_fraction = 0.7;
  gpu.hbm_read_fraction = 0.9;
  gpu.sm_store_bytes_per_cycle = 24;
  gpu.sm_reduce_bytes_per_cycle = 20;
  gpu.l2_write_bytes_per_cycle = 80;
  gpu.l2_reduce_bytes_per_cycle = 50;
  gpu.l2_copy_bytes_per_cycle = kind == 1 ? 100 : 300;  // reads and writes are in each other's way, or not
  return gpu;
}

/// Returns a load, a store and an addition of 16 rows.
BlockOperations load_store_and_addition() {
  BlockOperations block;
  add(block, load_k(0, 16));
  add(block, store_o(0, 16));
  Operation addition = store_o(0, 16);
  addition.kind = OpKind::reduce_add;
  addition.tile.tensor = tensors::d_q_acc;
  addition.bytes = 1024;
  add(block, addition);
  return block;
}

}  // namespace

TEST_CASE("memory: transfers land when the port, the L2 and HBM have served them in order, plus the latency of the farthest") {
  for (int round = 0; round < rounds(9); ++round) {
    CAPTURE(round);
    const GpuSpec gpu = memory_spec(round % 3);
    std::mt19937 random(static_cast<unsigned>(round));
    const AttentionProblem problem = {.seq_q = 4096, .seq_kv = 4096, .head_dim = 16};
    const std::vector<Tensor> used = {tensors::k, tensors::o, tensors::d_q_acc};
    const BlockOperations block = load_store_and_addition();
    ScheduleBuilder builder(gpu, problem);
    builder.begin_launch({});
    BlockSchedule schedule;
    builder.build(block, schedule);
    const OperationStream& stream = schedule.groups.front();
    Ledger ledger(1, 8, used);
    Recorder recorder(4, 0, used, builder);
    MemorySystem memory(gpu, memory_layouts(problem, {16, 16}, used), {used, false}, builder, ledger, recorder);
    MemoryRules rules{gpu, {}, {}, {}, {}, {}, {}, 0};
    double now = 0, port_in = 0, port_out = 0;
    std::int64_t read = 0;
    for (int n = 0; n < 400; ++n) {
      now += static_cast<double>(random() % 400) / 16;
      const int sm = static_cast<int>(random() % 4);
      const auto row = static_cast<std::int32_t>(64 * (random() % 64));  // apart: neighbours are tracked as one tile
      Transfer made, expected;
      if (const unsigned kind = random() % 4; kind < 2) {
        ScheduledAccess access = stream.loads[0];
        access.row += row;
        made = memory.load(sm, now, access, {});
        expected = rules.load(sm, now, tensors::k, row, 512);
        read += expected.hbm_bytes;
        CHECK(made.hbm_bytes == expected.hbm_bytes);
        CHECK(made.limit == expected.limit);
      } else {
        ScheduledAccess access = stream.stores[kind - 2];
        access.row += row;
        made = memory.store(sm, now, access, {});
        expected =
            kind == 2 ? rules.store(sm, now, tensors::o, row, 512, false) : rules.store(sm, now, tensors::d_q_acc, row, 1024, true);
        CHECK(made.sent == doctest::Approx(expected.sent).epsilon(1e-9));
      }
      CAPTURE(n);
      CHECK(made.end == doctest::Approx(expected.end).epsilon(1e-9));
      CHECK(made.streams == doctest::Approx(expected.streams).epsilon(1e-9));
    }
    for (std::size_t sm = 0; sm < 4; ++sm) port_in += rules.in[sm].busy, port_out += rules.out[sm].busy;
    CHECK(memory.port_in_busy_cycles() == doctest::Approx(port_in).epsilon(1e-9));
    CHECK(memory.port_out_busy_cycles() == doctest::Approx(port_out).epsilon(1e-9));
    CHECK(memory.l2_busy_cycles() == doctest::Approx(std::max(rules.reads.busy, rules.writes.busy)).epsilon(1e-9));
    CHECK(ledger.total(tensors::k, Link::hbm_read).value == read);
    // What is still queued has not been done yet.
    for (const double later : {now, rules.hbm.free - 10, rules.hbm.free + 1}) {
      const double queued = std::max(0.0, rules.hbm.free - later);
      CHECK(memory.hbm_use(later).busy_cycles == doctest::Approx(rules.hbm.busy - queued).epsilon(1e-9));
      CHECK(memory.hbm_use(later).bytes ==
            doctest::Approx(rules.hbm_bytes - queued / rules.hbm_cycles_a_byte(false)).epsilon(1e-9));
    }
    std::int64_t resident = 0, dirty = 0, stored = 0;
    for (const std::int64_t bytes : memory.contents().resident) resident += bytes;
    for (const std::int64_t bytes : memory.contents().dirty) dirty += bytes;
    std::int64_t known = 0;
    for (const auto& [tile, arrival] : rules.arrivals) {
      const bool is_sum = tile.first == Tensor(tensors::d_q_acc).index(), is_input = tile.first == Tensor(tensors::k).index();
      known += is_sum ? 1024 : 512;
      stored += is_input ? 0 : is_sum ? 1024 : 512;
    }
    CHECK(resident == (gpu.has_l2() ? known : 0));
    CHECK(dirty == (gpu.has_l2() ? stored : 0));
  }
}

TEST_CASE(
    "memory: what an SM writes or adds crosses to the other side, what it reads comes to its own, and each way has its queue") {
  GpuSpec gpu = toy_gpu();
  gpu.l2_partitions = 2;
  gpu.sm_groups = {{2, 0}, {2, 1}};
  gpu.l2_fabric_bytes_per_cycle = 0.5;
  const AttentionProblem problem = {.seq_q = 4096, .seq_kv = 4096, .head_dim = 16};
  const std::vector<Tensor> used = {tensors::k, tensors::o, tensors::d_q_acc};
  const BlockOperations block = load_store_and_addition();
  ScheduleBuilder builder(gpu, problem);
  builder.begin_launch({});
  BlockSchedule schedule;
  builder.build(block, schedule);
  const OperationStream& stream = schedule.groups.front();
  for (const std::size_t kind : {0U, 1U}) {  // a store, an addition
    CAPTURE(kind);
    const double crossing = (kind == 0 ? 512.0 : 1024.0) / 2 / 0.5;  // half of the bytes are at home in the other partition
    for (const int first : {0, 2}) {                                 // SMs of either side
      CAPTURE(first);
      Ledger ledger(1, 8, used);
      Recorder recorder(4, 0, used, builder);
      MemorySystem memory(gpu, memory_layouts(problem, {16, 16}, used), {used, false}, builder, ledger, recorder);
      std::int32_t row = 0;
      const auto sent = [&](int sm) {
        ScheduledAccess access = stream.stores[kind];
        access.row += row += 64;
        return memory.store(sm, 0, access, {}).sent;
      };
      const int other = 2 - first;
      CHECK(sent(first) == crossing);
      CHECK(sent(other) == crossing);
      CHECK(sent(first + 1) == 2 * crossing);
      CHECK(sent(first) == 3 * crossing);
      CHECK(sent(other + 1) == 2 * crossing);
      const auto loaded = [&](int sm) {
        ScheduledAccess access = stream.loads[0];
        access.row += row += 64;
        return memory.load(sm, 0, access, {}).end;
      };
      // Reads of this side come the way of the other side's writes, of which there were two; those of the other side wait for
      // three.
      const double read = 256 / 0.5;
      CHECK(loaded(first) == 2 * crossing + read + gpu.l2_far_latency_cycles);
      CHECK(loaded(other) == 3 * crossing + read + gpu.l2_far_latency_cycles);
    }
  }
}

TEST_CASE("memory: a load of one of the tiles that were loaded lately is a repetition, and takes the same time as without") {
  const GpuSpec gpu = memory_spec(0);
  const AttentionProblem problem = {.seq_q = 4096, .seq_kv = 4096, .head_dim = 16};
  const std::vector<Tensor> used = {tensors::k};
  BlockOperations block;
  add(block, load_k(0, 16));
  ScheduleBuilder builder(gpu, problem);
  builder.begin_launch({});
  BlockSchedule schedule;
  builder.build(block, schedule);
  const ScheduledAccess first = schedule.groups.front().loads[0];
  ScheduledAccess other = first;
  other.row = 16;
  for (const double merge : {0.0, 40.0}) {
    GpuSpec merging = gpu;
    merging.l2_merge_cycles = merge;
    Ledger ledger(1, 8, used);
    Recorder recorder(4, 0, used, builder);
    const TensorLayouts layouts = memory_layouts(problem, {16, 16}, used);
    MemorySystem plain(merging, layouts, {used, false}, builder, ledger, recorder),
        repeats(merging, layouts, {used, false}, builder, ledger, recorder);
    std::mt19937 random(1);
    double now = 0;
    int repeated = 0;
    for (int n = 0; n < 300; ++n) {
      now += static_cast<double>(random() % 200) / 8;
      const int sm = static_cast<int>(random() % 4);
      const PlacedAccess access = (random() % 5 == 0 ? other : first).placed({});
      const Transfer made = plain.load_anew(sm, now, access);
      if (repeats.takes_repeated(sm, access)) {
        const RepeatedLoad again = repeats.load_again(sm, now);
        CHECK(again.end == made.end);
        CHECK(again.streams == made.streams);
        CHECK(again.busy_end - again.start == doctest::Approx(512.0 / 32));
        CHECK(again.start >= now);
        ++repeated;
      } else {
        CHECK(repeats.load_anew(sm, now, access).end == made.end);
      }
    }
    CHECK(repeated > 290);
    CHECK(plain.port_in_busy_cycles() == repeats.port_in_busy_cycles());
    CHECK(plain.port_out_busy_cycles() == repeats.port_out_busy_cycles());
    CHECK(plain.l2_busy_cycles() == repeats.l2_busy_cycles());
  }
}
