// Generates Q, K, V, dO and S with a counter-based generator, so that any element can be computed on its own.
#include "sim/numerics/inputs.h"

#include <algorithm>
#include <cmath>

#include "sim/core/element.h"
#include "sim/core/refuse.h"
#include "sim/numerics/exact_math.h"
#include "sim/numerics/forward_results.h"
#include "sim/programs/backward_tensors.h"

namespace tilescope {

namespace {

/// The output function of SplitMix64: every bit of the input reaches every bit of the result.
std::uint64_t mixed(std::uint64_t bits) {
  bits += 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

std::uint64_t row_key(std::uint64_t seed, Tensor tensor, std::int64_t plane, std::int64_t row) {
  std::uint64_t key = mixed(seed);
  key = mixed(key ^ (static_cast<std::uint64_t>(tensor->meaning) + (tensor->gradient ? meaning_count : 0) + 1));
  key = mixed(key ^ static_cast<std::uint64_t>(plane));
  return mixed(key ^ static_cast<std::uint64_t>(row));
}

struct NormalPair {
  double even, odd;  // values of an even column and of the next one
};

/// Returns two normal values from one 64-bit hash by the Box-Muller transform: 32 bits for the radius, 32 for the angle.
NormalPair normal_pair(std::uint64_t key, std::int64_t even_col) {
  const std::uint64_t bits = mixed(key + static_cast<std::uint64_t>(even_col));
  constexpr double per_unit = 1.0 / 4294967296.0;
  const double radius_seed = (static_cast<double>(static_cast<std::int64_t>(bits >> 32)) + 0.5) * per_unit;
  const double turns = static_cast<double>(static_cast<std::int64_t>(bits & 0xffffffffU)) * per_unit;
  const double radius = std::sqrt(-2 * exact_log(radius_seed));
  const CosSin direction = exact_cos_sin(turns);
  return {radius * direction.cosine, radius * direction.sine};
}

void fill_normal(std::uint64_t key, std::int64_t first_col, int count, double spread, float* out) {
  for (int c = 0; c < count;) {
    const std::int64_t col = first_col + c;
    const NormalPair pair = normal_pair(key, col & ~std::int64_t{1});
    if ((col & 1) == 0) out[c++] = static_cast<float>(spread * pair.even);
    if (c < count) out[c++] = static_cast<float>(spread * pair.odd);
  }
}

const Matrix* user_matrix(const InputSource& inputs, Tensor tensor) {
  if (tensor.means(Meaning::query)) return inputs.q.get();
  if (tensor.means(Meaning::key)) return inputs.k.get();
  if (tensor.means(Meaning::value)) return inputs.v.get();
  if (tensor.means_as(tensors::d_o)) return inputs.d_o.get();
  return nullptr;
}

/// Returns a tile of Q, K, V or dO. Elements outside a user's matrix are 0.
Matrix given_tile(const InputSource& inputs, const AttentionProblem& problem, const TileRef& tile) {
  Matrix result(tile.rows, tile.cols);
  // Only the program has the values of its tables and of a dense mask.
  if (tile.tensor.means(Meaning::table) || tile.tensor.means(Meaning::bias)) return result;
  const Matrix* user = user_matrix(inputs, tile.tensor);
  const std::int64_t rows_of_plane = tile.tensor->rows == Axis::query ? problem.seq_q : problem.seq_kv;
  const bool every_plane_alike = user == nullptr || user->rows <= rows_of_plane;
  const auto first = static_cast<int>(every_plane_alike ? 0 : tile.plane * rows_of_plane);
  const auto end = static_cast<int>(user == nullptr ? 0 : std::min<std::int64_t>(user->rows, first + rows_of_plane));
  for (int r = 0; r < tile.rows; ++r) {
    float* out = &result.values[static_cast<std::size_t>(r) * static_cast<std::size_t>(tile.cols)];
    if (user != nullptr) {
      for (int c = 0; c < tile.cols; ++c) {
        const bool inside = first + tile.row + r < end && tile.col + c < user->cols;
        out[c] = inside ? user->at(first + tile.row + r, tile.col + c) : 0.0F;
      }
      continue;
    }
    fill_normal(row_key(inputs.seed, tile.tensor, tile.plane, tile.row + r), tile.col, tile.cols, inputs.spread, out);
  }
  round_all(type_of(tile.tensor, problem.dtype), result.values);
  return result;
}

/// Returns a tile of S = scale * Q K^T, computed in float64. Each sum runs in order over the head dimension, so that an element
/// has the same bits in every tile.
Matrix score_tile(const InputSource& inputs, const AttentionProblem& problem, const TileRef& tile) {
  const auto dim = static_cast<std::int32_t>(problem.head_dim);
  const auto kv_plane = static_cast<std::int32_t>(problem.kv_plane_of(tile.plane));
  const Matrix q = given_tile(inputs, problem, {tensors::q, tile.plane, tile.row, tile.rows, 0, dim});
  const Matrix k = given_tile(inputs, problem, {tensors::k, kv_plane, tile.col, tile.cols, 0, dim});
  const auto cols = static_cast<std::size_t>(tile.cols);
  std::vector<double> k_transposed(static_cast<std::size_t>(dim) * cols);
  for (int c = 0; c < tile.cols; ++c)
    for (int t = 0; t < dim; ++t) k_transposed[static_cast<std::size_t>(t) * cols + static_cast<std::size_t>(c)] = k.at(c, t);

  Matrix result(tile.rows, tile.cols);
  std::vector<double> sums(cols);
  for (int r = 0; r < tile.rows; ++r) {
    sums.assign(cols, 0.0);
    for (int t = 0; t < dim; ++t) {
      const double factor = q.at(r, t);
      const double* row = &k_transposed[static_cast<std::size_t>(t) * cols];
      for (std::size_t c = 0; c < cols; ++c) sums[c] += factor * row[c];
    }
    for (int c = 0; c < tile.cols; ++c) result.at(r, c) = static_cast<float>(problem.scale() * sums[static_cast<std::size_t>(c)]);
  }
  round_all(type_of(tile.tensor, problem.dtype), result.values);
  return result;
}

}  // namespace

Matrix input_tile(const InputSource& inputs, const AttentionProblem& problem, const TileRef& tile) {
  if (ForwardResults::has(tile.tensor)) return ForwardResults(problem, inputs).tile(tile);
  return tile.tensor.means(Meaning::score) ? score_tile(inputs, problem, tile) : given_tile(inputs, problem, tile);
}

float InputSource::value(const AttentionProblem& problem, Tensor tensor, std::int64_t plane, std::int64_t row,
                         std::int64_t col) const {
  const TileRef element = {tensor, static_cast<std::int32_t>(plane), static_cast<std::int32_t>(row),
                           1,      static_cast<std::int32_t>(col),   1};
  return input_tile(*this, problem, element).at(0, 0);
}

Status check(const InputSource& inputs, const AttentionProblem& problem) {
  for (Tensor tensor : {tensors::q, tensors::k, tensors::v, tensors::d_o}) {
    const Matrix* user = user_matrix(inputs, tensor);
    if (user == nullptr) continue;
    const std::int64_t rows = tensor->rows == Axis::query ? problem.seq_q : problem.seq_kv;
    const std::int64_t planes = tensor->planes == Planes::query ? problem.query_planes() : problem.kv_planes();
    if ((user->rows != rows && user->rows != planes * rows) || user->cols != problem.head_dim)
      return refuse(
          "the matrix given for {} is {} x {}; the problem needs {} x {}: change the matrix, or the sequence length "
          "and the head dimension",
          to_string(tensor), user->rows, user->cols, rows, problem.head_dim);
  }
  return Done{};
}

bool same_numbers(const InputSource& a, const InputSource& b) {
  const auto same = [](const auto& x, const auto& y) { return x == y || (x != nullptr && y != nullptr && *x == *y); };
  return a.seed == b.seed && a.spread == b.spread && same(a.q, b.q) && same(a.k, b.k) && same(a.v, b.v);
}

}  // namespace tilescope
