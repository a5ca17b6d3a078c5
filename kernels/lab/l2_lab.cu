// L2Lab: the kernels that touch lines. The latency of a first touch reveals the side of each SM and the home of each line.
#include "kernels/lab/l2_lab.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "kernels/lab/l2_lab.cuh"

namespace tilescope {

namespace {

using microbench::checked;
using microbench::mean;

using Rank = L2Lab::Rank;

constexpr int threads = 512, threads_of_a_line = 8;
constexpr std::int64_t lines_of_a_mib = (1 << 20) / line_bytes;
constexpr int who_count = 5, sample_lines = 512;

struct TouchArguments {
  char* buffer;
  const std::uint32_t* list;  // null: in order of address
  std::int64_t count, list_count;
  const Rank* ranks;  // by SM
  int shift, bytes;
  bool write, pieces, random;
  std::uint32_t seed;
  std::uint32_t* never;
};

/// Touches lines with eight threads a line, 64 lines a block at a time.
__global__ __launch_bounds__(threads) void touch_kernel(const TouchArguments a) {
  extern __shared__ char alone[];
  const Rank own = a.ranks[microbench::sm_number()];
  if (own.rank < 0) return;
  constexpr int step = threads / threads_of_a_line;
  const int part = threadIdx.x % threads_of_a_line, place = threadIdx.x / threads_of_a_line;
  std::uint32_t sum = 0;
  const std::int64_t turn = (own.rank + a.shift) % own.of, piece = (a.count + own.of - 1) / own.of;
  const std::int64_t first = a.pieces ? turn * piece : turn * step, end = a.pieces ? min(a.count, first + piece) : a.count;
  for (std::int64_t i = first + place; i < end; i += a.pieces ? step : std::int64_t{own.of} * step) {
    const auto at = a.random ? mixed(static_cast<std::uint32_t>(i) + a.seed) % static_cast<std::uint32_t>(a.count)
                             : static_cast<std::uint32_t>(i);
    const std::int64_t line = a.list != nullptr ? a.list[at] : at;
    char* const to = a.buffer + line * line_bytes + part * 16;
    if (!a.write) {
      if (part * 16 < a.bytes) {
        uint4 v;
        asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(to) : "memory");
        sum ^= v.x ^ v.y ^ v.z ^ v.w;
      }
    } else if (a.bytes >= 32) {
      if (part * 16 < a.bytes) *reinterpret_cast<uint4*>(to) = make_uint4(part, a.seed, place, 7);
    } else if (part % 2 == 0) {
      if (a.bytes == 16)
        *reinterpret_cast<uint4*>(to) = make_uint4(part, a.seed, place, 7);
      else
        *reinterpret_cast<std::uint32_t*>(to) = a.seed;
    }
  }
  if (sum == 0x12345678u) *a.never = sum;
}

struct StreamArguments {
  char* buffer;
  const std::uint32_t* list[2];  // by side; null: it does nothing
  bool write[2];
  std::int64_t count;
  const Rank* ranks[2];  // by side, then by SM
  std::int64_t* cycles;  // by SM
  std::uint32_t* never;
};

/// Streams lines with eight threads a line and four lines in flight a thread.
__global__ __launch_bounds__(threads) void stream_kernel(const StreamArguments a) {
  extern __shared__ char alone[];
  constexpr int step = threads / threads_of_a_line, in_flight = 4;
  const unsigned sm = microbench::sm_number();
  const int side = a.ranks[0][sm].rank >= 0 ? 0 : 1;
  const std::uint32_t* const list = a.list[side];
  const Rank own = a.ranks[side][sm];
  if (list == nullptr) return;
  const int part = threadIdx.x % threads_of_a_line, place = threadIdx.x / threads_of_a_line;
  std::uint32_t sum = 0;
  const std::int64_t start = microbench::cycle_counter();
  for (std::int64_t i = std::int64_t{own.rank} * step * in_flight + place; i + (in_flight - 1) * step < a.count;
       i += std::int64_t{own.of} * step * in_flight) {
    char* at[in_flight];
#pragma unroll
    for (int n = 0; n < in_flight; ++n) at[n] = a.buffer + std::int64_t{__ldg(list + i + n * step)} * line_bytes + part * 16;
    if (a.write[side]) {
#pragma unroll
      for (int n = 0; n < in_flight; ++n) *reinterpret_cast<uint4*>(at[n]) = make_uint4(part, 3, place, 7);
      continue;
    }
    uint4 v[in_flight];
#pragma unroll
    for (int n = 0; n < in_flight; ++n)
      asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(v[n].x), "=r"(v[n].y), "=r"(v[n].z), "=r"(v[n].w)
                   : "l"(at[n])
                   : "memory");
#pragma unroll
    for (int n = 0; n < in_flight; ++n) sum ^= v[n].x ^ v[n].y ^ v[n].z ^ v[n].w;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) a.cycles[sm] = microbench::cycle_counter() - start;
  if (sum == 0x12345678u) *a.never = sum;
}

