// Two devices with a link between them: values, bytes over the link, and time.
#include "sim/engine/devices.h"

#include <cmath>
#include <limits>
#include <map>

#include <doctest/doctest.h>

#include "sim/core/spec_text.h"
#include "sim/engine/device_links.h"
#include "sim/numerics/block_machine.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/programs.h"
#include "sim/programs/tensor_layout.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

constexpr double link_rate = 16e9;  // bytes a second, which at 1 GHz is 16 bytes a cycle
constexpr DeviceId first{0}, second{1};

/// Four SMs a device, and a link as a spec's text has it.
GpuSpec linked_gpu(double latency = 300) {
  const std::string text = spec_text(toy_gpu(), "toy with a link") +
                           "[link]\nbytes_per_second = { value = 16e9, source = \"estimated\", note = \"for a test\" }\n" +
                           "latency_cycles = { value = " + std::to_string(latency) +
                           ", source = \"estimated\", note = \"for a test\" }\n";
  const auto gpu = parse_gpu_spec(text, "a test");
  REQUIRE_MESSAGE(gpu, (gpu ? "" : gpu.error().sentence));
  REQUIRE(gpu->link_bytes_per_second == link_rate);
  REQUIRE(gpu->link_latency_cycles == latency);
  return *gpu;
}

AttentionProblem small_problem() {
  AttentionProblem problem;
  problem.batch = 1;
  problem.heads = problem.kv_heads = 2;
  problem.seq_q = problem.seq_kv = 256;
  problem.head_dim = 64;
  return problem;
}

SimulationRequest request_of(std::string_view algorithm, const GpuSpec& gpu, const AttentionProblem& problem) {
  SimulationRequest request;
  request.algorithm = std::string(algorithm);
  request.gpu = gpu;
  request.problem = problem;
  return request;
}

std::shared_ptr<const TileProgram> program_of(std::string_view algorithm, const AttentionProblem& problem, const GpuSpec& gpu) {
  const auto info = find_program(algorithm);
  REQUIRE(info);
  auto program = (*info)->make(problem, {32, 32}, gpu);
  REQUIRE(program);
  return std::shared_ptr<const TileProgram>(std::move(*program));
}

Result<DevicesSimulation> run_on(const GpuSpec& gpu, const DeviceSetup& setup, std::string_view algorithm = "flash2",
                                 const AttentionProblem& problem = small_problem()) {
  return simulate_on_devices(request_of(algorithm, gpu, problem), **find_program(algorithm), program_of(algorithm, problem, gpu),
                             setup);
}

const DeviceSetup halves{2, {tensors::k, tensors::v}};

/// K or V as one device has it in its HBM: not a number where the other one has it.
std::shared_ptr<const Matrix> half_of(const AttentionProblem& problem, Tensor tensor, DeviceId device) {
  auto values = std::make_shared<Matrix>(static_cast<int>(problem.seq_kv), static_cast<int>(problem.head_dim),
                                         std::numeric_limits<float>::quiet_NaN());
  const int rows = values->rows / 2;
  for (int row = device.number * rows; row < (device.number + 1) * rows; ++row)
    for (int col = 0; col < values->cols; ++col)
      values->at(row, col) = std::sin(static_cast<float>(row * 7 + col * 3 + static_cast<int>(tensor.index())));
  return values;
}

}  // namespace

TEST_CASE("devices: one device gives what a run without devices gives, to the bit") {
  GpuSpec gpu = linked_gpu();
  gpu.launch_first_ns = 500;
  for (const std::string_view algorithm : {"flash2", "standard", "flash1"}) {
    const auto program = program_of(algorithm, small_problem(), gpu);
    const auto alone = run_program(request_of(algorithm, gpu, small_problem()), **find_program(algorithm), program);
    const auto devices = run_on(gpu, {1, {}}, algorithm);
    REQUIRE(alone);
    REQUIRE(devices);
    CHECK(devices->total->cycles.value == (*alone)->cycles.value);
    CHECK(devices->total->hbm_write_after_flush.value == (*alone)->hbm_write_after_flush.value);
    const auto a = devices->total->ledger.entries(), b = (*alone)->ledger.entries();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].bytes == b[i].bytes);
    CHECK(devices->trace(first).intervals(0).size() == (*alone)->trace->intervals(0).size());
  }
}

