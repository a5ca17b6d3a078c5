// Runs the steps of a calibration and turns each micro-benchmark into spec values with notes.
#include "kernels/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernels/calibrate/arithmetic.h"
#include "kernels/calibrate/asynchronous.h"
#include "kernels/calibrate/code.h"
#include "kernels/calibrate/latency.h"
#include "kernels/calibrate/launching.h"
#include "kernels/calibrate/memory.h"
#include "kernels/calibrate/products.h"
#include "kernels/calibrate/reducing.h"
#include "kernels/calibrate/rounding.h"
#include "kernels/calibrate/sharing.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

using namespace microbench;
using Values = std::vector<CalibratedValue>;

struct Setup {
  const DeviceInfo& device;
  const GpuSpec& base;
  const CalibrationEffort& effort;
};

Status add_device(const Setup& setup, Values& values) {
  const DeviceInfo& device = setup.device;
  values.push_back({"sm.count", static_cast<double>(device.sm_count), "read from the device"});
  values.push_back({"sm.registers", static_cast<double>(device.registers_per_sm), "read from the device"});
  values.push_back({"sm.max_threads", static_cast<double>(device.threads_per_sm), "read from the device"});
  values.push_back({"sm.max_blocks", static_cast<double>(device.blocks_per_sm), "read from the device"});
  values.push_back({"sm.shared_bytes", static_cast<double>(device.shared_bytes_per_sm), "read from the device"});
  values.push_back({"sm.shared_bytes_per_block", static_cast<double>(device.shared_bytes_per_block), "read from the device"});
  return Done{};
}

Status add_arithmetic(const Setup&, Values& values) {
  const Result<ArithmeticRates> rates = arithmetic_rates();
  if (!rates) return rates.error();
  values.push_back(
      {"sm.mma_flops_per_cycle", four_digits(rates->mma_flops),
       fmt::format("mma.sync 16x8x16, two warps a quarter, operands in registers; bf16 {:.4g}", rates->mma_flops_bf16)});
  values.push_back(
      {"sm.product_issue_cycles", four_digits(rates->product_issue_cycles),
       "products of one warp of a quarter beside softmax arithmetic of another: what each instruction of the latter adds"});
  values.push_back({"sm.product_mixed_cycles", four_digits(rates->product_mixed_cycles),
                    "products with softmax arithmetic and ldmatrix between them, two warps a quarter, over products alone"});
  values.push_back({"sm.dependent_cycles", four_digits(rates->dependent_cycles), "FFMA after FFMA, each needing the one before"});
  values.push_back(
      {"sm.product_latency_cycles", four_digits(rates->mma_latency), "mma.sync after mma.sync, each adding to the same sums"});
  values.push_back({"sm.fp32_flops_per_cycle", four_digits(rates->fp32_flops), "FFMA, two warps a quarter"});
  values.push_back(
      {"sm.alu_lanes_per_cycle", four_digits(std::min(rates->alu_lanes, rates->pack_lanes)),
       fmt::format("maxima {:.4g}, packing to 16 bits {:.4g}, two warps a quarter", rates->alu_lanes, rates->pack_lanes)});
  values.push_back({"sm.exps_per_cycle", four_digits(rates->exps), "ex2, two warps a quarter"});
  values.push_back(
      {"sm.shared_bytes_per_cycle", four_digits(rates->shared_bytes),
       fmt::format("ldmatrix of four matrices; plain loads that all want one bank reach {:.3g}", rates->shared_bytes_conflicting)});
  return Done{};
}

/// Formats rates as "m16n8k16 fp16 2679, bf16 2678; m16n8k8 fp16 1790", for a left factor in registers or in shared memory.
std::string by_shape(const std::vector<ProductRate>& rates, bool left_in_registers) {
  std::string text, shape;
  for (const ProductRate& rate : rates) {
    if (rate.left_in_registers != left_in_registers) continue;
    text += rate.shape == shape ? ", " : fmt::format("{}{} ", text.empty() ? "" : "; ", rate.shape);
    text += fmt::format("{} {:.4g}", rate.type, rate.flops_per_cycle);
    shape = rate.shape;
  }
  return text;
}

