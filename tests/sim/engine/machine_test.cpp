// The event loop against its rules, one operation after another: who goes first on an SM, what it waits for, and what that costs.
#include "sim/engine/machine.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "tests/rounds.h"
#include "tests/sim/engine/fake_program.h"

using namespace tilescope;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// One SM whose memory is so fast that a load or a store takes only its latency.
GpuSpec one_sm(bool models_instruction_latency) {
  GpuSpec gpu = toy_gpu();
  gpu.sm_count = 1;
  gpu.sm_groups = {{1, 0}};
  gpu.l2_capacity_bytes = 0;
  gpu.sm_l2_bytes_per_cycle = gpu.l2_bytes_per_cycle = gpu.l2_write_bytes_per_cycle = 1e300;
  gpu.l2_latency_cycles = gpu.l2_far_latency_cycles = 0;
  gpu.hbm_bytes_per_second = 1e300;
  gpu.launch_fetch_cycles = 30;
  if (!models_instruction_latency) return gpu;
  gpu.sm_sub_partitions = 4;
  gpu.sm_dependent_cycles = 5;
  gpu.sm_product_mixed_cycles = 0.6;
  gpu.sm_product_issue_cycles = 0.9;
  gpu.sm_product_latency_cycles = 24;
  gpu.sm_reduce_bytes_per_cycle = 3;
  gpu.sm_reduce_queue_bytes = 700;
  return gpu;
}

/// Operations of a block: products, exponentials and other arithmetic, loads that later ones wait for, loads that wait for a
/// buffer, stores, and results that a product takes in slices.
BlockOperations random_block(std::mt19937& random) {
  const auto below = [&](unsigned limit) { return static_cast<std::int32_t>(random() % limit); };
  BlockOperations block;
  int load = -1, compute = -1;
  for (int n = 0; n < 24; ++n) {
    Operation op;
    switch (below(8)) {
      case 0:
      case 1:
        load = add_after(block, below(2) == 0 ? compute : -1, load_k(16 * below(64), 16));
        continue;
      case 2:
      case 3:
        op = matmul(512 * (1 + below(4000)));
        op.smem_read_bytes = below(2) == 0 ? 16 * below(4000) : 0;
        break;
      case 4:
      case 5:
        op = exps(1 + below(8000));
        if (below(3) == 0) op.slices = static_cast<std::uint8_t>(1 + below(8));
        break;
      case 6:
        op = store_o(16 * below(64), 1 + below(32));
        if (below(2) == 0) op.kind = OpKind::reduce_add;
        break;
      default:
        op.kind = OpKind::copy;
        op.line = 2;
        op.smem_write_bytes = 8 * below(2000);
        break;
    }
    op.instructions = static_cast<std::int16_t>(below(3) == 0 ? below(300) : 0);
    op.shared_round_trips = static_cast<std::int16_t>(below(4) == 0 ? below(3) : 0);
    compute = add_after(block, below(2) == 0 ? load : -1, op);
  }
  return block;
}

/// What the trace shows of an operation.
struct Seen {
  double start = -1, end = 0, ready = 0;
  WaitCause cause = WaitCause::none;
};
struct BlockStay {
  double start = 0, end = 0;
  std::vector<Seen> seen;  // by operation
};

/// The SM by its rules. The cost of each operation alone is that of its class, which schedule_test.cpp works out.
class SmRules {
 public:
  SmRules(const GpuSpec& gpu, const AttentionProblem& problem, const KernelNeeds& needs)
      : gpu_(gpu), builder_(gpu, problem), needs_(needs) {
    builder_.begin_launch(needs);
  }

  std::vector<BlockStay> run(const std::vector<BlockOperations>& blocks, std::size_t at_once) {
    stays_.resize(blocks.size());
    places_.resize(std::min(at_once, blocks.size()));
    crowded_ = at_once > 1;
    std::size_t next = 0;
    for (Place& place : places_) start(place, blocks[next], next, 0, gpu_.launch_fetch_cycles), ++next;
    for (;;) {
      // The earliest goes first, of several the oldest, and of one block its load.
      Place* first = nullptr;
      for (Place& place : places_)
        if (!place.is_empty &&
            (first == nullptr || time_of(place) < time_of(*first) || (time_of(place) == time_of(*first) && place.age < first->age)))
          first = &place;
      if (first == nullptr) return stays_;
      const double now = time_of(*first);
      REQUIRE(now < never);
      if (load_time(*first) <= start_time(*first) && load_time(*first) < never) {
        load(*first, now);
      } else if (first->next == first->compute.size()) {
        stays_[first->age].end = now;
        first->is_empty = true;
        if (next < blocks.size()) start(*first, blocks[next], next, now, 0), ++next;
      } else if (first->timing().store) {
        store(*first, now);
      } else {
        compute(*first, now);
      }
    }
  }

