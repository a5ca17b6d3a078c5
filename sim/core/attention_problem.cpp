// Checks and names of an attention problem.
#include "sim/core/attention_problem.h"

#include <algorithm>
#include <cmath>

#include "sim/core/mask.h"
#include "sim/core/refuse.h"
#include "sim/core/units.h"

namespace tilescope {

namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 31;  // TileRef holds rows and columns in 32 bits
constexpr double largest_tensor_bytes = 70368744177664.0;     // 2^46: 64 TiB
constexpr double most_scores = 35184372088832.0;              // 2^45: the operations on all of them still fit 64 bits

}  // namespace

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::fp16:
      return "fp16";
    case DataType::bf16:
      return "bf16";
    case DataType::fp32:
      return "fp32";
  }
  return "";
}

std::string_view to_string(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward:
      return "backward";
    case Pass::both:
      return "both";
  }
  return "";
}

std::string_view to_string(PageOrder order) {
  return order == PageOrder::contiguous ? "contiguous" : "shuffled";
}

std::optional<DataType> data_type_from(std::string_view name) {
  for (DataType type : {DataType::fp16, DataType::bf16, DataType::fp32})
    if (name == to_string(type)) return type;
  return std::nullopt;
}

std::optional<Pass> pass_from(std::string_view name) {
  for (Pass pass : {Pass::forward, Pass::backward, Pass::both})
    if (name == to_string(pass)) return pass;
  return std::nullopt;
}

std::optional<PageOrder> page_order_from(std::string_view name) {
  for (PageOrder order : {PageOrder::shuffled, PageOrder::contiguous})
    if (name == to_string(order)) return order;
  return std::nullopt;
}

double AttentionProblem::scale() const {
  return 1.0 / std::sqrt(static_cast<double>(head_dim));
}

std::int64_t AttentionProblem::visible_keys(std::int64_t row, std::int64_t plane) const {
  if (mask) {
    std::int64_t keys = seq_kv;
    while (keys > 0 && !mask->visible(plane, row, keys - 1)) --keys;
    return keys;
  }
  return causal ? std::clamp<std::int64_t>(row + 1 + seq_kv - seq_q, 0, seq_kv) : seq_kv;
}

TileShape mask_block_of(const AttentionProblem& problem, const TileShape& tile) {
  if (problem.mask_block > 0) return {problem.mask_block, problem.mask_block};
  constexpr std::int64_t usual = 128, least = 64;
  const auto divides = [](std::int64_t length) { return length >= least && usual % length == 0; };
  return divides(tile.block_q) && divides(tile.block_kv) ? TileShape{usual, usual} : tile;
}

std::int64_t pages_of_sequence(const AttentionProblem& problem) {
  return ceil_div(problem.seq_kv, problem.page_size);
}

Setting longer_sequence(const AttentionProblem& problem) {
  return problem.seq_kv > problem.seq_q ? Setting::seq_kv : Setting::seq;
}

Status check(const AttentionProblem& problem) {
  const struct {
    Setting setting;
    std::int64_t value;
  } sizes[] = {{Setting::batch, problem.batch}, {Setting::heads, problem.heads},   {Setting::kv_heads, problem.kv_heads},
               {Setting::seq, problem.seq_q},   {Setting::seq_kv, problem.seq_kv}, {Setting::head_dim, problem.head_dim}};
  for (const auto& size : sizes) {
    if (size.value < 1) return refuse("{} is {}: it must be at least 1", size.setting, size.value);
    if (size.value >= largest_size) return refuse("{} is {}: it must be below 2^31", size.setting, size.value);
  }
  if (problem.page_size < 0 || problem.page_size >= largest_size)
    return refuse("{} is {}: it must be from 0 to 2^31 - 1", Setting::page_size, problem.page_size);
  if (problem.head_dim > 256) return refuse("{} is {}: the programs take 1 to 256", Setting::head_dim, problem.head_dim);
  if (problem.heads % problem.kv_heads != 0)
    return refuse("{} heads cannot be shared evenly by {} key-value heads: {} must be a multiple of {}", problem.heads,
                  problem.kv_heads, Setting::heads, Setting::kv_heads);
  const double planes = static_cast<double>(problem.batch) * static_cast<double>(problem.heads);
  if (planes >= static_cast<double>(largest_size))
    return refuse("{} {} times {} {} is {:.3g} planes: it must be below 2^31", Setting::batch, problem.batch, Setting::heads,
                  problem.heads, planes);
  const std::int64_t longest = std::max(problem.seq_q, problem.seq_kv);
  const double tensor_bytes = planes * static_cast<double>(longest * problem.head_dim * element_bytes(problem.dtype));
  if (tensor_bytes > largest_tensor_bytes)
    return refuse(
        "batch {} x heads {} x {} x {} is a tensor of {:.3g} bytes: more than any machine has; use a smaller {}, {} or {}",
        problem.batch, problem.heads, longest, problem.head_dim, tensor_bytes, Setting::batch, Setting::heads,
        longer_sequence(problem));
  const double scores = planes * static_cast<double>(problem.seq_q) * static_cast<double>(problem.seq_kv);
  if (scores > most_scores)
    return refuse(
        "batch {} x heads {} x {} x {} is {:.3g} scores: the simulation counts at most {:.3g}; use a smaller {}, {} or {}",
        problem.batch, problem.heads, problem.seq_q, problem.seq_kv, scores, most_scores, Setting::batch, Setting::heads,
        longer_sequence(problem));
  return Done{};
}

Status check(const TileShape& tile) {
  constexpr std::int64_t most = TileShape::most_rows;
  if (tile.block_q < 1 || tile.block_q > most) return refuse("{} is {}: it must be 1 to {}", Setting::block_q, tile.block_q, most);
  if (tile.block_kv < 1 || tile.block_kv > most)
    return refuse("{} is {}: it must be 1 to {}", Setting::block_kv, tile.block_kv, most);
  return Done{};
}

}  // namespace tilescope
