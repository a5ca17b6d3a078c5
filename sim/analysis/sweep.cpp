// Parses ranges, makes the request of each point, and computes the theory for it.
#include "sim/analysis/sweep.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::size_t most_values = 200;
constexpr int most_steps = 100'000;  // a step may be too small to change the value at all
constexpr std::int64_t largest_size = (std::int64_t{1} << 31) - 1;

constexpr std::array keys = {
    SweepKey{"seq", "queries, and keys and values too where there are as many", 1, largest_size},
    SweepKey{"seq_kv", "keys and values", 1, largest_size},
    SweepKey{"head_dim", "numbers in a query, key or value", 1, 256},
    SweepKey{"batch", "batch size", 1, largest_size},
    SweepKey{"heads", "query heads, and key heads too where there are as many", 1, largest_size},
    SweepKey{"kv_heads", "key and value heads", 1, largest_size},
    SweepKey{"block_q", "query rows of a tile, Br", 1, TileShape::most_rows},
    SweepKey{"block_kv", "key rows of a tile, Bc", 1, TileShape::most_rows},
    SweepKey{"stages", "buffers of a ring of K and V", 1, ProgramTile::most_stages},
    SweepKey{"shared_bytes", "M: shared memory that a block can have, in bytes", 256, std::int64_t{1} << 30},
};

