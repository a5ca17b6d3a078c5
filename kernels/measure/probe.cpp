// Probes a kernel and decodes its records.
#include "kernels/measure/probe.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "kernels/measure/device_problem.h"
#include "kernels/measure/timing.h"
#include "sim/core/element.h"
#include "sim/core/refuse.h"
#include "sim/programs/backward_tensors.h"

namespace tilescope {

namespace {

constexpr std::uint64_t inputs_seed = 1;

struct Span {
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0;
  void take(std::uint64_t from, std::uint64_t to) { begin = std::min(begin, from), end = std::max(end, to); }
};

/// The time span of one SM over all its blocks.
struct SmSpan {
  Span cycles, ns;
};

const std::uint64_t* block_record(const ProbeRecords& records, std::int64_t block) {
  return records.blocks.data() + block * probe_block_numbers;
}

/// Returns the clock: cycles over nanoseconds from the first block's start to the last block's end, over all SMs.
double clock_of(const std::map<std::uint64_t, SmSpan>& by_sm) {
  double cycles = 0, ns = 0;
  for (const auto& [sm, spans] : by_sm) {
    cycles += static_cast<double>(spans.cycles.end - spans.cycles.begin);
    ns += static_cast<double>(spans.ns.end - spans.ns.begin);
  }
  return ns > 0 ? cycles * 1e9 / ns : 0;
}

/// Adds the intervals of one warp of one slot. An iteration that did not run has no ticks.
void add_intervals(const std::uint64_t* ticks, const ProbeShape& shape, int warp, std::uint64_t origin, ProbedSmBlock& block) {
  const auto add = [&](ProbeStage stage, std::int64_t iteration, std::uint64_t from, std::uint64_t to) {
    if (from > 0 && from >= origin && to >= from)
      block.intervals.push_back({stage, warp, iteration, static_cast<double>(from - origin), static_cast<double>(to - origin)});
  };
  const std::uint64_t* const own = ticks + shape.iterations * probe_events;
  add(ProbeStage::prologue, 0, own[0], own[1]);
  for (std::int64_t iteration = 0; iteration < shape.iterations; ++iteration) {
    const std::uint64_t* const tick = ticks + iteration * probe_events;
    for (std::size_t i = 0; i < shape.stages.size(); ++i) add(shape.stages[i], iteration, tick[i], tick[i + 1]);
  }
  add(ProbeStage::store, shape.iterations, own[2], own[3]);
}

/// Adds the blocks of one launch that ran on the observed SM.
void add_sm_blocks(const ProbeRecords& records, const ProbeShape& shape, int launch, const std::map<std::uint64_t, SmSpan>& by_sm,
                   ProbeResult& result) {
  const std::int64_t per_warp = (shape.iterations + 1) * probe_events, per_slot = per_warp * shape.warps;
  const auto size = static_cast<std::int64_t>(records.ticks.size());
  for (std::int64_t at = 0; at + per_slot <= size; at += per_slot) {
    const std::uint64_t* const slot = records.ticks.data() + at;
    const std::uint64_t block_plus_1 = slot[shape.iterations * probe_events + 4];
    if (block_plus_1 == 0) continue;
    ProbedSmBlock block;
    block.launch = launch;
    block.block = static_cast<std::int64_t>(block_plus_1) - 1;
    const std::uint64_t* const r = block_record(records, block.block);
    const std::uint64_t origin = by_sm.at(r[0] - 1).cycles.begin;
    block.start_cycles = static_cast<double>(r[3] - origin);
    block.end_cycles = static_cast<double>(r[4] - origin);
    for (int warp = 0; warp < shape.warps; ++warp) add_intervals(slot + warp * per_warp, shape, warp, origin, block);
    result.sm_blocks.push_back(std::move(block));
  }
}

/// Adds the stages of one role of one slot. What the role does with K and S, and with V and O, belongs to key tiles of their own:
/// the second product of a tile may run under the softmax of the next.
void add_role(std::span<const std::uint64_t> stamps, int role, std::uint64_t origin, std::uint64_t start, ProbedSmBlock& block) {
  std::array<std::int64_t, probe_stages> seen{};
  const auto of = [&](ProbeStage stage) -> std::int64_t& { return seen[static_cast<std::size_t>(stage)]; };
  const auto iteration_of = [&](ProbeStage stage) -> std::int64_t {
    using enum ProbeStage;
    if (stage == wait_k || stage == wait_turn || stage == scores || stage == wait_scores || stage == softmax) return of(softmax);
    if (stage == wait_v || stage == product || stage == wait_product) return of(wait_product);
    if (stage == rescale) return of(softmax) - 1;
    if (stage == wait_groups) return of(wait_product) - 1;
    if (stage == wait_empty) return of(copy_v);  // K of a tile comes before its V
    return of(stage);
  };
  // Stamps have the low bits of the cycle counter. Each is later than the one before, the first than the block's start.
  constexpr std::uint64_t cycle_mask = (std::uint64_t{1} << (32 - stage_bits)) - 1, stage_mask = (1 << stage_bits) - 1;
  std::uint64_t last = start;
  for (const std::uint64_t stamp : stamps) {
    if (stamp == 0) break;
    const auto stage = static_cast<ProbeStage>(std::min<std::uint64_t>(stamp & stage_mask, probe_stages - 1));
    const std::uint64_t at = last + (((stamp >> stage_bits) - last) & cycle_mask);
    block.intervals.push_back({stage, role, std::max<std::int64_t>(0, iteration_of(stage)), static_cast<double>(last - origin),
                               static_cast<double>(at - origin)});
    ++of(stage);
    last = at;
  }
}

/// Adds the blocks of one launch of a kernel with roles. Each role took its slot for itself, so its block is in its own words.
void add_sm_blocks_of_roles(const ProbeRecords& records, const ProbeShape& shape, int launch,
                            const std::map<std::uint64_t, SmSpan>& by_sm, ProbeResult& result) {
  const auto roles = std::ssize(shape.roles);
  std::map<std::int64_t, ProbedSmBlock> blocks;
  for (std::ptrdiff_t list = 0; (list + 1) * role_words <= std::ssize(records.ticks); ++list) {
    const auto words = std::span(records.ticks).subspan(static_cast<std::size_t>(list * role_words), role_words);
    if (words[0] == 0) continue;
    const auto number = static_cast<std::int64_t>(words[0]) - 1;
    const std::uint64_t* const r = block_record(records, number);
    const std::uint64_t origin = by_sm.at(r[0] - 1).cycles.begin;
    ProbedSmBlock& block = blocks[number];
    block.launch = launch;
    block.block = number;
    block.start_cycles = static_cast<double>(r[3] - origin);
    block.end_cycles = static_cast<double>(r[4] - origin);
    add_role(words.subspan(2), static_cast<int>(list % roles), origin, r[3], block);
  }
  for (auto& [number, block] : blocks) {
    std::stable_sort(block.intervals.begin(), block.intervals.end(),
                     [](const ProbeInterval& a, const ProbeInterval& b) { return a.warp < b.warp; });
    result.sm_blocks.push_back(std::move(block));
  }
}

void add_steps(const ProbeRecords& records, const ProbeShape& shape, ProbeResult& result) {
  for (std::int64_t step = 0; step < shape.steps; ++step) {
    const float* const row = records.row.data() + step * probe_row_numbers;
    double l = 0;
    for (int lane = 2; lane < probe_row_numbers; ++lane) l += static_cast<double>(row[lane]);
    if (l == 0 && result.steps.empty()) continue;  // from the right edge, the row's first tiles may show it no key
    if (l == 0) break;                             // the row sees no more tiles
    result.steps.push_back({static_cast<double>(row[0]), l, static_cast<double>(row[1])});
  }
}

/// Adds the keys that the row sees. The kernel holds dP - D, and Q K^T without the scale.
void add_pairs(const ProbeRecords& records, const ProbeShape& shape, ProbeResult& result) {
  if (shape.keys == 0) return;
  const std::int64_t seen = result.problem.visible_keys(result.query);
  for (std::int64_t key = 0; key < seen; ++key) {
    const auto number = [&](PairNumber what) {
      return static_cast<double>(records.row[static_cast<std::size_t>(key * probe_pair_numbers) + static_cast<std::size_t>(what)]);
    };
    result.pairs.push_back({number(PairNumber::score) * result.problem.scale(), number(PairNumber::probability),
                            number(PairNumber::d_p_minus_d) - number(PairNumber::minus_d), number(PairNumber::d_s)});
  }
}

}  // namespace

void decode_probe(std::span<const ProbeRecords> records, std::span<const ProbeShape> shapes, ProbeResult& result) {
  std::map<std::uint64_t, SmSpan> by_sm;
  Span all;
  const auto for_each_block = [&](auto visit) {
    for (std::size_t launch = 0; launch < records.size(); ++launch)
      for (std::int64_t block = 0; block < shapes[launch].blocks; ++block)
        if (const std::uint64_t* const r = block_record(records[launch], block); r[0] != 0)
          visit(static_cast<int>(launch), block, r);
  };
  for_each_block([&](int, std::int64_t, const std::uint64_t* r) {
    by_sm[r[0] - 1].cycles.take(r[3], r[4]);
    by_sm[r[0] - 1].ns.take(r[1], r[2]);
    all.take(r[1], r[2]);
  });
  result.blocks.clear();
  for_each_block([&](int launch, std::int64_t block, const std::uint64_t* r) {
    result.blocks.push_back(
        {launch, block, static_cast<int>(r[0] - 1), static_cast<double>(r[1] - all.begin), static_cast<double>(r[2] - all.begin)});
  });
  result.sm_clock_hz = clock_of(by_sm);
  result.sm_blocks.clear();
  result.steps.clear();
  result.pairs.clear();
  result.roles.clear();
  for (std::size_t launch = 0; launch < records.size(); ++launch) {
    const bool has_roles = !shapes[launch].roles.empty();
    result.roles.insert(result.roles.end(), shapes[launch].roles.begin(), shapes[launch].roles.end());
    (has_roles ? add_sm_blocks_of_roles : add_sm_blocks)(records[launch], shapes[launch], static_cast<int>(launch), by_sm, result);
    add_steps(records[launch], shapes[launch], result);
    add_pairs(records[launch], shapes[launch], result);
  }
  std::sort(result.sm_blocks.begin(), result.sm_blocks.end(),
            [](const ProbedSmBlock& a, const ProbedSmBlock& b) { return a.start_cycles < b.start_cycles; });
}

namespace {

/// Writes the caller's numbers to the planes that the followed row depends on.
Status write_inputs(const AttentionProblem& p, std::int64_t plane, const ProbeInputs& inputs, DeviceProblem& tensors) {
  struct Part {
    Tensor tensor;
    std::int64_t plane, rows;
  };
  std::vector<Part> parts = {
      {tensors::q, plane, p.seq_q}, {tensors::k, p.kv_plane_of(plane), p.seq_kv}, {tensors::v, p.kv_plane_of(plane), p.seq_kv}};
  if (p.pass == Pass::backward) parts.push_back({tensors::d_o, plane, p.seq_q});
  std::vector<float> values(static_cast<std::size_t>(p.head_dim));
  for (const Part& part : parts) {
    std::vector<std::uint16_t> bits;
    bits.reserve(static_cast<std::size_t>(part.rows * p.head_dim));
    for (std::int64_t row = 0; row < part.rows; ++row) {
      inputs(part.tensor, part.plane, row, values);
      for (const float value : values) bits.push_back(to_bits(p.dtype, value));
    }
    if (Status written = tensors.write_plane(part.tensor, part.plane, bits); !written) return written;
  }
  return Done{};
}

/// Makes the results of the forward pass again, and writes the caller's to the followed row: the caller's O is rounded from another
/// sum than the kernel's.
Status write_forward_results(const KernelInfo& kernel, const ProbeResult& result, const ProbeInputs& inputs,
                             DeviceProblem& tensors) {
  if (kernel.forward.empty()) return Done{};
  if (Status ran = tensors.run_forward(result.problem); !ran) return ran;
  const std::span<const Tensor> left = (*find_kernel(kernel.forward))->outputs;
  for (const Tensor tensor : kernel.inputs) {
    if (std::ranges::find(left, tensor) == left.end()) continue;
    std::vector<float> values(tensor->cols == Axis::head ? static_cast<std::size_t>(result.problem.head_dim) : 1);
    inputs(tensor, result.plane, result.query, values);
    if (Status written = tensors.write_row(tensor, result.plane * result.problem.seq_q + result.query, values); !written)
      return written;
  }
  return Done{};
}

/// Returns the median time of one launch, each timed after an untimed run of itself and of `prepare`.
Result<double> median_ns(const PlannedLaunch& planned, int repeats, const std::function<Status()>& prepare) {
  Result<Stopwatch> watch = Stopwatch::make();
  if (!watch) return watch.error();
  std::vector<double> ns;
  for (int i = 0; i < std::max(repeats, 1); ++i) {
    if (Status prepared = prepare(); !prepared) return prepared.error();
    if (Status warm = launch(planned, nullptr); !warm) return warm.error();
    if (Status prepared = prepare(); !prepared) return prepared.error();
    if (Status started = watch->start(nullptr); !started) return started.error();
    if (Status ran = launch(planned, nullptr); !ran) return ran.error();
    if (Status ended = watch->end(nullptr); !ended) return ended.error();
    const Result<double> ms = watch->elapsed();
    if (!ms) return ms.error();
    ns.push_back(*ms * 1e6);
  }
  std::nth_element(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(ns.size() / 2), ns.end());
  return ns[ns.size() / 2];
}

/// Times each launch without and with the probe. The slots are freed each time, so that every timed run records; the plain kernel
/// gets the same treatment.
Status time_launches(const LaunchPlan& plain, ProbeRun& run, int repeats, ProbeResult& result) {
  const auto prepare = [&] { return run.free_slots(); };
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const Result<double> plain_ns = median_ns(plain[i], repeats, prepare);
    if (!plain_ns) return plain_ns.error();
    const Result<double> probed_ns = median_ns(run.plan()[i], repeats, prepare);
    if (!probed_ns) return probed_ns.error();
    result.launches.push_back({std::string(plain[i].name), *plain_ns, *probed_ns});
    result.plain_ns += *plain_ns;
    result.probed_ns += *probed_ns;
  }
  return Done{};
}

Status run_once(const LaunchPlan& plan) {
  for (const PlannedLaunch& planned : plan)
    if (Status ran = launch(planned, nullptr); !ran) return ran;
  return wait_for(nullptr);
}

Status run_and_decode(ProbeRun& run, std::span<const ProbeShape> shapes, ProbeResult& result) {
  if (Status cleared = run.clear(); !cleared) return cleared;
  if (Status ran = run_once(run.plan()); !ran) return ran;
  const Result<std::vector<ProbeRecords>> records = run.read();
  if (!records) return records.error();
  decode_probe(*records, shapes, result);
  return Done{};
}

/// Returns the ids of the kernels of a pass that have a probe, separated by commas.
std::string probed_kernels(Pass pass) {
  std::string ids;
  for (const KernelInfo& kernel : kernel_table())
    if (kernel.has_probe() && kernel.pass == pass) ids += (ids.empty() ? "" : ", ") + std::string(kernel.id);
  return ids;
}

/// Errors  a block or a row that the launch does not have
Status has_place(const ProbeShape& shape, const ProbedPlace& place) {
  if (place.block < 0 || place.block >= shape.blocks)
    return refuse("block {} is not there: the launch {} has blocks 0 to {}", place.block, shape.launch, shape.blocks - 1);
  const std::int64_t rows = shape.rows(place.block);
  if (rows == 0) return refuse("block {} has no rows: the last tile is ragged; use one before it", place.block);
  if (place.row < 0 || place.row >= rows)
    return refuse("row {} is not in block {}: it has rows 0 to {}", place.row, place.block, rows - 1);
  return Done{};
}

}  // namespace

