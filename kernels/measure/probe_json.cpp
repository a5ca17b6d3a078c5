// Converts probes and bandwidth records to JSON and back.
#include "kernels/measure/probe_json.h"

#include "kernels/measure/json_fields.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr std::string_view probe_schema = "tilescope.probe/2", bandwidth_schema = "tilescope.bandwidth/1";
constexpr int record_list = 2;  // outer levels that are written with one member a line

}  // namespace

void elements(auto& fields, SameAs<ProbedBlock> auto& b) {
  fields(b.launch), fields(b.block), fields(b.sm), fields(b.start_ns), fields(b.end_ns);
}

void elements(auto& fields, SameAs<ProbeInterval> auto& i) {
  fields(i.stage), fields(i.warp), fields(i.iteration), fields(i.start_cycles), fields(i.end_cycles);
}

void elements(auto& fields, SameAs<ProbedStep> auto& s) {
  fields(s.m), fields(s.l), fields(s.alpha);
}

void elements(auto& fields, SameAs<ProbedPair> auto& p) {
  fields(p.s), fields(p.p), fields(p.d_p), fields(p.d_s);
}

void elements(auto& fields, SameAs<BandwidthSample> auto& s) {
  fields(s.start_ns), fields(s.end_ns), fields(s.read_bytes), fields(s.write_bytes);
}

void describe(auto& fields, SameAs<ProbedSmBlock> auto& b) {
  fields("launch", b.launch), fields("block", b.block), fields("start_cycles", b.start_cycles), fields("end_cycles", b.end_cycles);
  fields("intervals", b.intervals);
}

void describe(auto& fields, SameAs<ProbedLaunch> auto& l) {
  fields("name", l.name), fields("plain_ns", l.plain_ns), fields("probed_ns", l.probed_ns);
}

void describe(auto& fields, SameAs<ProbeResult> auto& p) {
  fields("kernel", p.kernel), fields("device", p.device), fields("date", p.date), fields("commit", p.commit);
  fields("problem", p.problem), fields("tile", p.tile), fields("seed", p.seed);
  fields("sm_clock_hz", p.sm_clock_hz), fields("plain_ns", p.plain_ns), fields("probed_ns", p.probed_ns);
  fields("launches", p.launches);
  fields("sm", p.sm), fields("row_launch", p.row_launch), fields("block", p.block), fields("row", p.row);
  fields("plane", p.plane), fields("query", p.query);
  fields("steps", p.steps), fields.unless_empty("pairs", p.pairs), fields("blocks", p.blocks),
      fields.unless_empty("roles", p.roles), fields("sm_blocks", p.sm_blocks);
}

void describe(auto& fields, SameAs<BandwidthRecord> auto& r) {
  fields("kernel", r.kernel), fields("device", r.device), fields("date", r.date), fields("commit", r.commit);
  fields("problem", r.problem), fields("tile", r.tile), fields("interval_ns", r.interval_ns), fields("kernel_ns", r.kernel_ns);
  fields("samples", r.samples);
}

namespace {

/// Whether the pairs are those of the keys that the row sees; a forward kernel has none.
Status check_pairs(const ProbeResult& probe) {
  if (probe.pairs.empty()) return Done{};
  const AttentionProblem& problem = probe.problem;
  if (problem.pass != Pass::backward)
    return refuse("the probe is not sound: it has pairs, and its pass is {}", to_string(problem.pass));
  if (probe.plane >= problem.query_planes() || probe.query >= problem.seq_q)
    return refuse("the probe is not sound: query {} of head {} is not there", probe.query, probe.plane);
  const std::int64_t keys = problem.visible_keys(probe.query);
  if (std::ssize(probe.pairs) != keys)
    return refuse("the probe is not sound: it has {} pairs, and the row sees {} keys", probe.pairs.size(), keys);
  return Done{};
}

}  // namespace

std::string to_json(const ProbeResult& probe) {
  return recorded_text(probe, probe_schema, record_list);
}
Result<ProbeResult> probe_from_json(std::string_view text) {
  Result<ProbeResult> probe = recorded_from<ProbeResult>(text, probe_schema, "probe");
  if (!probe) return probe;
  constexpr std::size_t most_warps = 32;  // of a block
  const std::size_t lines = probe->roles.empty() ? most_warps : probe->roles.size();
  for (const ProbedSmBlock& block : probe->sm_blocks) {
    if (static_cast<std::size_t>(block.launch) >= probe->launches.size())
      return refuse("the probe is not sound: block {} is of launch {}, and there are {}", block.block, block.launch,
                    probe->launches.size());
    for (const ProbeInterval& interval : block.intervals)
      if (static_cast<std::size_t>(interval.warp) >= lines)
        return refuse("the probe is not sound: block {} has a stage of line {}, and there are {}", block.block, interval.warp,
                      lines);
  }
  if (Status sound = check_pairs(*probe); !sound) return sound.error();
  return probe;
}
std::string to_json(const BandwidthRecord& record) {
  return recorded_text(record, bandwidth_schema, record_list);
}
Result<BandwidthRecord> bandwidth_from_json(std::string_view text) {
  return recorded_from<BandwidthRecord>(text, bandwidth_schema, "bandwidth record");
}

}  // namespace tilescope
