// Sweep: one number of a request runs through a range. Each value and algorithm gives bytes and time, compared with the theory.
//
//   "seq=256:65536:x2" ── parse_sweep_axis() ──► SweepAxis ── request_at() ──► SimulationRequest
//                                                                  └── simulate_outcome() ──► SweepResult
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/io_complexity.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

/// A number of the request that can be swept. The keys of a GPU can be swept too.
struct SweepKey {
  std::string_view key;      // "seq", "head_dim", …
  std::string_view meaning;  // one sentence
  std::int64_t minimum = 1, maximum = 1;
};
/// Returns the sweep keys: seq (queries, and keys too if there are as many), seq_kv, head_dim, batch, heads, kv_heads, block_q,
/// block_kv, stages, and shared_bytes (M, the most shared memory of a block).
std::span<const SweepKey> sweep_keys();

struct SweepAxis {
  std::string key = "seq";     // of sweep_keys() or of spec_keys()
  std::vector<double> values;  // ascending
  bool operator==(const SweepAxis&) const = default;
};

/// Parses "seq=256:65536:x2" (factor 2), "head_dim=32:256:+32" (step 32), "seq=256:4096" (factor 2) or "block_q=16,32,128" (list).
/// Errors  an unknown key, no range, not a number, a range that is backward or infinite, a value out of range, over 200 values
Result<SweepAxis> parse_sweep_axis(std::string_view text);
/// Returns the axis as parse_sweep_axis() reads it: "seq=256,512,1024".
std::string to_string(const SweepAxis& axis);

/// What is asked of every point's tile. The rest is the program's own, which can differ from point to point.
struct PartOfTile {
  std::optional<std::int64_t> block_q, block_kv, stages;
  bool empty() const { return !block_q && !block_kv && !stages; }
  bool operator==(const PartOfTile&) const = default;
};

struct SweepRequest {
  SimulationRequest base;     // its algorithm is not used
  PartOfTile tile_part = {};  // where the base has no tile
  std::vector<std::string> algorithms;
  SweepAxis axis;
  bool keeps_kv_heads = false;  // a sweep over heads leaves the key heads as they are, also where there are as many
  std::size_t size() const { return algorithms.size() * axis.values.size(); }
};
bool same_sweep(const SweepRequest& a, const SweepRequest& b);

/// Returns the request of one point. The program's default replaces the tile of the base if the axis would make it meaningless.
/// Errors  an unknown algorithm; a value that the key cannot have
Result<SimulationRequest> request_at(const SweepRequest& sweep, std::string_view algorithm, double value);

/// Returns the value of a key in a run that was simulated; nullopt for an unknown key.
std::optional<double> sweep_value_of(const Simulation& run, std::string_view key);

struct SweepResult {
  SweepRequest request;
  std::vector<std::optional<Outcome>> points;  // algorithm by algorithm; absent until simulated

  explicit SweepResult(SweepRequest asked) : request(std::move(asked)), points(request.size()) {}
  std::size_t index(std::size_t algorithm, std::size_t value) const { return algorithm * request.axis.values.size() + value; }
  const std::optional<Outcome>& at(std::size_t algorithm, std::size_t value) const { return points[index(algorithm, value)]; }
  std::size_t done() const;
  bool complete() const { return done() == points.size(); }
};

/// Returns the paper's access count for a point; nullopt if the algorithm has none.
std::optional<AccessCount> theory_at(const SweepRequest& sweep, std::string_view algorithm, double value);

/// Where the L2 stops helping: from there on, HBM traffic is within a tenth of the paper's count, which has no L2.
struct L2Parting {
  std::optional<std::size_t> joins;  // first value from which the L2 saves less than a tenth, after one at which it saved more
  double saved_at_end = 0;           // share of the count that the L2 saves at the last value; negative if HBM carries more
};
std::optional<L2Parting> l2_parting(const SweepResult& result, std::size_t algorithm);

}  // namespace tilescope