/// Measures one load of each line, one after another. The lines are divided into contiguous runs among the participating SMs.
__global__ void latency_kernel(const char* buffer, const char* same_page, int lines, const Rank* ranks, int only_sm,
                               std::uint16_t* cycles, std::uint32_t* never) {
  extern __shared__ volatile std::uint32_t arrived[];
  const auto sm = static_cast<int>(microbench::sm_number());
  if (threadIdx.x != 0 || (only_sm >= 0 && only_sm != sm)) return;
  const Rank own = only_sm >= 0 ? Rank{0, 1} : ranks[sm];
  if (own.rank < 0) return;
  const int each = (lines + own.of - 1) / own.of, first = own.rank * each, end = min(lines, first + each);
  std::uint32_t at = 0;
  cycles_of_load(same_page, at, arrived[0]);
  for (int i = first; i < end; ++i)
    cycles[i] = static_cast<std::uint16_t>(min(cycles_of_load(buffer + i * line_bytes, at, arrived[0]), std::int64_t{65535}));
  if (at == 0x12345679u) *never = at;
}

__global__ void idle_kernel(std::int64_t ns) {
  const std::int64_t start = microbench::nanosecond_counter();
  while (microbench::nanosecond_counter() - start < ns) __nanosleep(1000);
}

__global__ void place_kernel(L2Lab::Placed* placed, int cycles, bool uneven) {
  extern __shared__ char alone[];
  const std::int64_t start_ns = microbench::nanosecond_counter(), start = microbench::cycle_counter();
  const std::int64_t lasts = uneven && blockIdx.x % 5 == 0 ? 2 * cycles : cycles;
  while (microbench::cycle_counter() - start < lasts) {}
  if (threadIdx.x == 0) placed[blockIdx.x] = {static_cast<int>(microbench::sm_number()), start_ns};
}

__global__ void cluster_kernel(int* sms) {
  extern __shared__ char alone[];
  const std::int64_t start = microbench::cycle_counter();
  while (microbench::cycle_counter() - start < 3000) {}
  if (threadIdx.x == 0) sms[blockIdx.x] = static_cast<int>(microbench::sm_number());
}

template <class T>
Result<std::vector<T>> host(const DeviceMemory& memory, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  if (Status read = memory.read(values.data(), count * static_cast<std::int64_t>(sizeof(T))); !read) return read.error();
  return values;
}

Status set(DeviceMemory& memory, const void* from, std::size_t bytes) {
  Result<DeviceMemory> made = DeviceMemory::allocate(static_cast<std::int64_t>(bytes));
  if (!made) return made.error();
  memory = std::move(*made);
  return memory.write(from, static_cast<std::int64_t>(bytes));
}

}  // namespace

