// find_sets: random read passes on the device, and the correlation of reads with evictions by counting bits.
#include "kernels/lab/l2_sets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/lab/l2_lab.cuh"

namespace tilescope {

namespace {

using microbench::checked;
using microbench::DeviceArray;

constexpr int passes = 8192, words = passes / 32, targets_of_a_block = 16;
constexpr std::uint32_t all_drawn = 1 << 16;
constexpr float least_z = 6, own_z = 99;  // lines of one set reach about 11; by chance, 4 of 4e9 pairs exceed 6

/// The lines that the SMs of one side visit.
struct Listed {
  const char* buffer;
  const std::uint32_t* lines;
  int count;
  const L2Lab::Rank* ranks;
  std::uint32_t* never;
};

/// One bit for each item and pass; a word holds 32 passes.
struct BitTable {
  std::uint32_t* words;  // [passes / 32][items]
  int* ones;             // [items]
  int items;
};

struct Pair {
  std::uint32_t target, at;  // positions in their lists
  float z;
};

struct Pairs {
  Pair* pairs;
  int* count;
  int room;
};

__device__ bool drawn(int at, std::uint32_t pass, std::uint32_t density) {
  return (mixed(static_cast<std::uint32_t>(at) * 0x9e3779b1u ^ mixed(pass + 77)) & (all_drawn - 1)) < density;
}

/// Reads one sector of each drawn line.
__global__ void read_drawn(const Listed a, std::uint32_t pass, std::uint32_t density) {
  const L2Lab::Rank own = a.ranks[microbench::sm_number()];
  if (own.rank < 0) return;
  std::uint32_t sum = 0;
  const int step = static_cast<int>(blockDim.x);
  for (int i = own.rank * step + static_cast<int>(threadIdx.x); i < a.count; i += own.of * step)
    if (drawn(i, pass, density)) sum ^= loaded(a.buffer + a.lines[i] * line_bytes);
  if (sum == 0x12345678u) *a.never = sum;
}

/// Times each line, with one load in flight a warp. Sets a bit in `lost` for a line slower than `most_cycles`; `lost` may be null.
__global__ void time_lines(const Listed a, std::uint32_t pass, int most_cycles, std::uint32_t* lost, std::uint16_t* cycles) {
  extern __shared__ volatile std::uint32_t arrived[];
  const L2Lab::Rank own = a.ranks[microbench::sm_number()];
  if (own.rank < 0 || threadIdx.x % 32 != 0) return;
  const int warp = static_cast<int>(threadIdx.x / 32), warps = static_cast<int>(blockDim.x / 32);
  std::uint32_t at = 0;
  for (int i = own.rank * warps + warp; i < a.count; i += own.of * warps) {
    const std::uint32_t line = a.lines[i];
    arrived[warp] = line;  // waits for the line number, so that its load is not timed
    const std::int64_t took = min(cycles_of_load(a.buffer + line * line_bytes, at, arrived[warp]), std::int64_t{65535});
    cycles[i] = static_cast<std::uint16_t>(took);
    if (lost != nullptr && took > most_cycles) atomicOr(lost + pass / 32 * a.count + i, 1u << pass % 32);
  }
  if (at == 0x12345679u) *a.never = at;
}

__global__ void draw_bits(const BitTable table, std::uint32_t density) {
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < table.items; i += step)
    for (int word = 0; word < words; ++word) {
      std::uint32_t bits = 0;
      for (int bit = 0; bit < 32; ++bit) bits |= std::uint32_t{drawn(i, word * 32 + bit, density)} << bit;
      table.words[std::int64_t{word} * table.items + i] = bits;
    }
}

__global__ void count_bits(const BitTable table) {
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < table.items; i += step) {
    int ones = 0;
    for (int word = 0; word < words; ++word) ones += __popc(table.words[std::int64_t{word} * table.items + i]);
    table.ones[i] = ones;
  }
}

/// Returns by how many standard deviations the passes with both events exceed those of independent events.
__device__ float z_of(int both, int ones, int others) {
  const float a = static_cast<float>(ones) / passes, b = static_cast<float>(others) / passes;
  return (static_cast<float>(both) - a * b * passes) * rsqrtf(a * (1 - a) * b * (1 - b) * passes + 1e-6f);
}

/// Correlates sixteen targets a row of blocks, with one thread for each line of the pool.
__global__ void correlate(const BitTable lost, const BitTable pool, const Pairs found) {
  __shared__ std::uint32_t of_target[targets_of_a_block][words];
  const int first = static_cast<int>(blockIdx.y) * targets_of_a_block, targets = min(targets_of_a_block, lost.items - first);
  for (int k = static_cast<int>(threadIdx.x); k < targets_of_a_block * words; k += static_cast<int>(blockDim.x)) {
    const int target = k % targets_of_a_block, word = k / targets_of_a_block;
    of_target[target][word] = target < targets ? lost.words[std::int64_t{word} * lost.items + first + target] : 0;
  }
  __syncthreads();
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < pool.items; i += step) {
    int both[targets_of_a_block] = {};
    for (int word = 0; word < words; ++word) {
      const std::uint32_t bits = pool.words[std::int64_t{word} * pool.items + i];
#pragma unroll
      for (int t = 0; t < targets_of_a_block; ++t) both[t] += __popc(bits & of_target[t][word]);
    }
#pragma unroll
    for (int t = 0; t < targets_of_a_block; ++t) {
      if (t >= targets) continue;
      const float z = z_of(both[t], lost.ones[first + t], pool.ones[i]);
      if (z <= least_z) continue;
      const int at = atomicAdd(found.count, 1);
      if (at < found.room) found.pairs[at] = {static_cast<std::uint32_t>(first + t), static_cast<std::uint32_t>(i), z};
    }
  }
}