 private:
  struct Item {
    OpTiming timing;
    std::int32_t at = 0, waits_for = -1;
    OpKind kind = OpKind::copy;
    double bytes = 0;
  };
  struct Place {
    bool is_empty = true;
    std::size_t age = 0, next = 0, next_load = 0;
    std::vector<Item> compute, loads;
    std::vector<double> ended;      // by operation
    std::vector<WaitCause> limits;  // by operation: of loads, what their bytes were late for
    double began = 0;
    WaitCause starts_after = WaitCause::none, copy_limit = WaitCause::none;
    double compute_end = 0, issued = 0, drained = 0, copied = 0, rate = 0, sliced_end = 0;
    bool is_sliced = false;
    int slices = 1;
    const OpTiming& timing() const { return compute[next].timing; }
  };

  bool waits() const { return gpu_.sm_dependent_cycles > 0; }
  bool is_oldest(const Place& place) const {
    return std::none_of(places_.begin(), places_.end(),
                        [&](const Place& other) { return !other.is_empty && other.age < place.age; });
  }
  double pipe_free(const Place& place) const {
    const std::uint8_t pipe = place.timing().pipe[place.is_sliced ? 1 : 0];
    return pipe == no_pipe ? 0 : free_[pipe];
  }
  double ended(const Place& place, const Item& item) const {
    return item.waits_for < 0 ? 0 : place.ended[static_cast<std::size_t>(item.waits_for)];
  }
  double load_time(const Place& place) const {
    if (place.next_load == place.loads.size()) return never;
    return std::max(place.issued, ended(place, place.loads[place.next_load]));
  }
  double start_time(const Place& place) const {
    if (place.next == place.compute.size())
      return place.next_load < place.loads.size() ? never : std::max(place.compute_end, place.drained);
    const OpTiming& timing = place.timing();
    double start = std::max(place.compute_end, ended(place, place.compute[place.next]));
    if (timing.port == smem_port) start = std::max(start, operations_free_);
    // The oldest block does not wait for a younger one to leave the tensor cores or the exponential pipe.
    const std::uint8_t pipe = timing.pipe[place.is_sliced ? 1 : 0];
    const bool yields = waits() && is_oldest(place) && (pipe == pipe_of(Pipe::tensor) || pipe == pipe_of(Pipe::exp));
    return yields ? start : std::max(start, pipe_free(place));
  }
  double time_of(const Place& place) const { return std::min(load_time(place), start_time(place)); }

  /// How much longer it takes because the warps of other blocks issue too.
  double crowded(const Place& place, const OpTiming& timing, double start) const {
    if (!crowded_ || timing.issued <= 0) return 0;
    double taken = 0;
    for (const Place& other : places_)
      if (&other != &place && other.compute_end > start) taken += other.rate;
    return std::max(0.0, timing.issued * std::min(1.0, taken) - timing.slack);
  }
  void note_rate(Place& place, const OpTiming& timing, double duration) const {
    if (crowded_ && timing.issued > 0) place.rate = timing.issued * (needs_.threads / 32.0 / gpu_.sm_sub_partitions) / duration;
  }
  void take_pipes(const OpTiming& timing, double start) {
    for (std::size_t i = 0; i < timing.work.size(); ++i) free_[1 + i] = std::max(free_[1 + i], start) + timing.work[i];
  }
  /// Operations and copies queue behind their own kind for the way to shared memory. While both wait, each has every other cycle.
  double serve(double& own, double start, double cycles) {
    if (cycles <= 0) return start;
    const double queued = std::max(0.0, own - start);
    memory_free_ = std::max(memory_free_, start) + cycles;
    own = std::min(memory_free_, start + 2 * queued + 2 * cycles);
    return own;
  }