double parting(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double all = std::accumulate(values.begin(), values.end(), 0.0);
  double before = 0, best = -1, threshold = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    before += values[i - 1];
    const auto n = static_cast<double>(i), rest = static_cast<double>(values.size()) - n;
    const double apart = before / n - (all - before) / rest, between = n * rest * apart * apart;
    if (between > best) best = between, threshold = (values[i - 1] + values[i]) / 2;
  }
  return threshold;
}

void L2Lab::note(const Status& status) {
  if (status_ && !status) status_ = status;
}

Result<L2Lab> L2Lab::make(int buffer_mib) {
  Result<DeviceInfo> device = find_device();
  if (!device) return device.error();
  Result<CounterSession> counters = CounterSession::open();
  if (!counters) return counters.error();
  L2Lab lab;
  lab.device_ = *device;
  lab.counters_ = std::move(*counters);
  Result<DeviceMemory> scratch = DeviceMemory::allocate(4 * device->l2_bytes),
                       buffer = DeviceMemory::allocate(buffer_mib * std::int64_t{1 << 20}),
                       touches = DeviceMemory::allocate(1 << 20);
  for (Result<DeviceMemory>* each : {&scratch, &buffer, &touches})
    if (!*each) return each->error();
  lab.scratch_ = std::move(*scratch);
  lab.buffer_ = std::move(*buffer);
  lab.touches_ = std::move(*touches);
  if (Status filled = lab.buffer_.fill(0); !filled) return filled.error();
  for (const void* kernel : {reinterpret_cast<const void*>(touch_kernel), reinterpret_cast<const void*>(latency_kernel),
                             reinterpret_cast<const void*>(stream_kernel), reinterpret_cast<const void*>(place_kernel),
                             reinterpret_cast<const void*>(cluster_kernel)})
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, alone_bytes);
  if (Status found = lab.find_sides(); !found) return found.error();
  if (Status found = lab.find_gpcs(); !found) return found.error();
  if (Status found = lab.find_homes(); !found) return found.error();
  return Result<L2Lab>(std::move(lab));
}

/// Loads lines on SM 0. An SM of the same side then finds them all near; an SM of the other side finds its own home's lines far.
Status L2Lab::find_sides() {
  sms_.resize(static_cast<std::size_t>(device_.sm_count));
  auto* const cycles = static_cast<std::uint16_t*>(touches_.address());
  auto* const never = reinterpret_cast<std::uint32_t*>(cycles + (1 << 18));
  const auto* const buffer = static_cast<const char*>(buffer_.address());
  std::vector<double> extra;
  for (int sm = 0; sm < device_.sm_count; ++sm) {
    flush();
    const auto measure = [&](int which) {
      latency_kernel<<<device_.sm_count, 32, alone_bytes>>>(buffer, buffer + (1 << 20), sample_lines, nullptr, which, cycles,
                                                            never);
    };
    measure(0);
    measure(sm);
    const auto first = host<std::uint16_t>(touches_, sample_lines);
    if (!first) return first.error();
    measure(sm);
    const auto again = host<std::uint16_t>(touches_, sample_lines);
    if (!again) return again.error();
    sms_[static_cast<std::size_t>(sm)].first_latency = mean(*first);
    sms_[static_cast<std::size_t>(sm)].own_latency = mean(*again);
    extra.push_back(mean(*first) - mean(*again));
  }
  const double threshold = parting(extra);
  std::array<std::vector<Rank>, who_count> ranks;
  for (auto& table : ranks) table.resize(sms_.size());
  std::array<int, 2> of{};
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) {
    sms_[sm].side = extra[sm] > threshold ? 1 : 0;
    const auto side = static_cast<std::size_t>(sms_[sm].side);
    ranks[0][sm].rank = static_cast<int>(sm);
    ranks[1 + side][sm].rank = ranks[3][sm].rank = of[side]++;
  }
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) {
    const auto side = static_cast<std::size_t>(sms_[sm].side);
    ranks[0][sm].of = device_.sm_count;
    ranks[1 + side][sm].of = ranks[3][sm].of = of[side];
  }
  ranks[4][0] = {0, 1};
  std::vector<Rank> flat;
  for (const auto& table : ranks) flat.insert(flat.end(), table.begin(), table.end());
  return set(ranks_, flat.data(), flat.size() * sizeof(Rank));
}