const SweepKey* find_key(std::string_view key) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const SweepKey& row) { return row.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

struct Range {
  double minimum = 0, maximum = 0;
  bool whole = true;
};

Result<Range> range_of(std::string_view key) {
  if (const SweepKey* row = find_key(key)) return Range{static_cast<double>(row->minimum), static_cast<double>(row->maximum), true};
  if (const SpecKey* row = find_spec_key(key)) return Range{row->minimum, row->maximum, row->whole};
  std::vector<std::string_view> names;
  names.reserve(std::size(keys) + spec_keys().size());
  for (const SweepKey& row : keys) names.push_back(row.key);
  for (const SpecKey& row : spec_keys()) names.push_back(row.key);
  const auto nearest = nearest_name(key, names);
  if (nearest) return refuse("nothing called '{}' can be swept: did you mean {}?", printable(key), *nearest);
  return refuse(
      "nothing called '{}' can be swept: there are seq, seq_kv, head_dim, batch, heads, kv_heads, block_q, block_kv, stages, "
      "shared_bytes and every key of {}",
      printable(key), Setting::set);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

Error not_a_number(std::string_view key, std::string_view text) {
  return refuse("the range of {} has '{}', which is not a number; example: 16:8192:x2", key, printable(text));
}

/// Expands from:to, from:to:xF or from:to:+S.
Result<std::vector<double>> expand(std::string_view key, std::span<const std::string_view> parts, bool whole) {
  const auto from = number(parts[0]), to = number(parts[1]);
  if (!from) return not_a_number(key, parts[0]);
  if (!to) return not_a_number(key, parts[1]);
  if (*to < *from)
    return refuse("the range of {} runs backward, from {:.12g} to {:.12g}: give the smaller one first", key, *from, *to);
  const std::string_view how = parts.size() > 2 ? parts[2] : "x2";
  const bool times = how.starts_with('x'), plus = how.starts_with('+');
  const auto by = times || plus ? number(how.substr(1)) : std::nullopt;
  if (!by) return refuse("the range of {} ends in '{}': give a factor like x2 or a step like +32", key, printable(how));
  if (times ? *by <= 1 || *from <= 0 : *by <= 0)
    return refuse("the range of {} never reaches {:.12g} from {:.12g} by {}: use a {}", key, *to, *from, printable(how),
                  times ? phrase("factor above 1 and a start above 0") : phrase("step above 0"));
  std::vector<double> values;
  double value = *from;
  for (int step = 0; value <= *to * (1 + 1e-9); ++step) {
    const double kept = whole ? std::round(value) : value;
    if (values.empty() || kept > values.back()) values.push_back(kept);
    value = times ? value * *by : value + *by;
    if (values.size() > most_values || step == most_steps)
      return times ? refuse("the range of {} has over {} values: use a larger factor", key, most_values)
                   : refuse("the range of {} has over {} values: use a larger step", key, most_values);
  }
  return values;
}

Result<std::vector<double>> listed(std::string_view key, std::string_view text) {
  std::vector<double> values;
  for (const std::string_view part : split(text, ',')) {
    const auto value = number(part);
    if (!value) return not_a_number(key, part);
    values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.size() > most_values) return refuse("{} has {} values: give at most {}", key, values.size(), most_values);
  return values;
}

void set_problem(SimulationRequest& request, std::string_view key, std::int64_t value, bool keeps_kv_heads) {
  AttentionProblem& p = request.problem;
  if (key == "seq") {
    if (p.seq_kv == p.seq_q) p.seq_kv = value;
    p.seq_q = value;
  } else if (key == "seq_kv") {
    p.seq_kv = value;
  } else if (key == "head_dim") {
    p.head_dim = value;
  } else if (key == "batch") {
    p.batch = value;
  } else if (key == "heads") {
    if (!keeps_kv_heads && p.kv_heads == p.heads) p.kv_heads = value;
    p.heads = value;
  } else if (key == "kv_heads") {
    p.kv_heads = value;
  }
}

}  // namespace

std::span<const SweepKey> sweep_keys() {
  return keys;
}

Result<SweepAxis> parse_sweep_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  SweepAxis axis;
  axis.key = std::string(text.substr(0, equals));
  const auto range = range_of(axis.key);
  if (!range) return range.error();
  if (equals == std::string_view::npos || equals + 1 == text.size())
    return refuse("{} has no range: write {}=FROM:TO:x2, or {}=A,B,C", axis.key, axis.key, axis.key);
  const std::string_view values = text.substr(equals + 1);
  const auto parts = split(values, ':');
  if (parts.size() > 3) return refuse("the range of {} is '{}': write FROM:TO:x2 or FROM:TO:+32", axis.key, printable(values));
  auto made = parts.size() == 1 ? listed(axis.key, values) : expand(axis.key, parts, range->whole);
  if (!made) return made.error();
  for (double value : *made) {
    if (!(value >= range->minimum && value <= range->maximum))
      return refuse("{} cannot be {:.12g}: it must be from {:.12g} to {:.12g}", axis.key, value, range->minimum, range->maximum);
    if (range->whole && std::trunc(value) != value)
      return refuse("{} cannot be {:.12g}: it must be a whole number", axis.key, value);
  }
  axis.values = std::move(*made);
  return axis;
}

std::string to_string(const SweepAxis& axis) {
  std::string text = axis.key + "=";
  for (std::size_t i = 0; i < axis.values.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ",", axis.values[i]);
  return text;
}

bool same_sweep(const SweepRequest& a, const SweepRequest& b) {
  SimulationRequest base = a.base;
  base.algorithm = b.base.algorithm;
  return a.algorithms == b.algorithms && a.axis == b.axis && a.keeps_kv_heads == b.keeps_kv_heads && a.tile_part == b.tile_part &&
         same_request(base, b.base);
}

std::optional<double> sweep_value_of(const Simulation& run, std::string_view key) {
  const AttentionProblem& p = run.request.problem;
  const ProgramTile& tile = run.program->tile();
  const std::pair<std::string_view, std::int64_t> numbers[] = {
      {"seq", p.seq_q},         {"seq_kv", p.seq_kv},      {"head_dim", p.head_dim},    {"batch", p.batch},     {"heads", p.heads},
      {"kv_heads", p.kv_heads}, {"block_q", tile.block_q}, {"block_kv", tile.block_kv}, {"stages", tile.stages}};
  for (const auto& [name, number] : numbers)
    if (name == key) return static_cast<double>(number);
  const SpecKey* const row = find_spec_key(key == "shared_bytes" ? "sm.shared_bytes_per_block" : key);
  return row != nullptr ? std::optional(run.request.gpu.*row->member) : std::nullopt;
}