  void start(Place& place, const BlockOperations& block, std::size_t age, double time, double fetch) {
    BlockSchedule schedule;
    builder_.build(block, schedule);
    const OperationStream& stream = schedule.groups.front();
    const std::vector<std::int32_t> waited = waited_for(block);
    place = {};
    place.is_empty = false;
    place.age = age;
    place.ended.assign(block.operations.size(), never);
    place.limits.resize(block.operations.size());
    const auto item = [&](std::uint32_t op_class, std::int32_t at) {
      const OpClass& c = builder_.op_class(op_class);
      return Item{builder_.timings()[op_class], at, waited[static_cast<std::size_t>(at)], c.kind, static_cast<double>(c.bytes)};
    };
    for (std::size_t i = 0; i < stream.compute.size(); ++i)
      place.compute.push_back(item(stream.compute[i].number(), stream.op_of_compute[i]));
    for (std::size_t i = 0; i < stream.loads.size(); ++i)
      place.loads.push_back(item(stream.loads[i].op_class, stream.op_of_load[i]));
    stays_[age].start = place.began = time;
    stays_[age].seen.resize(block.operations.size());
    place.starts_after = fetch > 0 ? WaitCause::launch : WaitCause::block_slot;
    const OpTiming& setup = builder_.costs().setup(0);
    take_pipes(setup, time);
    const double begin = time + gpu_.sm_block_start_cycles + fetch;
    place.compute_end = begin;
    const double duration = setup.duration + crowded(place, setup, begin);
    note_rate(place, setup, duration);
    place.compute_end = place.issued = place.drained = begin + duration;
  }

  Seen& seen(const Place& place, const Item& item) { return stays_[place.age].seen[static_cast<std::size_t>(item.at)]; }
  /// Of the waits for the block's start, for bytes and for a pipe, in this order, the longest; of equal ones the earlier is told
  /// last.
  WaitCause cause_of(const Place& place, double ready, double now) const {
    if (now <= ready) return WaitCause::none;
    const OpTiming& timing = place.timing();
    const double bytes = std::max(place.compute_end, ended(place, place.compute[place.next]));
    const double for_start = place.compute_end - ready, for_bytes = bytes - place.compute_end, for_pipe = now - bytes;
    if (for_pipe <= std::max(for_start, for_bytes)) {
      if (for_bytes <= for_start) return place.starts_after;
      return place.limits[static_cast<std::size_t>(place.compute[place.next].waits_for)];
    }
    if (timing.store) return WaitCause::fp32;
    const bool own_pipe = timing.awaited != Pipe::none && free_[pipe_of(timing.awaited)] == now;
    if (!own_pipe) return WaitCause::smem;
    return timing.awaited == Pipe::tensor ? WaitCause::tensor : timing.awaited == Pipe::exp ? WaitCause::exp : WaitCause::fp32;
  }
  Seen seen_compute(const Place& place, double now, double end) const {
    const double ready = place.next == 0 ? place.began : place.compute_end;
    return {now, end, ready, cause_of(place, ready, now)};
  }

  void load(Place& place, double now) {
    const Item& item = place.loads[place.next_load++];
    const double ready = place.next_load == 1 ? place.began : place.issued;
    take_pipes(item.timing, now);
    double landed = hbm(now);
    // Bandwidth is to blame where bytes take more than twice the latency.
    const WaitCause own_limit = landed - now > 2 * gpu_.hbm_latency_cycles ? WaitCause::hbm : WaitCause::data;
    if (item.timing.smem_cycles > 0) landed = std::max(landed, serve(copies_free_, now, item.timing.smem_cycles));
    place.issued = now;
    seen(place, item) = {now, landed, ready,
                         now <= ready         ? WaitCause::none
                         : item.waits_for < 0 ? place.starts_after
                                              : WaitCause::buffer};
    place.drained = std::max(place.drained, landed);
    // A copy counts as landed with all copies before it. On a GPU for teaching every load does.
    const bool follows = item.timing.copy || !waits(), is_late = follows && landed < place.copied;
    const double noted = is_late ? place.copied : landed;
    WaitCause& limit = place.limits[static_cast<std::size_t>(item.at)];
    limit = is_late ? place.copy_limit : own_limit;
    if (item.timing.copy) {
      place.copied = noted;
      place.copy_limit = limit;
    }
    place.ended[static_cast<std::size_t>(item.at)] = noted;
  }

  /// HBM is fast, but serves one request after another. Returns when it has served one.
  double hbm(double now) { return (hbm_free_ = std::max(hbm_free_, now)) + gpu_.hbm_latency_cycles; }