/// Finds the SMs of each GPC: all blocks of a cluster run on one GPC.
Status L2Lab::find_gpcs() {
  std::vector<int> parent(sms_.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int sm) {
    while (parent[static_cast<std::size_t>(sm)] != sm) sm = parent[static_cast<std::size_t>(sm)];
    return sm;
  };
  for (int round = 0; round < 4; ++round) {
    for (const int size : {8, 7, 6, 5, 4, 3, 2}) {
      const int blocks = size * 128;
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(static_cast<unsigned>(blocks));
      config.blockDim = dim3(32);
      config.dynamicSmemBytes = alone_bytes;
      cudaLaunchAttribute cluster{};
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {static_cast<unsigned>(size), 1, 1};
      config.attrs = &cluster;
      config.numAttrs = 1;
      if (Status ran =
              checked(cudaLaunchKernelEx(&config, cluster_kernel, static_cast<int*>(touches_.address())), "launching clusters");
          !ran)
        return ran;
      const auto where = host<int>(touches_, blocks);
      if (!where) return where.error();
      for (int i = 0; i < blocks; ++i)
        parent[static_cast<std::size_t>(root((*where)[static_cast<std::size_t>(i)]))] =
            root((*where)[static_cast<std::size_t>(i / size * size)]);
    }
  }
  std::vector<int> names(sms_.size(), -1);
  int next = 0;
  for (std::size_t sm = 0; sm < sms_.size(); ++sm) {
    int& name = names[static_cast<std::size_t>(root(static_cast<int>(sm)))];
    if (name < 0) name = next++;
    sms_[sm].gpc = name;
  }
  return Done{};
}

/// Finds the home of each line, one MiB at a time: after one side loads it, the other side's first touch is fast for its own lines.
Status L2Lab::find_homes() {
  const std::int64_t lines = buffer_.bytes() / line_bytes;
  homes_.resize(static_cast<std::size_t>(lines));
  auto* const cycles = static_cast<std::uint16_t*>(touches_.address());
  auto* const never = reinterpret_cast<std::uint32_t*>(cycles + (1 << 18));
  const auto* const ranks = static_cast<const Rank*>(ranks_.address());
  const auto* const buffer = static_cast<const char*>(buffer_.address());
  std::int64_t compared = 0, other = 0;
  for (std::int64_t mib = 0; mib * lines_of_a_mib < lines; ++mib) {
    const auto seen_from = [&](int side) {
      flush();
      Touch bring;
      bring.first_mib = static_cast<double>(mib);
      bring.mib = 1;
      bring.who = side == 0 ? Who::side1 : Who::side0;
      touch(bring);
      latency_kernel<<<device_.sm_count, 32, alone_bytes>>>(buffer + (mib << 20), buffer + ((mib ^ 1) << 20),
                                                            static_cast<int>(lines_of_a_mib), ranks + (1 + side) * device_.sm_count,
                                                            -1, cycles, never);
      return host<std::uint16_t>(touches_, lines_of_a_mib);
    };
    const auto is_far = [](const std::vector<std::uint16_t>& values) {
      std::vector<double> numbers(values.begin(), values.end());
      for (double& x : numbers) x = std::min(x, 1500.0);
      const double threshold = parting(std::move(numbers));
      std::vector<bool> far;
      for (const std::uint16_t value : values) far.push_back(value > threshold);
      return far;
    };
    const auto from1 = seen_from(1);
    if (!from1) return from1.error();
    const std::vector<bool> far = is_far(*from1);
    for (std::size_t i = 0; i < far.size(); ++i) homes_[static_cast<std::size_t>(mib * lines_of_a_mib) + i] = far[i] ? 0 : 1;
    if (mib % 16 != 0) continue;
    if (mib == 0) first_touches_ = *from1;
    const auto from0 = seen_from(0);
    if (!from0) return from0.error();
    const std::vector<bool> far0 = is_far(*from0);
    for (std::size_t i = 0; i < far.size(); ++i) ++compared, other += far[i] == far0[i] ? 1 : 0;
  }
  disagreeing_ = static_cast<double>(other) / static_cast<double>(compared);
  std::vector<std::uint32_t> lists;
  list_first_ = {0, 0, 0};
  list_count_ = {lines, 0, 0};
  for (std::size_t home = 0; home < 2; ++home) {
    list_first_[1 + home] = static_cast<std::int64_t>(lists.size());
    for (std::size_t i = 0; i < homes_.size(); ++i)
      if (homes_[i] == home) lists.push_back(static_cast<std::uint32_t>(i));
    list_count_[1 + home] = static_cast<std::int64_t>(lists.size()) - list_first_[1 + home];
  }
  return set(lists_, lists.data(), lists.size() * sizeof(std::uint32_t));
}