Status add_products(const Setup& setup, Values& values) {
  const Result<std::vector<ProductRate>> mma = mma_rates();
  Result<std::vector<ProductRate>> wgmma = wgmma_rates(setup.device);
  if (!mma) return mma.error();
  if (!wgmma) return wgmma.error();
  for (CalibratedValue& value : values)
    if (value.key == "sm.mma_flops_per_cycle") value.note += "; by shape and type " + by_shape(*mma, true);
  if (wgmma->empty()) {
    values.push_back({"sm.wgmma_flops_per_cycle", 0,
                      fmt::format("skipped: wgmma is of compute capability 9.0, and this device has {}.{}",
                                  setup.device.compute_major, setup.device.compute_minor)});
    return Done{};
  }
  std::stable_sort(wgmma->begin(), wgmma->end(), [](const ProductRate& a, const ProductRate& b) {
    return std::pair(a.shape.size(), a.shape) < std::pair(b.shape.size(), b.shape);
  });
  const auto best = std::max_element(wgmma->begin(), wgmma->end(), [](const ProductRate& a, const ProductRate& b) {
    return a.flops_per_cycle < b.flops_per_cycle;
  });
  values.push_back(
      {"sm.wgmma_flops_per_cycle", four_digits(best->flops_per_cycle),
       fmt::format("the quickest of these, two warpgroups on an SM. Both factors in shared memory: {}. The left one in "
                   "registers: {}",
                   by_shape(*wgmma, false), by_shape(*wgmma, true))});
  return Done{};
}

Status add_latencies(const Setup& setup, Values& values) {
  const DeviceInfo& device = setup.device;
  const Result<double> shared = shared_latency(), l1 = l1_latency(), l2 = l2_latency(), hbm = hbm_latency(device);
  for (const Result<double>* one : {&shared, &l1, &l2, &hbm})
    if (!*one) return one->error();
  Result<LineLatencies> lines = line_latencies(device);
  if (!lines) return lines.error();
  const Result<TileLatency> tile = tile_latency(device);
  if (!tile) return tile.error();
  // Half of the lines are near to an SM and half are far, so the sorted halves are the two groups.
  double near = 0, far = 0;
  std::vector<double> near_of_sm;
  const auto count = static_cast<std::ptrdiff_t>(lines->lines), half = count / 2;
  for (std::size_t sm = 0; sm < lines->sms.size(); ++sm) {
    const auto first = lines->cycles.begin() + static_cast<std::ptrdiff_t>(sm) * count;
    std::sort(first, first + count);
    near += std::accumulate(first, first + half, 0.0);
    far += std::accumulate(first + half, first + count, 0.0);
    near_of_sm.push_back(std::accumulate(first, first + half, 0.0) / static_cast<double>(half));
  }
  const double apart = (far - near) / (static_cast<double>(lines->sms.size()) * static_cast<double>(half));
  const auto [nearest, farthest] = std::minmax_element(near_of_sm.begin(), near_of_sm.end());
  values.push_back(
      {"sm.shared_latency_cycles", four_digits(*shared), fmt::format("a chain of addresses; the L1 takes {:.3g}", *l1)});
  values.push_back(
      {"l2.latency_cycles", four_digits(*l2 - apart / 2),
       fmt::format("a chain through 2 MiB takes {:.4g} a hop; the lines nearer to an SM are {:.3g} faster than the others; "
                   "from SM to SM the nearer ones differ by {:.3g}",
                   *l2, apart, *farthest - *nearest)});
  values.push_back({"l2.far_latency_cycles", four_digits(*l2 + apart / 2), "the same, for the lines farther from an SM"});
  values.push_back({"hbm.latency_cycles", four_digits(*hbm), "a chain of addresses through four times the L2, each line new"});
  values.push_back(
      {"hbm.tile_latency_cycles", four_digits(tile->from_hbm),
       fmt::format("a block of four warps asks for 16 KiB at once: until all of it is in shared memory; {:.4g} from the L2",
                   tile->from_l2)});
  return Done{};
}

/// Comes after the latencies: the latency of a box is what it takes beyond that of the L2.
Status add_asynchronous(const Setup& setup, Values& values) {
  const Result<std::optional<AsynchronousUnits>> units = asynchronous_units(setup.device);
  if (!units) return units.error();
  if (!*units) return Done{};
  const auto l2 = std::ranges::find(values, "l2.latency_cycles", &CalibratedValue::key);
  for (CalibratedValue& value : asynchronous_values(**units, l2->value)) values.push_back(std::move(value));
  return Done{};
}

