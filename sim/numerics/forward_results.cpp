// Caches rows of the reference within a budget, because every key tile reads all of them again.
#include "sim/numerics/forward_results.h"

#include "sim/core/element.h"

namespace tilescope {

namespace {

constexpr std::size_t most_kept_bytes = std::size_t{128} << 20;

}  // namespace

const ForwardResults::Row& ForwardResults::row(std::int32_t plane, std::int32_t query, bool with_probabilities) {
  if (kept_bytes_ > most_kept_bytes) {
    planes_.clear();
    kept_bytes_ = 0;
  }
  auto at = planes_.find(plane);
  if (at == planes_.end()) {
    Plane made{ReferencePlane(problem_, inputs_, plane), std::vector<Row>(static_cast<std::size_t>(problem_.seq_q))};
    at = planes_.emplace(plane, std::move(made)).first;
    kept_bytes_ += static_cast<std::size_t>(problem_.seq_kv * problem_.head_dim * 2) * sizeof(float) +
                   static_cast<std::size_t>(problem_.seq_q) * sizeof(Row);
  }
  Row& kept = at->second.rows[static_cast<std::size_t>(query)];
  if (kept.known && (!with_probabilities || !kept.probabilities.empty())) return kept;
  const ReferenceRow exact = at->second.reference.row(query);
  kept.known = true;
  kept.log_sum_exp = static_cast<float>(exact.log_sum_exp);
  kept.maximum = static_cast<float>(exact.maximum);
  kept.sum = static_cast<float>(exact.sum);
  kept.output.assign(exact.output.begin(), exact.output.end());
  if (with_probabilities) kept.probabilities.assign(exact.probabilities.begin(), exact.probabilities.end());
  kept_bytes_ += (kept.output.size() + kept.probabilities.size()) * sizeof(float);
  return kept;
}

Matrix ForwardResults::tile(const TileRef& tile) {
  const Tensor tensor = tile.tensor;
  const bool is_p = tensor.means(Meaning::probability), is_o = tensor.means(Meaning::output);
  Matrix result(tile.rows, tile.cols);
  for (int r = 0; r < tile.rows; ++r) {
    const Row& from = row(tile.plane, tile.row + r, is_p);
    for (int c = 0; c < tile.cols; ++c) {
      const auto col = static_cast<std::size_t>(tile.col + c);
      result.at(r, c) = is_p                             ? from.probabilities[col]
                        : is_o                           ? from.output[col]
                        : tensor.means(Meaning::row_max) ? from.maximum
                        : tensor.means(Meaning::row_sum) ? from.sum
                                                         : from.log_sum_exp;
    }
  }
  round_all(type_of(tensor, problem_.dtype), result.values);
  return result;
}

}  // namespace tilescope