template <class T>
DeviceArray<T> room_for(L2Lab& lab, std::int64_t count) {
  Result<DeviceArray<T>> made = DeviceArray<T>::make(count);
  if (made) return std::move(*made);
  lab.note(made.error());
  return {};
}

template <class T>
std::vector<T> read_back(L2Lab& lab, const DeviceArray<T>& array) {
  Result<std::vector<T>> values = array.host();
  if (values) return std::move(*values);
  lab.note(values.error());
  return std::vector<T>(static_cast<std::size_t>(array.count()));
}

/// Tests targets against a pool of lines of one home, all read by the SMs of one side.
class Trial {
 public:
  Trial(L2Lab& lab, Who who, const LineList& targets, const LineList& pool)
      : lab_(lab),
        never_(room_for<std::uint32_t>(lab, 1)),
        cycles_(room_for<std::uint16_t>(lab, targets.count)),
        targets_{lab.buffer(), targets.numbers(), targets.count, lab.ranks(who), never_.data()},
        pool_{lab.buffer(), pool.numbers(), pool.count, lab.ranks(who), never_.data()} {}

  /// Returns the pairs of a target and a pool line that evicts it.
  std::vector<Pair> pairs() {
    const int targets = targets_.count, pool = pool_.count;
    const auto lost = room_for<std::uint32_t>(lab_, std::int64_t{words} * targets);
    const auto drawn = room_for<std::uint32_t>(lab_, std::int64_t{words} * pool);
    const auto lost_ones = room_for<int>(lab_, targets), drawn_ones = room_for<int>(lab_, pool), count = room_for<int>(lab_, 1);
    const auto found = room_for<Pair>(lab_, std::int64_t{128} * targets);
    if (!lab_.status()) return {};
    const BitTable lost_bits{lost.data(), lost_ones.data(), targets}, drawn_bits{drawn.data(), drawn_ones.data(), pool};
    most_cycles_ = most_cycles_of_a_hit();
    const std::uint32_t density = density_that_loses_half();
    for (int i = 0; i < passes; ++i) pass(static_cast<std::uint32_t>(i), density, lost.data());
    draw_bits<<<2048, 256>>>(drawn_bits, density);
    count_bits<<<1024, 128>>>(drawn_bits);
    count_bits<<<64, 128>>>(lost_bits);
    const auto rows = static_cast<unsigned>((targets + targets_of_a_block - 1) / targets_of_a_block);
    correlate<<<dim3(64, rows), 256>>>(lost_bits, drawn_bits, {found.data(), count.data(), static_cast<int>(found.count())});
    lab_.note(checked(cudaDeviceSynchronize(), "finding sets"));
    std::vector<Pair> pairs = read_back(lab_, found);
    pairs.resize(std::min(pairs.size(), static_cast<std::size_t>(read_back(lab_, count)[0])));
    return pairs;
  }

 private:
  void pass(std::uint32_t number, std::uint32_t density, std::uint32_t* lost) {
    const int sms = lab_.device().sm_count;
    read_drawn<<<sms, 1024, alone_bytes>>>(targets_, number, all_drawn);
    read_drawn<<<sms, 1024, alone_bytes>>>(pool_, number, density);
    time_targets(number, lost);
  }

  void time_targets(std::uint32_t number, std::uint32_t* lost) {
    time_lines<<<lab_.device().sm_count, 128, alone_bytes>>>(targets_, number, most_cycles_, lost, cycles_.data());
    lab_.note(checked(cudaGetLastError(), "timing lines of sets"));
  }

  /// Returns the latency limit of a hit. After a flush every load misses, then every load hits; twice the fastest is surely a miss.
  int most_cycles_of_a_hit() {
    std::vector<double> both;
    lab_.flush();
    for (int i = 0; i < 2; ++i) {
      time_targets(0, nullptr);
      for (const std::uint16_t cycles : read_back(lab_, cycles_)) both.push_back(cycles);
    }
    const double most = 2 * *std::min_element(both.begin(), both.end());
    for (double& cycles : both) cycles = std::min(cycles, most);
    return static_cast<int>(parting(std::move(both)));
  }

