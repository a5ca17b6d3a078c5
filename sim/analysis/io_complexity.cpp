// Access counts from sums over query tiles, independent of the operations of any program.
#include "sim/analysis/io_complexity.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "sim/core/refuse.h"
#include "sim/programs/attention_tensors.h"
#include "sim/programs/closed_form.h"

namespace tilescope {

namespace {

/// The sums in the counts, as doubles: their products exceed 2^63 for the largest problems.
struct Sums {
  double rows, rows_pairs, keys, rows_keys, planes, queries, all_keys, dim;

  Sums(const AttentionProblem& problem, const TileShape& tile) {
    const VisitSums visits = visit_sums(problem, tile);
    rows = static_cast<double>(visits.rows);
    rows_pairs = static_cast<double>(visits.rows_pairs);
    keys = static_cast<double>(visits.keys);
    rows_keys = static_cast<double>(visits.rows_keys);
    planes = static_cast<double>(problem.query_planes());
    queries = static_cast<double>(problem.seq_q);
    all_keys = static_cast<double>(problem.seq_kv);
    dim = static_cast<double>(problem.head_dim);
  }
};

class Counter {
 public:
  Counter(const AttentionProblem& problem, const Sums& sums) : problem_(problem), sums_(sums) {}

  void load(Tensor tensor, double elements, std::string_view plain, std::string_view masked) {
    add(tensor, false, elements, plain, masked);
  }
  void store(Tensor tensor, double elements, std::string_view plain, std::string_view masked) {
    add(tensor, true, elements, plain, masked);
  }

  AccessCount finish(double flops) {
    for (const AccessTerm& term : count_.terms) {
      count_.elements += term.elements;
      count_.bytes += term.bytes();
    }
    count_.intensity = count_.bytes > 0 ? flops / count_.bytes : 0;
    return std::move(count_);
  }
  AccessCount& count() { return count_; }

 private:
  void add(Tensor tensor, bool store, double elements, std::string_view plain, std::string_view masked) {
    count_.terms.push_back({tensor, store, std::string(problem_.has_mask() ? masked : plain), elements * sums_.planes,
                            element_bytes(type_of(tensor, problem_.dtype))});
  }

