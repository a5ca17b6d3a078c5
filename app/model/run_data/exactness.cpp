// Executes both programs of a race and measures how far their outputs are from float64.
#include "app/model/run_data/exactness.h"

#include <algorithm>
#include <cmath>

#include "sim/analysis/outcome.h"
#include "sim/numerics/program_reference.h"

namespace tilescope {

namespace {

/// Roundings that a result may be away from float64: of P, of the rescaled sums, and of O itself.
constexpr double most_roundings = 4;
/// Multiplications of one product over all planes: a run takes about a second.
constexpr std::int64_t most_work = std::int64_t{1} << 24;
/// Elements of O that are kept and drawn.
constexpr std::int64_t most_elements = std::int64_t{1} << 16;

Tensor output_of(const Simulation& run) {
  for (const Tensor tensor : run.program->outputs())
    if (tensor.means(Meaning::output)) return tensor;
  return {};
}

/// Both runs are of one forward problem and write O.
bool have_one_output(const Simulation& first, const Simulation& second) {
  return output_of(first) && output_of(second) && first.request.problem.pass == Pass::forward &&
         first.request.problem == second.request.problem;
}

bool is_small_enough(const AttentionProblem& problem, std::int64_t queries, std::int64_t keys) {
  return queries * problem.head_dim <= most_elements && problem.query_planes() * queries * keys * problem.head_dim <= most_work;
}

double largest_difference(const Matrix& a, const Matrix& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(a.values[i]) - static_cast<double>(b.values[i])));
  return largest;
}

/// Returns the distance between neighbouring values of `type` around `value`.
double spacing_at(DataType type, double value) {
  const int bits = type == DataType::fp16 ? 10 : type == DataType::bf16 ? 7 : 23;
  return value > 0 ? std::ldexp(1.0, std::ilogb(value) - bits) : 0;
}

}  // namespace

bool Exactness::same_answer() const {
  return std::max({first_error, second_error, between}) <= most_roundings * rounding;
}

bool can_compare_outputs(const Simulation& first, const Simulation& second) {
  const AttentionProblem& problem = first.request.problem;
  return have_one_output(first, second) && is_small_enough(problem, problem.seq_q, problem.seq_kv);
}

std::optional<std::int64_t> queries_that_can_be_compared(const Simulation& first, const Simulation& second) {
  const AttentionProblem& problem = first.request.problem;
  if (!have_one_output(first, second) || can_compare_outputs(first, second)) return std::nullopt;
  std::int64_t queries = problem.seq_q, keys = problem.seq_kv;
  while (queries > 0 && !is_small_enough(problem, queries, keys)) {
    queries /= 2;
    keys = std::max<std::int64_t>(1, keys / 2);
  }
  return queries;
}

Result<Exactness> compare_outputs(const Simulation& first, const Simulation& second, const InputSource& inputs,
                                  const Progress& progress) {
  Exactness exact;
  auto made = run_plane(*first.program, inputs, 0, output_of(first), progress);
  if (!made) return made.error();
  exact.first = std::move(*made);
  made = run_plane(*second.program, inputs, 0, output_of(second), progress);
  if (!made) return made.error();
  exact.second = std::move(*made);
  exact.reference = reference_plane(*second.program, inputs, 0, output_of(second));
  exact.first_error = largest_difference(exact.first, exact.reference);
  exact.second_error = largest_difference(exact.second, exact.reference);
  exact.between = largest_difference(exact.first, exact.second);
  double largest = 0;
  for (const float value : exact.reference.values) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  exact.rounding = spacing_at(first.request.problem.dtype, largest);
  exact.first_hbm_bytes = static_cast<double>(hbm_bytes(first));
  exact.second_hbm_bytes = static_cast<double>(hbm_bytes(second));
  return exact;
}

}  // namespace tilescope