Status add_l2(const Setup& setup, Values& values) {
  const DeviceInfo& device = setup.device;
  constexpr std::int64_t kib = 1024;
  const int sms = device.sm_count;
  const Result<double> one = shared_read_rate(ReadPattern::own, 1, 128 * kib, 16);
  const Result<double> all = shared_read_rate(ReadPattern::own, sms, 128 * kib, 16);
  const Result<double> one_write = shared_write_rate(1, 64 * kib, 64), all_write = shared_write_rate(sms, 64 * kib, 64);
  for (const Result<double>* each : {&one, &all, &one_write, &all_write})
    if (!*each) return each->error();
  // Finds the largest size that still streams at 90 % of the best rate: own data of each SM, and data that all SMs read in turn.
  double shared_mib = 0, own_mib = 0;
  for (const ReadPattern pattern : {ReadPattern::own, ReadPattern::rotating}) {
    double best = 0;
    for (int percent = 30; percent <= 105; percent += 5) {
      const auto bytes = static_cast<std::int64_t>(percent / 100.0 * static_cast<double>(device.l2_bytes) / sms);
      const Result<double> rate = shared_read_rate(pattern, sms, bytes, 8);
      if (!rate) return rate.error();
      best = std::max(best, *rate);
      if (*rate < 0.9 * best) break;
      (pattern == ReadPattern::own ? own_mib : shared_mib) = static_cast<double>(bytes) * sms / (1024.0 * 1024.0);
    }
  }
  values.push_back({"sm.l2_bytes_per_cycle", four_digits(*one), "one SM reads 128 KiB over and over"});
  values.push_back({"sm.store_bytes_per_cycle", four_digits(*one_write), "one SM writes 64 KiB over and over"});
  values.push_back({"l2.bytes_per_cycle", four_digits(*all * sms), fmt::format("each of {} SMs reads its own 128 KiB", sms)});
  values.push_back(
      {"l2.write_bytes_per_cycle", four_digits(*all_write * sms), fmt::format("each of {} SMs writes its own 64 KiB", sms)});
  values.push_back(
      {"l2.capacity_bytes", static_cast<double>(device.l2_bytes),
       fmt::format("read from the device; data of one SM each come at full speed up to {:.0f} MiB, data that SMs of both "
                   "sides read in turn up to {:.0f} MiB",
                   own_mib, shared_mib)});
  return Done{};
}

Status add_additions(const Setup& setup, Values& values) {
  constexpr std::int64_t kib = 1024;
  const int sms = setup.device.sm_count;
  const auto rate = [](AddTarget target, int blocks, std::int64_t bytes, int rounds) {
    return add_rate(AddForm::scalar, target, blocks, bytes, rounds);
  };
  const std::int64_t missing_bytes = 4 * setup.device.l2_bytes / sms / (64 * kib) * (64 * kib);
  const Result<double> one = rate(AddTarget::own, 1, 64 * kib, 64), all = rate(AddTarget::own, sms, 64 * kib, 64),
                       few = rate(AddTarget::same, sms, 64 * kib, 64), many = rate(AddTarget::same, sms, 1024 * kib, 8),
                       missing = rate(AddTarget::own, sms, missing_bytes, 1);
  for (const Result<double>* each : {&one, &all, &few, &many, &missing})
    if (!*each) return each->error();
  std::string forms;
  if (setup.device.compute_major >= 9)
    for (const AddForm form : {AddForm::pair, AddForm::quad, AddForm::bulk}) {
      const Result<double> other = add_rate(form, AddTarget::own, 1, 64 * kib, 64);
      if (!other) return other.error();
      forms += fmt::format("{}{} {:.4g}", forms.empty() ? "; " : ", ", to_string(form), *other);
    }
  values.push_back({"sm.reduce_bytes_per_cycle", four_digits(*one),
                    fmt::format("one SM adds fp32 numbers to 64 KiB over and over, one red.global.add a number{}", forms)});
  values.push_back({"l2.reduce_bytes_per_cycle", four_digits(*all * sms),
                    fmt::format("each of {} SMs adds to its own 64 KiB; all to the same 64 KiB {:.4g}, to the same 1 MiB {:.4g}; "
                                "missing the L2 {:.4g}",
                                sms, *few * sms, *many * sms, *missing * sms)});
  return Done{};
}