  void store(Place& place, double now) {
    const Item& item = place.compute[place.next];
    const bool adds = item.kind == OpKind::reduce_add;
    const double duration = item.timing.duration + crowded(place, item.timing, now);
    note_rate(place, item.timing, duration);
    const double cycles = item.bytes / (adds ? gpu_.sm_reduce_bytes_per_cycle : gpu_.sm_store_bytes_per_cycle);
    leaves_ = std::max(leaves_, now) + cycles;
    // What is added to comes first, and then goes back.
    const double landed = std::max(leaves_, hbm(adds ? hbm(now) : now));
    const double left = landed + (waits() ? item.timing.duration / 2 : 0);
    place.drained = std::max(place.drained, left);
    seen(place, item) = seen_compute(place, now, left);
    take_pipes(item.timing, now);
    place.compute_end = std::max(now + duration, serve(operations_free_, now, item.timing.smem_cycles));
    if (adds && waits()) {
      // The warps go on once what is on its way fits the queue; each sub-partition's oldest warp is through first. It begins while
      // the others are still busy with a product.
      const double warps = std::max(1.0, needs_.threads / 32.0 / gpu_.sm_sub_partitions);
      const bool multiplied = place.next > 0 && place.compute[place.next - 1].timing.product;
      const double others = multiplied ? place.compute[place.next - 1].timing.work[0] / warps * (warps - 1) : 0;
      const double begin = std::max(added_, now - others);
      added_ = begin + cycles;
      const double beyond = item.bytes / warps - (now - begin) * gpu_.sm_reduce_bytes_per_cycle - gpu_.sm_reduce_queue_bytes;
      if (beyond > 0) place.compute_end = std::max(place.compute_end, now + beyond / gpu_.sm_reduce_bytes_per_cycle);
      ++(beyond > 0 ? waited_for_room : found_room);
      added_meanwhile += begin < now ? 1 : 0;
    }
    place.ended[static_cast<std::size_t>(item.at)] = place.compute_end;
    ++place.next;
  }

  void compute(Place& place, double now) {
    const Item& item = place.compute[place.next];
    const OpTiming& timing = item.timing;
    const double duration = timing.duration + crowded(place, timing, now);
    seen(place, item) = seen_compute(place, now, now + timing.shown);
    // What the oldest block did not wait for makes it longer: the two share the pipe.
    double end = now + duration + std::min(duration, std::max(0.0, pipe_free(place) - now));
    if (timing.product && place.is_sliced) {
      end = std::max(end, place.sliced_end + timing.duration / place.slices);
      place.sliced_end = 0;
      place.is_sliced = false;
    }
    take_pipes(timing, now);
    end = std::max(end, serve(operations_free_, now, timing.smem_cycles));
    if (timing.slices > 1) {
      place.sliced_end = std::max(place.sliced_end, end);
      place.is_sliced = true;
      place.slices = timing.slices;
      end = now + duration / timing.slices;
    }
    note_rate(place, timing, duration);
    place.compute_end = end;
    place.ended[static_cast<std::size_t>(item.at)] = end;
    ++place.next;
  }

  const GpuSpec& gpu_;
  ScheduleBuilder builder_;
  KernelNeeds needs_;
  bool crowded_ = false;
  std::vector<Place> places_;
  std::vector<BlockStay> stays_;
  std::array<double, no_pipe + 1> free_{};
  double memory_free_ = 0, operations_free_ = 0, copies_free_ = 0, hbm_free_ = 0;
  double leaves_ = 0, added_ = 0;  // when all that is stored has left the SM, and all additions

 public:
  int waited_for_room = 0, found_room = 0, added_meanwhile = 0;
};

}  // namespace

