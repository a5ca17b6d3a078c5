// Sweep: one number of a request runs through a range; for each value and each algorithm the bytes and the time, beside the theory.
//
//   "seq=256:65536:x2" ── parse_sweep_axis() ──► SweepAxis ── request_at() ──► SimulationRequest ── simulate_outcome() ──►
//   SweepResult
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/analysis/io_complexity.h"
#include "sim/analysis/outcome.h"

namespace tilescope {

/// A number that can be swept beside the keys of a GPU.
struct SweepKey {
  std::string_view key;      // "seq", "head_dim", …
  std::string_view meaning;  // one sentence
  std::int64_t minimum = 1, maximum = 1;
};
/// seq (queries, and keys too where they are as many), seq_kv, head_dim, batch, heads, block_q, block_kv, stages, shared_bytes (M:
/// the shared memory that a block can have).
std::span<const SweepKey> sweep_keys();

struct SweepAxis {
  std::string key = "seq";     // of sweep_keys() or of spec_keys()
  std::vector<double> values;  // rising
  bool operator==(const SweepAxis&) const = default;
};

/// "seq=256:65536:x2" (times 2), "head_dim=32:256:+32" (32 more), "seq=256:4096" (times 2), "block_q=16,32,128" (just these).
/// Errors  an unknown key, no range, not a number, a range that runs backward or never ends, values the key cannot have, over 200.
Result<SweepAxis> parse_sweep_axis(std::string_view text);
/// The axis as parse_sweep_axis() reads it: "seq=256,512,1024".
std::string to_string(const SweepAxis& axis);

struct SweepRequest {
  SimulationRequest base;  // its algorithm is not used
  std::vector<std::string> algorithms;
  SweepAxis axis;
  std::size_t size() const { return algorithms.size() * axis.values.size(); }
};
bool same_sweep(const SweepRequest& a, const SweepRequest& b);

/// The request of one point. A tile of the base that is swept over, or that the axis would make meaningless, gives way to the
/// program's own.
/// Errors  an algorithm that is unknown; a value that the key cannot have.
Result<SimulationRequest> request_at(const SweepRequest& sweep, std::string_view algorithm, double value);

struct SweepResult {
  SweepRequest request;
  std::vector<std::optional<Outcome>> points;  // algorithm by algorithm; absent: not simulated yet

  explicit SweepResult(SweepRequest asked) : request(std::move(asked)), points(request.size()) {}
  std::size_t index(std::size_t algorithm, std::size_t value) const { return algorithm * request.axis.values.size() + value; }
  const std::optional<Outcome>& at(std::size_t algorithm, std::size_t value) const { return points[index(algorithm, value)]; }
  std::size_t done() const;
  bool complete() const { return done() == points.size(); }
};

/// The paper's count for a point: what crosses between slow and fast memory. nullopt where the algorithm is none of the paper's.
std::optional<AccessCount> theory_at(const SweepRequest& sweep, std::string_view algorithm, double value);

/// Where HBM traffic comes within a tenth of the paper's count (from below, going up), or leaves it: what the L2 did not hold.
struct L2Parting {
  std::optional<std::size_t> joins;  // first value at which the L2 saves less than a tenth, after one at which it saved more
  double saved_at_end = 0;  // share of the count that the L2 keeps off HBM at the last value; negative where HBM carries more
};
std::optional<L2Parting> l2_parting(const SweepResult& result, std::size_t algorithm);

}  // namespace tilescope
