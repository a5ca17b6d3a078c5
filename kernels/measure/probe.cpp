// Probes flash2, and makes sense of what it recorded.
#include "kernels/measure/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "kernels/attention/flash2_probe_layout.h"
#include "kernels/measure/device_problem.h"
#include "kernels/measure/element.h"
#include "kernels/measure/timing.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

constexpr std::uint64_t seed = 1;

struct Span {
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0;
  void take(std::uint64_t from, std::uint64_t to) { begin = std::min(begin, from), end = std::max(end, to); }
};

/// Cycles over nanoseconds from the first block's start to the last one's end, over all SMs.
double clock_of(const std::map<std::uint64_t, std::pair<Span, Span>>& by_sm) {
  double cycles = 0, ns = 0;
  for (const auto& [sm, spans] : by_sm) {
    cycles += static_cast<double>(spans.first.end - spans.first.begin);
    ns += static_cast<double>(spans.second.end - spans.second.begin);
  }
  return ns > 0 ? cycles * 1e9 / ns : 0;
}

/// The intervals of one warp of one slot; an iteration that was not run has no ticks.
void add_intervals(const std::uint64_t* ticks, std::int64_t tiles, int warp, std::uint64_t origin, ProbedSmBlock& block) {
  constexpr ProbeStage stages[] = {ProbeStage::wait,    ProbeStage::scores, ProbeStage::copy_k,
                                   ProbeStage::softmax, ProbeStage::copy_v, ProbeStage::product};
  const auto add = [&](ProbeStage stage, std::int64_t iteration, std::uint64_t from, std::uint64_t to) {
    if (from >= origin && to >= from)
      block.intervals.push_back({stage, warp, iteration, static_cast<double>(from - origin), static_cast<double>(to - origin)});
  };
  const std::uint64_t* const own = ticks + tiles * probe_events;
  add(ProbeStage::prologue, 0, own[0], own[1]);
  for (std::int64_t tile = 0; tile < tiles; ++tile)
    for (int i = 0; i < 6; ++i) add(stages[i], tile, ticks[tile * probe_events + i], ticks[tile * probe_events + i + 1]);
  add(ProbeStage::store, tiles, own[2], own[3]);
}

}  // namespace

void decode_probe(const ProbeRecords& records, ProbeResult& result) {
  const std::int64_t tiles = ceil_div(result.problem.seq_kv, result.tile.block_kv);
  std::map<std::uint64_t, std::pair<Span, Span>> by_sm;  // cycles, ns
  Span all;
  const auto count = static_cast<std::int64_t>(records.blocks.size()) / probe_block_numbers;
  const auto record = [&](std::int64_t block) { return records.blocks.data() + block * probe_block_numbers; };
  for (std::int64_t block = 0; block < count; ++block) {
    const std::uint64_t* const r = record(block);
    if (r[0] == 0) continue;
    by_sm[r[0] - 1].first.take(r[3], r[4]);
    by_sm[r[0] - 1].second.take(r[1], r[2]);
    all.take(r[1], r[2]);
  }
  for (std::int64_t block = 0; block < count; ++block) {
    const std::uint64_t* const r = record(block);
    if (r[0] != 0)
      result.blocks.push_back(
          {block, static_cast<int>(r[0] - 1), static_cast<double>(r[1] - all.begin), static_cast<double>(r[2] - all.begin)});
  }
  result.sm_clock_hz = clock_of(by_sm);

  const std::int64_t per_warp = (tiles + 1) * probe_events, per_slot = per_warp * probe_warps;
  for (const std::uint64_t* slot = records.ticks.data(); slot < records.ticks.data() + records.ticks.size(); slot += per_slot) {
    const std::uint64_t block_plus_1 = slot[tiles * probe_events + 4];
    if (block_plus_1 == 0) continue;
    ProbedSmBlock block;
    block.block = static_cast<std::int64_t>(block_plus_1) - 1;
    const std::uint64_t* const r = record(block.block);
    const std::uint64_t origin = by_sm[r[0] - 1].first.begin;
    block.start_cycles = static_cast<double>(r[3] - origin);
    block.end_cycles = static_cast<double>(r[4] - origin);
    for (int warp = 0; warp < probe_warps; ++warp) add_intervals(slot + warp * per_warp, tiles, warp, origin, block);
    result.sm_blocks.push_back(std::move(block));
  }
  std::sort(result.sm_blocks.begin(), result.sm_blocks.end(),
            [](const ProbedSmBlock& a, const ProbedSmBlock& b) { return a.start_cycles < b.start_cycles; });

  for (std::int64_t tile = 0; tile < tiles; ++tile) {
    const float* const row = records.row.data() + tile * probe_row_numbers;
    const double l =
        static_cast<double>(row[2]) + static_cast<double>(row[3]) + static_cast<double>(row[4]) + static_cast<double>(row[5]);
    if (l == 0) break;  // the row's warp has no further tile
    result.steps.push_back({static_cast<double>(row[0]), l, static_cast<double>(row[1])});
  }
}