TEST_CASE("devices: each block finds every row of K and V on the device that its home names, and O is that of one device") {
  const AttentionProblem problem = small_problem();
  const auto program = program_of("flash2", problem, toy_gpu());
  const TensorHomes homes(2, tensor_layouts(problem, program->tile(), program->tensors()), halves.split);
  std::array<InputSource, 2> sources;
  InputSource whole;
  for (const DeviceId device : {first, second}) {
    sources[device.index()].k = half_of(problem, tensors::k, device);
    sources[device.index()].v = half_of(problem, tensors::v, device);
  }
  for (const Tensor tensor : {tensors::k, tensors::v}) {
    auto values = std::make_shared<Matrix>(*half_of(problem, tensor, first));
    const auto rest = half_of(problem, tensor, second);
    for (int row = values->rows / 2; row < values->rows; ++row)
      for (int col = 0; col < values->cols; ++col) values->at(row, col) = rest->at(row, col);
    (tensor == tensors::k ? whole.k : whole.v) = values;
  }
  std::array<BlockMachine, 2> hbm = {BlockMachine(*program, sources[0]), BlockMachine(*program, sources[1])};
  std::map<std::int32_t, Matrix> expected;
  for (std::int32_t plane = 0; plane < 2; ++plane) {
    auto o = run_plane(*program, whole, plane, tensors::o);
    REQUIRE(o);
    expected.emplace(plane, std::move(*o));
  }
  const std::int64_t blocks = program->launches()[0].blocks();
  std::int64_t compared = 0, from_peer = 0;
  BlockOperations block;
  for (std::int64_t number = 0; number < blocks; ++number) {
    const DeviceId device = number < blocks / 2 ? first : second;
    BlockMachine machine(*program, sources[device.index()]);
    program->emit_block(0, number, block);
    for (std::size_t i = 0; i < block.operations.size(); ++i) {
      const Operation& op = block.operations[i];
      MatrixPtr loaded;
      if (op.kind == OpKind::load) {
        const DeviceId home = homes.home_of(op.tile, device);
        REQUIRE(homes.is_whole(op.tile));
        from_peer += home != device ? 1 : 0;
        loaded = hbm[home.index()].input(op.tile);
      }
      Effect effect;
      REQUIRE(machine.execute(op, static_cast<std::int32_t>(i), loaded, effect).empty());
      if (op.kind != OpKind::store || op.tile.tensor != tensors::o) continue;
      const MatrixPtr stored = machine.stored(op);
      for (int row = 0; row < op.tile.rows; ++row)
        for (int col = 0; col < op.tile.cols; ++col, ++compared)
          REQUIRE(stored->at(row, col) == expected.at(op.tile.plane).at(op.tile.row + row, op.tile.col + col));
    }
  }
  CHECK(compared == 2 * 256 * 64);
  CHECK(from_peer == blocks * 8);  // of eight key tiles with K and V, half
}

TEST_CASE("devices: what crosses the link is half of K and V for each query tile, and each home reads its half from HBM once") {
  const auto run = run_on(linked_gpu(), halves);
  REQUIRE(run);
  const Ledger& ledger = run->total->ledger;
  // B H ceil(Nq / Br) blocks, half of them on each device, each of which loads Nk / 2 rows from the other one.
  const std::int64_t blocks = 2 * 256 / 32, of_peer = blocks / 2 * (256 / 2) * 64 * 2;
  for (const DeviceId device : {first, second})
    for (const Tensor tensor : {tensors::k, tensors::v}) {
      CHECK(ledger.total(device, tensor, Link::peer_read).value == of_peer);
      CHECK(ledger.total(device, tensor, Link::hbm_read).value == 2 * (256 / 2) * 64 * 2);
      CHECK(ledger.total(device, tensor, Link::l2_to_sm).value == 2 * of_peer);
      std::int64_t in_bins = 0;
      for (const TrafficTable& bin : run->trace(device).bins().traffic)
        in_bins += bin[tensor.index()][static_cast<std::size_t>(Link::peer_read)];
      CHECK(in_bins == of_peer);
    }
  // The bytes of a tile cross the link one after another, not all at its end.
  const Trace& trace = run->trace(first);
  const std::int64_t tile_bytes = 32 * 64 * 2;
  int within_a_tile = 0;
  for (double cycle = 0; cycle < trace.end_cycle(); cycle += trace.end_cycle() / 500) {
    const TraceState state = trace.state_at_cycle(trace.focused_sms().front(), cycle);
    REQUIRE(state.traffic_exact);
    const std::int64_t crossed = state.traffic[tensors::k.index()][static_cast<std::size_t>(Link::peer_read)];
    within_a_tile += crossed % tile_bytes != 0 ? 1 : 0;
  }
  CHECK(within_a_tile > 0);
  CHECK(ledger.total(tensors::q, Link::peer_read).value == 0);
  for (const LedgerEntry& entry : ledger.entries()) CHECK(entry.device.number <= 1);
  for (const DeviceId device : {first, second}) {
    CHECK(run->trace(device).runs().size() == static_cast<std::size_t>(blocks / 2));
    for (const BlockRun& block : run->trace(device).runs()) {
      CHECK(block.device == device);
      CHECK(block.sm < 4);
    }
  }
}