TEST_CASE(
    "machine: blocks of random operations take as long on an SM as its rules say, recorded or not, and wait for what they name") {
  static const ListingLine listing[] = {{}, {}, {}, {}};
  static const ProgramInfo info = {.id = "fake", .title = "Fake", .family = "test", .listing = listing};
  int waited = 0, found = 0, meanwhile = 0;
  std::array<int, 13> causes{};
  for (int round = 0; round < rounds(36); ++round) {
    CAPTURE(round);
    std::mt19937 random(static_cast<unsigned>(round));
    const bool waits = round % 4 != 0;
    const GpuSpec gpu = one_sm(waits);
    SimulationRequest request;
    request.gpu = gpu;
    request.problem.seq_q = request.problem.seq_kv = 4096;
    request.blocks_per_sm = 1 + round % 3;
    KernelNeeds needs;
    needs.threads = round % 5 < 3 ? 128 : 256;
    needs.registers_per_thread = 32;
    needs.dependent_share = 0.5;
    needs.setup_instructions = 40;
    needs.setup_round_trips = 1;
    std::vector<BlockOperations> blocks(1 + random() % 7);
    for (BlockOperations& block : blocks) block = random_block(random);
    if (round % 2 == 0)
      for (BlockOperations& block : blocks) block.shared_tiles = TileSet{1} << ChipTile(tiles::k).index();
    const auto program = std::make_shared<FakeProgram>(request.problem, TileShape{},
                                                       std::vector<std::int64_t>{static_cast<std::int64_t>(blocks.size())},
                                                       [&](int, std::int64_t number, BlockOperations& out) {
                                                         const BlockOperations& block = blocks[static_cast<std::size_t>(number)];
                                                         out.operations = block.operations;
                                                         out.tokens = block.tokens;
                                                         out.shared_tiles = block.shared_tiles;
                                                       });
    program->set_needs(needs);
    SmRules rules(gpu, request.problem, needs);
    const std::vector<BlockStay> expected = rules.run(blocks, static_cast<std::size_t>(*request.blocks_per_sm));
    waited += rules.waited_for_room;
    found += rules.found_room;
    meanwhile += rules.added_meanwhile;
    for (const bool is_recorded : {true, false}) {
      CAPTURE(is_recorded);
      request.keeps_intervals = is_recorded;
      const auto run = run_program(request, info, program);
      REQUIRE(run);
      const std::span<const BlockRun> runs = (*run)->trace->runs();
      REQUIRE(runs.size() == blocks.size());
      double last = 0;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        CAPTURE(i);
        CHECK(runs[i].block == static_cast<std::int64_t>(i));
        CHECK(runs[i].start == doctest::Approx(expected[i].start).epsilon(1e-9));
        CHECK(runs[i].end == doctest::Approx(expected[i].end).epsilon(1e-9));
        last = std::max(last, expected[i].end);
      }
      for (const Interval& interval : (*run)->trace->intervals(0)) {
        const Seen& seen = expected[static_cast<std::size_t>(interval.run)].seen[static_cast<std::size_t>(interval.op)];
        CAPTURE(interval.run);
        CAPTURE(interval.op);
        CHECK(interval.start == doctest::Approx(seen.start).epsilon(1e-9));
        CHECK(interval.end == doctest::Approx(seen.end).epsilon(1e-9));
        CHECK(interval.ready == doctest::Approx(seen.ready).epsilon(1e-9));
        CHECK(to_string(interval.cause) == to_string(seen.cause));
        ++causes[static_cast<std::size_t>(interval.cause)];
      }
      std::size_t operations = 0;
      for (const BlockOperations& block : blocks) operations += block.operations.size();
      CHECK((*run)->trace->intervals(0).size() == (is_recorded ? operations : 0));
      CHECK((*run)->cycles.value == doctest::Approx(last).epsilon(1e-9));
    }
  }
  CHECK(waited > 5);
  CHECK(found > 5);
  CHECK(meanwhile > 0);
  for (const WaitCause cause : {WaitCause::none, WaitCause::data, WaitCause::buffer, WaitCause::tensor, WaitCause::exp,
                                WaitCause::fp32, WaitCause::smem, WaitCause::block_slot, WaitCause::launch})
    CHECK_MESSAGE(causes[static_cast<std::size_t>(cause)] > rounds(5), to_string(cause));
}

TEST_CASE("machine: progress is told now and then, not at every event") {
  SimulationRequest request;
  request.algorithm = "flash2";
  request.gpu = h200_gpu();
  request.problem = {.heads = 16, .kv_heads = 16, .seq_q = 8192, .seq_kv = 8192, .head_dim = 64};
  std::vector<std::chrono::steady_clock::time_point> calls;
  const auto run = simulate(request, [&](double) {
    calls.push_back(std::chrono::steady_clock::now());
    return calls.size() < 6;
  });
  for (std::size_t i = 2; i < calls.size(); ++i) CHECK(calls[i] - calls[i - 1] >= std::chrono::milliseconds(9));
  CHECK((run || calls.size() == 6));
}