Status add_sharing(const Setup& setup, Values& values) {
  const DeviceInfo& device = setup.device;
  constexpr std::int64_t kib = 1024;
  const Result<double> issued = copy_rate();
  const Result<double> both = shared_copy_rate(device.sm_count, 128 * kib, 64);
  for (const Result<double>* each : {&issued, &both})
    if (!*each) return each->error();
  // Few enough tiles that SMs read the same lines soon after one another, yet enough that an SM's port does not limit the reads.
  constexpr int very_many = 2048, tiles[] = {64, 128, 256}, blocks[] = {4, 10};
  std::vector<double> cycles;
  for (const int blocks_a_sm : blocks) {
    const Result<double> apart = drawn_read_rate(device, blocks_a_sm, very_many, setup.effort.drawn_rounds);
    if (!apart) return apart.error();
    for (const int some : tiles) {
      const Result<double> rate = drawn_read_rate(device, blocks_a_sm, some, setup.effort.drawn_rounds);
      if (!rate) return rate.error();
      cycles.push_back(std::max(0.0, merge_cycles(*rate, *apart, some)));
    }
  }
  std::sort(cycles.begin(), cycles.end());
  const Result<double> apart = ends_apart(device);
  if (!apart) return apart.error();
  values.push_back(
      {"sm.copy_bytes_per_cycle", four_digits(*issued),
       fmt::format("cp.async of 16 bytes a lane, by how much longer stores to shared memory take beside it; two blocks an SM "
                   "that go through the same phases of products and arithmetic end {:.1f} % of their time apart, the older first",
                   100 * *apart)});
  values.push_back({"l2.copy_bytes_per_cycle", four_digits(*both * device.sm_count),
                    fmt::format("half the warps of each of {} SMs read their 64 KiB, half write theirs; both directions counted",
                                device.sm_count)});
  values.push_back(
      {"l2.merge_cycles", four_digits((cycles[cycles.size() / 2 - 1] + cycles[cycles.size() / 2]) / 2),
       fmt::format("tiles of 16 KiB drawn at random by 4 and 10 blocks an SM: out of 64, 128 and 256 they come as much "
                   "faster than out of 2048 as if reads of a line within {:.0f} to {:.0f} cycles of the first were one "
                   "look-up; the median",
                   cycles.front(), cycles.back())});
  return Done{};
}

Status add_hbm(const Setup& setup, Values& values) {
  const DeviceInfo& device = setup.device;
  const Result<HbmBandwidth> found = hbm_bandwidth(device, setup.effort.hbm_bytes);
  if (!found) return found.error();
  const double peak = setup.base.hbm_bytes_per_second;
  const std::string size = fmt::format("{:.4g} GiB", static_cast<double>(setup.effort.hbm_bytes) / (1 << 30));
  values.push_back(
      {"hbm.read_fraction", four_digits(found->read / peak), fmt::format("{} read at {:.4g} GB/s", size, found->read / 1e9)});
  values.push_back(
      {"hbm.sustained_fraction", four_digits(found->copy / peak),
       fmt::format("{} copied at {:.4g} GB/s, a block for each 4 KiB, both directions counted; written alone at {:.4g} GB/s", size,
                   found->copy / 1e9, found->write / 1e9)});
  const Result<double> few = write_wait_cycles(device, 4, *found), some = write_wait_cycles(device, 16, *found),
                       many = write_wait_cycles(device, 64, *found);
  for (const Result<double>* one : {&few, &some, &many})
    if (!*one) return one->error();
  values.push_back(
      {"hbm.write_wait_cycles", four_digits(*some),
       fmt::format("blocks read 2 KiB from HBM, wait and write 2 KiB, over and over, one to four an SM: what the wait is longer "
                   "than without the writes, over the part of HBM's time that they take; with 512 bytes {:.4g}, with 8 KiB {:.4g}",
                   *few, *many)});
  return Done{};
}