namespace {

/// The problem's tensors on the device, with the caller's numbers where there are some.
Result<DeviceProblem> make_tensors(const KernelInfo& kernel, const AttentionProblem& p, const ProbeInputs& inputs) {
  if (!inputs) return DeviceProblem::make_seeded(kernel, p, seed);
  HostInputs host;
  const struct {
    Tensor tensor;
    std::int64_t planes, rows;
    std::vector<std::uint16_t>* bits;
  } tensors[] = {{Tensor::q, p.query_planes(), p.seq_q, &host.q},
                 {Tensor::k, p.batch * p.kv_heads, p.seq_kv, &host.k},
                 {Tensor::v, p.batch * p.kv_heads, p.seq_kv, &host.v}};
  for (const auto& t : tensors)
    for (std::int64_t plane = 0; plane < t.planes; ++plane)
      for (std::int64_t row = 0; row < t.rows; ++row)
        for (std::int64_t column = 0; column < p.head_dim; ++column)
          t.bits->push_back(to_bits(p.dtype, inputs(t.tensor, plane, row, column)));
  return DeviceProblem::make(kernel, p, host);
}

/// Zeroed device memory.
Result<DeviceMemory> zeroed(std::int64_t bytes) {
  Result<DeviceMemory> memory = DeviceMemory::allocate(bytes);
  if (!memory) return memory;
  if (Status cleared = memory->fill(0); !cleared) return cleared.error();
  return memory;
}

struct Buffers {
  DeviceMemory blocks, ticks, row, slots;

  Status clear() {
    for (DeviceMemory* memory : {&blocks, &ticks, &row, &slots})
      if (Status cleared = memory->fill(0); !cleared) return cleared;
    return Done{};
  }
};

/// Median time of `run`, each after a run before it; `prepare` is not timed.
Result<double> median_ns(const std::function<Status()>& prepare, const std::function<Status()>& run) {
  constexpr int repeats = 10;
  Result<Stopwatch> watch = Stopwatch::make();
  if (!watch) return watch.error();
  std::vector<double> ns;
  for (int i = 0; i < repeats; ++i) {
    if (Status prepared = prepare(); !prepared) return prepared.error();
    if (Status warm = run(); !warm) return warm.error();
    if (Status prepared = prepare(); !prepared) return prepared.error();
    if (Status started = watch->start(nullptr); !started) return started.error();
    if (Status ran = run(); !ran) return ran.error();
    if (Status ended = watch->end(nullptr); !ended) return ended.error();
    const Result<double> ms = watch->elapsed();
    if (!ms) return ms.error();
    ns.push_back(*ms * 1e6);
  }
  std::nth_element(ns.begin(), ns.begin() + repeats / 2, ns.end());
  return ns[repeats / 2];
}

Status can_probe(const KernelInfo& kernel, const AttentionProblem& p, const ProbeRequest& request, const DeviceInfo& device) {
  if (p.dtype != DataType::fp16) return Error{"the probe is compiled for fp16: use --dtype fp16"};
  const TileShape tile = kernel.tile(p);
  const std::int64_t blocks = ceil_div(p.seq_q, tile.block_q) * p.query_planes();
  if (request.block < 0 || request.block >= blocks)
    return Error{fmt::format("block {} is not there: the kernel has blocks 0 to {}", request.block, blocks - 1)};
  const std::int64_t rows = std::min(tile.block_q, p.seq_q - request.block % ceil_div(p.seq_q, tile.block_q) * tile.block_q);
  if (request.row < 0 || request.row >= rows)
    return Error{fmt::format("row {} is not in block {}: it has rows 0 to {}", request.row, request.block, rows - 1)};
  if (request.sm < 0 || request.sm >= device.sm_count)
    return Error{fmt::format("SM {} is not there: this GPU has SMs 0 to {}", request.sm, device.sm_count - 1)};
  return Done{};
}

Result<std::vector<std::uint64_t>> read_words(const DeviceMemory& memory) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(memory.bytes()) / sizeof(std::uint64_t));
  if (Status read = memory.read(words.data(), memory.bytes()); !read) return read.error();
  return words;
}

}  // namespace