Result<ProbeResult> run_probe(const KernelInfo& kernel, const AttentionProblem& problem, const ProbeRequest& request,
                              const ProbeInputs& inputs) {
  if (Status fits = supports(kernel, problem); !fits) return fits.error();
  const std::vector<ProbeShape> shapes = probe_shapes(kernel, problem);
  if (shapes.empty())
    return refuse("kernel {} has no probe: use {} with one of {}", kernel.id, Setting::algorithm, probed_kernels(kernel.pass));
  if (problem.mask || problem.score_change)
    return refuse("a probe follows plain scores, under a causal mask or none: leave out {} and {}", Setting::mask, Setting::score);
  ProbeResult result;
  result.row_launch = row_launch_of(shapes);
  const ProbeShape& shape = shapes[static_cast<std::size_t>(result.row_launch)];
  ProbedPlace place{request.block.value_or(shape.place_of(0, problem.seq_q - 1).first), 0, request.sm.value_or(0)};
  const std::int64_t tile_rows = kernel.tile(problem).block_q;
  const std::int64_t last_row = std::max<std::int64_t>(shape.rows(place.block) - 1, 0);
  place.row = request.row.value_or(last_row - last_row % problem.seq_q % tile_rows);
  if (Status there = has_place(shape, place); !there) return there.error();
  const Result<DeviceInfo> device = find_device();
  if (!device) return device.error();
  if (place.sm < 0 || place.sm >= device->sm_count)
    return refuse("SM {} is not there: this GPU has SMs 0 to {}", place.sm, device->sm_count - 1);
  result.kernel = std::string(kernel.id);
  result.device = device->name;
  result.problem = problem;
  result.tile = kernel.tile(problem);
  result.sm = place.sm;
  result.block = place.block;
  result.row = place.row;
  std::tie(result.plane, result.query) = shape.row_of(place.block, place.row);

  Result<DeviceProblem> tensors = DeviceProblem::make_seeded(kernel, problem, inputs_seed);
  if (!tensors) return tensors.error();
  if (inputs) {
    if (Status written = write_inputs(problem, result.plane, inputs, *tensors); !written) return written.error();
    if (Status written = write_forward_results(kernel, result, inputs, *tensors); !written) return written.error();
  }
  Result<ProbeRun> run = ProbeRun::make(kernel, problem, tensors->tensors(), shapes, place);
  if (!run) return run.error();
  if (kernel.prepare != nullptr)
    if (Status ready = kernel.prepare(problem); !ready) return ready.error();
  const LaunchPlan plain = kernel.plan(problem, tensors->tensors());
  if (Status ran = run_once(plain); !ran) return ran.error();  // fills S and P, which later launches read
  if (Status timed = time_launches(plain, *run, request.repeats, result); !timed) return timed.error();
  if (Status ran = run_and_decode(*run, shapes, result); !ran) return ran.error();
  if (!result.sm_blocks.empty() || request.sm) return result;

  for (const ProbedBlock& block : result.blocks)
    if (block.launch == result.row_launch && block.block == place.block) place.sm = result.sm = block.sm;
  run = ProbeRun::make(kernel, problem, tensors->tensors(), shapes, place);
  if (!run) return run.error();
  if (Status ran = run_and_decode(*run, shapes, result); !ran) return ran.error();
  return result;
}

}  // namespace tilescope