Result<SimulationRequest> request_at(const SweepRequest& sweep, std::string_view algorithm, double value) {
  const auto program = find_program(algorithm, sweep.base.problem.pass);
  if (!program) return program.error();
  SimulationRequest request = sweep.base;
  request.algorithm = std::string(algorithm);
  const std::string& key = sweep.axis.key;
  if (key == "shared_bytes") {
    // An SM keeps its reserve beyond what a block can have. The tile follows M.
    const double beyond = request.gpu.sm_shared_bytes - request.gpu.sm_shared_bytes_per_block;
    if (const auto set = set_spec_value(request.gpu, fmt::format("sm.shared_bytes={}", value + std::max(0.0, beyond))); !set)
      return set.error();
    if (const auto set = set_spec_value(request.gpu, fmt::format("sm.shared_bytes_per_block={}", value)); !set) return set.error();
    request.tile.reset();
  } else if (find_key(key) != nullptr) {
    if (key == "head_dim") request.tile.reset();  // a kernel has a tile for each head dimension
    set_problem(request, key, static_cast<std::int64_t>(value), sweep.keeps_kv_heads);
    if (key == "block_q" || key == "block_kv" || key == "stages") {
      ProgramTile tile = chosen_tile(request).value_or(ProgramTile{});
      (key == "block_q" ? tile.block_q : key == "block_kv" ? tile.block_kv : tile.stages) = static_cast<std::int64_t>(value);
      request.tile = tile;
    }
  } else if (const auto set = set_spec_value(request.gpu, fmt::format("{}={}", key, value)); !set) {
    return set.error();
  }
  if (const auto held = check(request.gpu); !held) return held.error();
  if (const PartOfTile& part = sweep.tile_part; !part.empty()) {
    ProgramTile tile = chosen_tile(request).value_or(ProgramTile{});
    tile.block_q = part.block_q.value_or(tile.block_q);
    tile.block_kv = part.block_kv.value_or(tile.block_kv);
    tile.stages = part.stages.value_or(tile.stages);
    request.tile = tile;
  }
  return request;
}

std::size_t SweepResult::done() const {
  return static_cast<std::size_t>(std::count_if(points.begin(), points.end(), [](const auto& point) { return point.has_value(); }));
}

std::optional<AccessCount> theory_at(const SweepRequest& sweep, std::string_view algorithm, double value) {
  if (!has_access_count(algorithm) || sweep.base.problem.pass == Pass::both) return std::nullopt;  // it counts one pass
  const auto request = request_at(sweep, algorithm, value);
  if (!request || !check(request->problem)) return std::nullopt;
  const double memory = request->gpu.sm_shared_bytes_per_block / element_bytes(request->problem.dtype);
  return count_accesses(algorithm, request->problem, chosen_tile(*request).value_or(ProgramTile{}), memory);
}

std::optional<L2Parting> l2_parting(const SweepResult& result, std::size_t algorithm) {
  constexpr double within = 0.9;
  const auto& values = result.request.axis.values;
  L2Parting parting;
  bool any = false, saved = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& point = result.at(algorithm, i);
    const auto theory = theory_at(result.request, result.request.algorithms[algorithm], values[i]);
    if (!point || !point->done() || !theory || theory->bytes <= 0) continue;
    const double share = point->hbm() / theory->bytes;
    any = true;
    parting.saved_at_end = 1 - share;
    if (share < within) saved = true;
    if (share >= within && saved && !parting.joins) parting.joins = i;
    if (share < within) parting.joins.reset();
  }
  return any ? std::optional(parting) : std::nullopt;
}

}  // namespace tilescope