  double part_lost(std::uint32_t density) {
    constexpr std::uint32_t repeats = 4;
    std::int64_t lost = 0;
    for (std::uint32_t i = 0; i < repeats; ++i) {
      pass(i, density, nullptr);
      for (const std::uint16_t cycles : read_back(lab_, cycles_)) lost += cycles > most_cycles_ ? 1 : 0;
    }
    return static_cast<double>(lost) / (repeats * targets_.count);
  }

  /// Returns the read density that evicts half of the targets. Every density is tried, because the loss is not monotonic: at high
  /// density most targets are read again as pool lines.
  std::uint32_t density_that_loses_half() {
    constexpr std::uint32_t step = all_drawn / 64;
    std::uint32_t best = 0;
    double nearest = 1;
    for (std::uint32_t density = 4 * step; density < all_drawn; density += step)
      if (const double off = std::abs(part_lost(density) - 0.5); off < nearest) nearest = off, best = density;
    return best;
  }

  L2Lab& lab_;
  DeviceArray<std::uint32_t> never_;
  DeviceArray<std::uint16_t> cycles_;
  Listed targets_, pool_;
  int most_cycles_ = 0;
};

class SetFinder {
 public:
  SetFinder(L2Lab& lab, int partition, std::uint32_t lines)
      : lab_(lab), home_(static_cast<std::uint8_t>(partition)), who_(partition == 0 ? Who::side0 : Who::side1), z_(lines) {
    map_.set_of.assign(lines, -1);
    for (std::uint32_t line = 0; line < lines; ++line) pools_[lab.homes()[line]].push_back(line);
  }

  SetMap run() {
    const std::array<LineList, 2> pools = {lab_.list_of(pools_[0]), lab_.list_of(pools_[1])};
    for (auto targets = next_targets(); lab_.status() && !targets.empty(); targets = next_targets()) {
      const LineList list = lab_.list_of(targets);
      std::vector<std::vector<Mate>> mates(targets.size());
      for (std::size_t home = 0; home < 2 && lab_.status(); ++home)
        for (const Pair& pair : Trial(lab_, who_, list, pools[home]).pairs())
          mates[pair.target].push_back({pools_[home][pair.at], pair.z});
      for (std::size_t i = 0; i < targets.size(); ++i) join(targets[i], mates[i]);
    }
    if (!lab_.status()) return {};
    drop_small_sets();
    return std::move(map_);
  }

 private:
  struct Mate {
    std::uint32_t line;
    float z;
  };

  /// Returns lines of this home without a set. When a page has many of them, later pages wait for the sets found in this round.
  std::vector<std::uint32_t> next_targets() {
    constexpr std::size_t most = 8192, many = 4000, page_lines = 16384;
    std::vector<std::uint32_t> targets;
    for (; next_ < z_.size() && targets.size() < most; ++next_) {
      if (next_ % page_lines == 0 && targets.size() > many) break;
      if (lab_.homes()[next_] == home_ && map_.set_of[next_] < 0) targets.push_back(next_);
    }
    return targets;
  }

  /// Adds a target and its mates to the target's set, else to the set of most mates, else to a new set.
  void join(std::uint32_t target, const std::vector<Mate>& mates) {
    int set = map_.set_of[target];
    if (set < 0) set = set_of_most(mates);
    if (set < 0) set = map_.count++;
    for (const Mate& mate : mates) place(mate, set);
    place({target, own_z}, set);
  }

  int set_of_most(const std::vector<Mate>& mates) const {
    std::map<int, std::size_t> counts;
    for (const Mate& mate : mates)
      if (const int set = map_.set_of[mate.line]; set >= 0 && ++counts[set] * 2 > mates.size()) return set;
    return -1;
  }

  void place(const Mate& mate, int set) {
    if (mate.z <= z_[mate.line]) return;
    z_[mate.line] = mate.z;
    map_.set_of[mate.line] = set;
  }

  /// Drops sets with no more lines than ways: lines of such a set could not evict one another.
  void drop_small_sets() {
    std::vector<int> lines(static_cast<std::size_t>(map_.count)), number(lines.size(), -1);
    const auto at = [](int set) { return static_cast<std::size_t>(set); };
    for (const std::uint32_t line : pools_[home_])
      if (const int set = map_.set_of[line]; set >= 0) ++lines[at(set)];
    map_.count = 0;
    for (std::size_t set = 0; set < lines.size(); ++set)
      if (lines[set] > l2_ways) number[set] = map_.count++;
    for (std::int32_t& set : map_.set_of)
      if (set >= 0) set = number[at(set)];
  }

  L2Lab& lab_;
  std::uint8_t home_;
  Who who_;
  std::uint32_t next_ = 0;
  std::array<std::vector<std::uint32_t>, 2> pools_;  // by home
  std::vector<float> z_;                             // by line: z of the target that put it on its set
  SetMap map_;
};

}  // namespace

SetMap find_sets(L2Lab& lab, int partition, std::uint32_t lines) {
  for (const void* kernel : {reinterpret_cast<const void*>(read_drawn), reinterpret_cast<const void*>(time_lines)})
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, alone_bytes);
  return SetFinder(lab, partition, lines).run();
}

}  // namespace tilescope