double L2Lab::mib_of(Lines lines) const {
  return static_cast<double>(list_count_[static_cast<std::size_t>(lines)]) / static_cast<double>(lines_of_a_mib);
}

void L2Lab::touch(const Touch& touch) {
  const auto list = static_cast<std::size_t>(touch.lines);
  const auto first = static_cast<std::int64_t>(touch.first_mib * lines_of_a_mib);
  TouchArguments a{};
  a.buffer = static_cast<char*>(buffer_.address());
  a.count = static_cast<std::int64_t>(touch.mib * lines_of_a_mib);
  if (touch.lines != Lines::all)
    a.list = static_cast<const std::uint32_t*>(lists_.address()) + list_first_[list] + first;
  else
    a.buffer += first * line_bytes;
  if (!list_count_.empty() && first + a.count > list_count_[list])
    return note(Error{
        fmt::format("{} MiB of lines are asked for from {}, there are {:.1f}", touch.mib, touch.first_mib, mib_of(touch.lines))});
  a.ranks = ranks(touch.who);
  a.shift = touch.shift;
  a.bytes = touch.bytes;
  a.write = touch.write;
  a.pieces = touch.pieces;
  a.random = touch.random;
  a.seed = touch.seed * 2654435761u & ~1u;
  a.never = static_cast<std::uint32_t*>(touches_.address());
  touch_kernel<<<device_.sm_count, threads, alone_bytes>>>(a);
  note(checked(cudaGetLastError(), "touching lines"));
}

LineList L2Lab::list_of(const std::vector<std::uint32_t>& lines) {
  LineList list;
  if (lines.empty()) return list;
  note(set(list.memory, lines.data(), lines.size() * sizeof(std::uint32_t)));
  list.count = status_ ? static_cast<int>(lines.size()) : 0;
  return list;
}

void L2Lab::touch_lines(const LineList& lines, Who who, bool write) {
  TouchArguments a{};
  a.buffer = buffer();
  a.list = lines.numbers();
  a.count = lines.count;
  a.ranks = ranks(who);
  a.bytes = line_bytes;
  a.write = write;
  a.never = static_cast<std::uint32_t*>(touches_.address());
  touch_kernel<<<device_.sm_count, threads, alone_bytes>>>(a);
  note(checked(cudaGetLastError(), "touching lines"));
}

const L2Lab::Rank* L2Lab::ranks(Who who) const {
  return static_cast<const Rank*>(ranks_.address()) + static_cast<std::int64_t>(who) * device_.sm_count;
}