TEST_CASE("devices: a run takes at least the bytes of a link over its rate, and its latency shows") {
  const GpuSpec gpu = linked_gpu();
  const auto run = run_on(gpu, halves), local = run_on(gpu, {2, {}}), far = run_on(linked_gpu(5000), halves);
  REQUIRE(run);
  REQUIRE(local);
  REQUIRE(far);
  for (const DeviceId device : {first, second}) {
    std::int64_t bytes = 0;
    for (const Tensor tensor : {tensors::k, tensors::v}) bytes += run->total->ledger.total(device, tensor, Link::peer_read).value;
    CHECK(run->total->time.value >= static_cast<double>(bytes) / link_rate * 1e9);
    // The link is busy while SMs compute, so it adds less than all of its time to that of local K and V.
    CHECK(run->total->time.value < local->total->time.value + static_cast<double>(bytes) / link_rate * 1e9);
  }
  CHECK(local->total->ledger.total(Link::peer_read).value == 0);
  CHECK(local->total->cycles.value < run->total->cycles.value);
  CHECK(far->total->cycles.value > run->total->cycles.value + 5000 - 300 - 1);
}

TEST_CASE("devices: a load over the link occupies the port of its SM as long as a load from the own L2") {
  const auto run = run_on(linked_gpu(), halves), local = run_on(linked_gpu(), {2, {}});
  REQUIRE(run);
  REQUIRE(local);
  const auto port_cycles = [](const Trace& trace) {
    double cycles = 0;
    for (const auto& bin : trace.bins().busy_cycles) cycles += bin[static_cast<std::size_t>(Unit::copy)];
    return cycles;
  };
  for (const DeviceId device : {first, second}) {
    CHECK(port_cycles(local->trace(device)) > 0);
    CHECK(port_cycles(run->trace(device)) == doctest::Approx(port_cycles(local->trace(device))));
  }
}

TEST_CASE("devices: a lone load over the link takes the way inside its home and that of the link") {
  AttentionProblem problem = small_problem();
  problem.heads = problem.kv_heads = 1;
  problem.seq_q = 32;
  problem.seq_kv = 64;
  const GpuSpec gpu = linked_gpu();
  // One block, on the second device: the first of two key tiles comes over the link.
  const auto run = run_on(gpu, halves, "flash2", problem);
  REQUIRE(run);
  CHECK(run->trace(first).runs().empty());
  const auto intervals = run->trace(second).intervals(0);
  const auto far =
      std::find_if(intervals.begin(), intervals.end(), [](const Interval& i) { return i.kind == OpKind::load && i.op == 4; });
  REQUIRE(far != intervals.end());
  CHECK(far->hbm_bytes == 32 * 64 * 2);
  CHECK(far->end - far->start >= 500 + 300);  // HBM's latency and the link's
}

TEST_CASE("devices: each wrong setup is one sentence with the values and the way out") {
  const auto sentence = [](const Result<DevicesSimulation>& run) { return run ? std::string() : run.error().sentence.text(); };
  CHECK(sentence(run_on(toy_gpu(), halves)) == "GPU 'toy' has no link to another device: set link.bytes_per_second");
  CHECK(sentence(run_on(linked_gpu(), {2, {tensors::o}})) ==
        "O cannot be split over devices: only what a program reads and never writes can be");
  CHECK(sentence(run_on(linked_gpu(), {0, {}})) == "a run on 0 devices is not possible: it needs at least one");
}