  const AttentionProblem& problem_;
  const Sums& sums_;
  AccessCount count_;
};

constexpr std::string_view square = "Nq·Nk", masked_square = "Σᵢ rowsᵢ·Wᵢ";
constexpr std::string_view visits = "⌈Nk/Bc⌉·Nq", masked_visits = "Σᵢ rowsᵢ·Jᵢ";

std::string times_d(std::string_view sum) {
  return std::string(sum) + "·d";
}

void count_standard(Counter& counter, const Sums& n, const TileShape& tile, double) {
  counter.load(tensors::q, n.rows_pairs * n.dim, times_d(visits), times_d(masked_visits));
  counter.load(tensors::k, n.keys * n.dim, "⌈Nq/Br⌉·Nk·d", "Σᵢ Wᵢ·d");
  counter.store(tensors::s, n.rows_keys, square, masked_square);
  counter.load(tensors::s, n.rows_keys, square, masked_square);
  counter.store(tensors::p, n.rows_keys, square, masked_square);
  counter.load(tensors::p, n.rows_keys, square, masked_square);
  counter.load(tensors::v, n.keys * n.dim, "⌈Nq/Br⌉·Nk·d", "Σᵢ Wᵢ·d");
  counter.store(tensors::o, n.queries * n.dim, "Nq·d", "Nq·d");
  AccessCount& count = counter.count();
  count.order = "Θ(Nd + N²)";
  count.leading = "N²";
  count.leading_constant = 4 + n.dim / static_cast<double>(tile.block_kv) + 2 * n.dim / static_cast<double>(tile.block_q);
  count.constant_formula = "4 + d/Bc + 2d/Br";
}

void count_flash1(Counter& counter, const Sums& n, const TileShape& tile, double m) {
  counter.load(tensors::k, n.all_keys * n.dim, "Nk·d", "Nk·d");
  counter.load(tensors::v, n.all_keys * n.dim, "Nk·d", "Nk·d");
  counter.load(tensors::q, n.rows_pairs * n.dim, times_d(visits), times_d(masked_visits));
  counter.load(tensors::o, n.rows_pairs * n.dim, times_d(visits), times_d(masked_visits));
  counter.store(tensors::o, n.rows_pairs * n.dim, times_d(visits), times_d(masked_visits));
  counter.store(tensors::o, n.queries * n.dim, "Nq·d", "Nq·d");
  for (Tensor statistic : {tensors::m, tensors::l}) {
    counter.store(statistic, n.queries, "Nq", "Nq");
    counter.load(statistic, n.rows_pairs, visits, masked_visits);
    counter.store(statistic, n.rows_pairs, visits, masked_visits);
  }
  AccessCount& count = counter.count();
  count.order = "Θ(N²d²/M)";
  count.leading = "N²d²/M";
  count.leading_constant = 3 * m / (static_cast<double>(tile.block_kv) * n.dim);
  count.constant_formula = "3M/(Bc·d)";
}

void count_flash2(Counter& counter, const Sums& n, const TileShape& tile, double m) {
  counter.load(tensors::q, n.rows * n.dim, "Nq·d", "(rows of tiles that see a key)·d");
  counter.load(tensors::k, n.keys * n.dim, "⌈Nq/Br⌉·Nk·d", "Σᵢ Wᵢ·d");
  counter.load(tensors::v, n.keys * n.dim, "⌈Nq/Br⌉·Nk·d", "Σᵢ Wᵢ·d");
  counter.store(tensors::o, n.queries * n.dim, "Nq·d", "Nq·d");
  counter.store(tensors::lse, n.queries, "Nq", "Nq");
  AccessCount& count = counter.count();
  count.order = "Θ(N²d²/M)";
  count.leading = "N²d²/M";
  count.leading_constant = 2 * m / (static_cast<double>(tile.block_q) * n.dim);
  count.constant_formula = "2M/(Br·d)";
}

struct CountedAlgorithm {
  std::string_view id;
  void (*count)(Counter&, const Sums&, const TileShape&, double fast_memory_elements);
};
constexpr std::array<CountedAlgorithm, 3> counted = {
    {{"standard", count_standard}, {"flash1", count_flash1}, {"flash2", count_flash2}}};

const CountedAlgorithm* find_counted(std::string_view id) {
  const auto found = std::find_if(counted.begin(), counted.end(), [&](const CountedAlgorithm& row) { return row.id == id; });
  return found == counted.end() ? nullptr : &*found;
}

double flops_of(const Sums& sums) {
  return 4 * sums.planes * sums.dim * sums.rows_keys;
}

/// Returns the smallest whole M with which flash1 moves at most `bytes`. M matters only through Bc = ⌈M/4d⌉, and a longer key tile
/// never moves more, so this is a binary search over Bc.
std::optional<double> smallest_memory(const AttentionProblem& problem, double bytes) {
  const auto memory_of = [&](std::int64_t columns) { return static_cast<double>(4 * problem.head_dim * (columns - 1) + 1); };
  const auto moved = [&](std::int64_t columns) {
    return count_accesses("flash1", problem, paper_tile(problem, memory_of(columns)), memory_of(columns)).bytes;
  };
  std::int64_t low = 1, high = problem.seq_kv;
  if (moved(high) > bytes) return std::nullopt;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (moved(middle) <= bytes) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return memory_of(high);
}

}  // namespace

TileShape paper_tile(const AttentionProblem& problem, double fast_memory_elements) {
  const auto dim = static_cast<double>(problem.head_dim);
  const auto columns = static_cast<std::int64_t>(std::max(1.0, std::ceil(std::min(fast_memory_elements, 0x1p52) / (4 * dim))));
  return {std::min({columns, problem.head_dim, problem.seq_q}), std::min(columns, problem.seq_kv)};
}

double fast_memory_elements(const AttentionProblem& problem, const GpuSpec& gpu) {
  return gpu.sm_shared_bytes_per_block / element_bytes(problem.dtype);
}

bool order_holds(std::string_view order, const AttentionProblem& problem, const GpuSpec& gpu) {
  const double m = fast_memory_elements(problem, gpu);
  const auto dim = static_cast<double>(problem.head_dim), keys = static_cast<double>(problem.seq_kv);
  return order.find("/M") == std::string_view::npos || (m >= dim && m <= keys * dim);
}

Sentence order_text(std::string_view order, const AttentionProblem& problem) {
  return problem.mask ? phrase("{} for dense attention", order) : Sentence(std::string(order));
}

bool has_access_count(std::string_view algorithm) {
  return find_counted(algorithm) != nullptr;
}

AccessCount count_accesses(std::string_view algorithm, const AttentionProblem& problem, const TileShape& tile,
                           double fast_memory_elements) {
  const Sums sums(problem, tile);
  Counter counter(problem, sums);
  const CountedAlgorithm* row = find_counted(algorithm);
  assert(row != nullptr);
  row->count(counter, sums, tile, fast_memory_elements);
  counter.count().algorithm = row->id;
  return counter.finish(flops_of(sums));
}

IoComplexity io_complexity(const AttentionProblem& problem, const TileShape& tile, const GpuSpec& gpu) {
  IoComplexity result;
  const Sums sums(problem, tile);
  const double m = fast_memory_elements(problem, gpu);
  result.fast_memory_elements = m;
  for (const CountedAlgorithm& row : counted) result.counts.push_back(count_accesses(row.id, problem, tile, m));
  result.flops = flops_of(sums);
  result.compulsory_elements =
      2 * sums.dim * (sums.planes * sums.queries + static_cast<double>(problem.kv_planes()) * sums.all_keys);
  result.lower_bound_elements = sums.planes * sums.queries * sums.all_keys * sums.dim * sums.dim / m;
  result.bound_applies = order_holds("1/M", problem, gpu);
  const double pairs =
      static_cast<double>(ceil_div(problem.seq_q, tile.block_q)) * static_cast<double>(ceil_div(problem.seq_kv, tile.block_kv));
  result.kept_fraction = static_cast<double>(visit_sums(problem, tile).pairs) / pairs;
  result.crossover_elements = smallest_memory(problem, result.counts.front().bytes);
  result.crossover_leading = 3 * sums.dim * sums.dim;
  return result;
}

}  // namespace tilescope
