// Checks and names of an attention problem.
#include "sim/core/attention_problem.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/masks/mask.h"

namespace tilescope {

namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 31;  // rows and columns are kept in 32 bits
constexpr double largest_tensor_bytes = 70368744177664.0;     // 2^46: 64 TiB

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

Status check(const AttentionProblem& problem) {
  const struct {
    const char* flag;
    std::int64_t value;
  } sizes[] = {{"--batch", problem.batch}, {"--heads", problem.heads},   {"--kv-heads", problem.kv_heads},
               {"--seq", problem.seq_q},   {"--seq-kv", problem.seq_kv}, {"--head-dim", problem.head_dim}};
  for (const auto& size : sizes) {
    if (size.value < 1) return Error{fmt::format("{} is {}: it must be at least 1", size.flag, size.value)};
    if (size.value >= largest_size) return Error{fmt::format("{} is {}: it must be below 2^31", size.flag, size.value)};
  }
  if (problem.head_dim > 256) return Error{fmt::format("--head-dim is {}: the programs take 1 to 256", problem.head_dim)};
  if (problem.heads % problem.kv_heads != 0)
    return Error{fmt::format("{} heads cannot be shared evenly by {} key-value heads: --heads must be a multiple of --kv-heads",
                             problem.heads, problem.kv_heads)};
  const double planes = static_cast<double>(problem.batch) * static_cast<double>(problem.heads);
  if (planes >= static_cast<double>(largest_size))
    return Error{fmt::format("--batch {} times --heads {} is {:.3g} planes: at most 2^31", problem.batch, problem.heads, planes)};
  const double row_bytes =
      std::max(static_cast<double>(problem.seq_kv), static_cast<double>(problem.head_dim)) * element_bytes(problem.dtype);
  const double widest = planes * static_cast<double>(std::max(problem.seq_q, problem.seq_kv)) * row_bytes;
  if (widest > largest_tensor_bytes)
    return Error{
        fmt::format("batch {} x heads {} x {} x {} is a score matrix of {:.3g} bytes: more than any machine has; "
                    "use a smaller --batch, --heads or --seq",
                    problem.batch, problem.heads, problem.seq_q, problem.seq_kv, widest)};
  return Done{};
}

Status check(const TileShape& tile) {
  if (tile.block_q < 1 || tile.block_q > 4096) return Error{fmt::format("--block-q is {}: it must be 1 to 4096", tile.block_q)};
  if (tile.block_kv < 1 || tile.block_kv > 4096) return Error{fmt::format("--block-kv is {}: it must be 1 to 4096", tile.block_kv)};
  return Done{};
}

}  // namespace tilescope