Result<ProbeResult> run_probe(const AttentionProblem& problem, const ProbeRequest& request, const ProbeInputs& inputs) {
  const KernelInfo& kernel = **find_kernel("flash2");
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  const Result<DeviceInfo> device = find_device();
  if (!device) return device.error();
  if (Status fits = can_probe(kernel, problem, request, *device); !fits) return fits.error();
  ProbeResult result;
  result.kernel = std::string(kernel.id);
  result.device = device->name;
  result.problem = problem;
  result.tile = kernel.tile(problem);
  result.sm = request.sm;
  result.block = request.block;
  result.row = request.row;

  Result<DeviceProblem> tensors = make_tensors(kernel, problem, inputs);
  if (!tensors) return tensors.error();
  const std::int64_t tiles = ceil_div(problem.seq_kv, result.tile.block_kv);
  const std::int64_t blocks = ceil_div(problem.seq_q, result.tile.block_q) * problem.query_planes();
  constexpr std::int64_t word = sizeof(std::uint64_t);
  Buffers buffers;
  const std::pair<DeviceMemory*, std::int64_t> sizes[] = {
      {&buffers.blocks, blocks * probe_block_numbers * word},
      {&buffers.ticks, std::int64_t{probe_slots} * probe_warps * (tiles + 1) * probe_events * word},
      {&buffers.row, tiles * probe_row_numbers * static_cast<std::int64_t>(sizeof(float))},
      {&buffers.slots, word}};
  for (const auto& [memory, bytes] : sizes) {
    Result<DeviceMemory> made = zeroed(bytes);
    if (!made) return made.error();
    *memory = std::move(*made);
  }
  const ProbeBuffers addresses{buffers.blocks.address(),
                               buffers.ticks.address(),
                               buffers.row.address(),
                               buffers.slots.address(),
                               request.sm,
                               static_cast<int>(tiles),
                               static_cast<int>(request.block),
                               static_cast<int>(request.row)};
  const PlannedLaunch probed = plan_flash2_probed(problem, tensors->tensors(), addresses);
  // Slots are given out anew each time, so that every timed run records; the plain kernel gets the same treatment.
  const auto prepare = [&] { return buffers.slots.fill(0); };
  const Result<double> plain_ns = median_ns(prepare, [&] { return launch(kernel, problem, tensors->tensors(), nullptr); });
  if (!plain_ns) return plain_ns.error();
  const Result<double> probed_ns = median_ns(prepare, [&] { return launch(probed, nullptr); });
  if (!probed_ns) return probed_ns.error();
  result.plain_ns = *plain_ns;
  result.probed_ns = *probed_ns;

  if (Status cleared = buffers.clear(); !cleared) return cleared.error();
  if (Status ran = launch(probed, nullptr); !ran) return ran.error();
  if (Status done = wait_for(nullptr); !done) return done.error();
  ProbeRecords records;
  for (const auto& [memory, words] : {std::pair{&buffers.blocks, &records.blocks}, {&buffers.ticks, &records.ticks}}) {
    Result<std::vector<std::uint64_t>> read = read_words(*memory);
    if (!read) return read.error();
    *words = std::move(*read);
  }
  records.row.resize(static_cast<std::size_t>(buffers.row.bytes()) / sizeof(float));
  if (Status read = buffers.row.read(records.row.data(), buffers.row.bytes()); !read) return read.error();
  decode_probe(records, result);
  return result;
}

}  // namespace tilescope