Status add_launches(const Setup& setup, Values& values) {
  const DeviceInfo& device = setup.device;
  const Result<LaunchCosts> launches = launch_costs(setup.effort.launches, setup.effort.launch_repeats);
  if (!launches) return launches.error();
  constexpr int threads = 128, alone_bytes = 130000;  // so much shared memory that an SM runs one block at a time
  const Result<BlockCosts> blocks =
      block_costs(device, threads, std::min<int>(alone_bytes, static_cast<int>(device.shared_bytes_per_block)));
  if (!blocks) return blocks.error();
  const Result<double> barrier = barrier_cycles(threads);
  if (!barrier) return barrier.error();
  const Result<double> interval = block_interval_ns(device);
  if (!interval) return interval.error();
  const Result<FetchCycles> fetch = fetch_cycles(device, std::min(setup.effort.launch_repeats, 9));
  if (!fetch) return fetch.error();
  // A launch includes the start of a block, which has its own value.
  const double start_ns = blocks->gap_cycles / device.sm_clock_hz * 1e9;
  values.push_back(
      {"launch.first_ns", four_digits(launches->first_ns - start_ns),
       fmt::format("two events around a waiting kernel of 40,000 cycles and around one of 80,000: what does not grow, less "
                   "block_start_cycles; medians of {}",
                   setup.effort.launch_repeats)});
  values.push_back({"launch.interval_ns", four_digits(launches->interval_ns),
                    fmt::format("{} empty kernels, one launched after the other", setup.effort.launches)});
  values.push_back({"launch.overhead_ns", four_digits(launches->gap_ns - start_ns),
                    "from the end of one kernel to the start of the next, both waiting in one stream, less block_start_cycles"});
  values.push_back(
      {"launch.fetch_cycles", four_digits(std::max(0.0, fetch->middle)),
       fmt::format("a line of dependent FFMAs, one block an SM, from a flushed L2: the first time through it takes longer than "
                   "the second by {:.0f} cycles with 4 KiB of code, {:.0f} with 16 and {:.0f} with 64; the median",
                   fetch->small, fetch->medium, fetch->large)});
  values.push_back({"launch.block_cycles", four_digits(*interval * 1e-9 * device.sm_clock_hz), "empty blocks, 32 and 160 an SM"});
  values.push_back(
      {"sm.block_start_cycles", four_digits(blocks->gap_cycles), "from the end of a block to the start of the next on its SM"});
  values.push_back({"sm.barrier_cycles", four_digits(*barrier), fmt::format("__syncthreads of {} threads", threads)});
  return Done{};
}

Status add_clock(const Setup& setup, Values& values) {
  const DeviceInfo& device = setup.device;
  Result<LoadedClock> found = loaded_clock(device, setup.effort.load_seconds);
  if (!found) return found.error();
  std::sort(found->hz.begin(), found->hz.end());
  values.push_back({"sm.clock_hz", device.sm_clock_hz, "the highest, read from the device"});
  values.push_back(
      {"sm.clock_under_load_hz", found->hz[found->hz.size() / 2],
       fmt::format("the median over {:.4g} seconds of products and exponentials on all SMs", setup.effort.load_seconds)});
  return Done{};
}

}  // namespace

Result<Values> calibrate(const DeviceInfo& device, const GpuSpec& base, const CalibrationProgress& progress,
                         const CalibrationEffort& effort) {
  const struct {
    Sentence name;
    Status (*run)(const Setup&, Values&);
  } steps[] = {{phrase("device"), add_device},
               {phrase("arithmetic"), add_arithmetic},
               {phrase("products by shape"), add_products},
               {phrase("latencies"), add_latencies},
               {phrase("asynchronous copies and barriers"), add_asynchronous},
               {phrase("L2"), add_l2},
               {phrase("additions"), add_additions},
               {phrase("sharing"), add_sharing},
               {phrase("HBM"), add_hbm},
               {phrase("launches"), add_launches},
               {phrase("clock under load"), add_clock}};
  Values values;
  int done = 0;
  for (const auto& step : steps) {
    if (progress && !progress(step.name, done++, static_cast<int>(std::size(steps))))
      return Error{phrase("cancelled"), Error::Kind::cancelled};
    if (Status ran = step.run({device, base, effort}, values); !ran) return ran.error();
  }
  return values;
}

}  // namespace tilescope