std::array<double, 2> L2Lab::rates(const Steps& prepare, const Stream& stream) {
  constexpr int repeats = 5;
  constexpr std::int64_t cycles_at = 1 << 12;  // byte offset in touches_, after `never`
  std::array<std::vector<double>, 2> found;
  StreamArguments a{};
  a.buffer = static_cast<char*>(buffer_.address());
  a.count = static_cast<std::int64_t>(stream.mib * lines_of_a_mib);
  const auto first = static_cast<std::int64_t>(stream.first_mib * lines_of_a_mib);
  for (std::size_t side = 0; side < 2; ++side) {
    if (!stream.lines[side]) continue;
    const auto list = static_cast<std::size_t>(*stream.lines[side]);
    if (first + a.count > list_count_[list]) note(Error{fmt::format("{} MiB of lines are asked for", stream.mib)});
    a.list[side] = static_cast<const std::uint32_t*>(lists_.address()) + list_first_[list] + first;
    a.write[side] = stream.write[side];
  }
  std::array<double, 2> sms{};
  for (const SmPlace& sm : sms_) sms[static_cast<std::size_t>(sm.side)] += 1;
  for (const Who who : {Who::side0, Who::side1}) a.ranks[who == Who::side0 ? 0 : 1] = ranks(who);
  a.never = static_cast<std::uint32_t*>(touches_.address());
  a.cycles = reinterpret_cast<std::int64_t*>(static_cast<char*>(touches_.address()) + cycles_at);
  for (int i = 0; i < repeats && status_; ++i) {
    flush();
    prepare();
    stream_kernel<<<device_.sm_count, threads, alone_bytes>>>(a);
    note(checked(cudaGetLastError(), "streaming lines"));
    const auto read = host<std::int64_t>(touches_, cycles_at / 8 + device_.sm_count);
    if (!read) {
      note(read.error());
      break;
    }
    std::array<double, 2> sum{};
    for (std::size_t sm = 0; sm < sms_.size(); ++sm)
      sum[static_cast<std::size_t>(sms_[sm].side)] += static_cast<double>((*read)[cycles_at / 8 + sm]);
    for (std::size_t side = 0; side < 2; ++side)
      if (stream.lines[side]) found[side].push_back(static_cast<double>(a.count * line_bytes) / (sum[side] / sms[side]));
  }
  return {microbench::median(found[0]), microbench::median(found[1])};
}

void L2Lab::flush() {
  note(launch(plan_flush(scratch_), nullptr));
}

void L2Lab::idle(double milliseconds) {
  idle_kernel<<<1, 1>>>(static_cast<std::int64_t>(milliseconds * 1e6));
}

L2Bytes L2Lab::bytes(const Steps& prepare, const Steps& counted) {
  if (!status_) return {};
  static const std::vector<std::string> metrics = {"dram__bytes_read.sum", "dram__bytes_write.sum",
                                                   "lts__t_sectors_srcunit_ltcfabric_op_read.sum",
                                                   "lts__t_sectors_srcunit_ltcfabric_op_write.sum"};
  const Result<std::vector<double>> read = counters_.read_metrics(
      metrics,
      [&]() -> Status {
        flush();
        prepare();
        return status_;
      },
      [&]() -> Status {
        counted();
        return status_;
      });
  if (!read) {
    note(read.error());
    return {};
  }
  constexpr double mib = 1 << 20;
  return {(*read)[0] / mib, (*read)[1] / mib, (*read)[2] * 32 / mib, (*read)[3] * 32 / mib};
}

std::vector<L2Lab::Placed> L2Lab::place_blocks(int blocks, int blocks_per_sm, bool uneven) {
  constexpr int cycles = 20000;
  place_kernel<<<blocks, 128, blocks_per_sm == 1 ? alone_bytes : alone_bytes / blocks_per_sm + (blocks_per_sm < 6 ? 4096 : 512)>>>(
      static_cast<Placed*>(touches_.address()), cycles, uneven);
  const auto placed = host<Placed>(touches_, blocks);
  if (!placed) {
    note(placed.error());
    return {};
  }
  return *placed;
}

}  // namespace tilescope
