// Extracts the outcome of a simulation, and compares requests.
#include "sim/analysis/outcome.h"

#include <algorithm>

#include "sim/analysis/l2_busy.h"
#include "sim/analysis/launch_balance.h"
#include "sim/analysis/memory_over_time.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

Outcome outcome_of(const Simulation& simulation) {
  Outcome out;
  out.tile = simulation.program->tile();
  out.buffers = own_ring(*simulation.program);
  for (std::size_t link = 0; link < link_count; ++link)
    out.bytes[link] = static_cast<double>(simulation.ledger.total(static_cast<Link>(link)).value);
  out.hbm_write_after_flush_bytes = static_cast<double>(simulation.hbm_write_after_flush.value);
  out.hbm_write_queued_bytes = static_cast<double>(simulation.hbm_write_queued.value);
  out.cycles = simulation.cycles.value;
  out.time_ns = simulation.time.value;
  out.balanced_ns = balanced_ns(simulation);
  out.unshared_ns = unshared_ns(simulation);
  out.live_peak_bytes = static_cast<double>(memory_over_time(simulation).peak().value);
  out.flops = static_cast<double>(simulation.flops);
  out.bound = simulation.bound;
  out.utilisation = simulation.utilisation;
  out.sms = simulation.sms;
  const auto longest = std::max_element(simulation.launches.begin(), simulation.launches.end(),
                                        [](const LaunchResult& a, const LaunchResult& b) { return a.cycles < b.cycles; });
  if (longest != simulation.launches.end()) out.blocks_per_sm = longest->blocks_per_sm;
  return out;
}

double needed_flops(const AttentionProblem& problem, std::span<const double> computed) {
  if (problem.mask) return computed.empty() ? 0 : *std::min_element(computed.begin(), computed.end());
  double scores = static_cast<double>(problem.seq_q) * static_cast<double>(problem.seq_kv);
  if (problem.causal) {
    scores = 0;
    for (std::int64_t row = 0; row < problem.seq_q; ++row) scores += static_cast<double>(problem.visible_keys(row));
  }
  return flops_per_score(problem) * static_cast<double>(problem.query_planes()) * scores;
}

std::int64_t hbm_bytes(const Simulation& simulation) {
  return simulation.ledger.total(Link::hbm_read).value + simulation.ledger.total(Link::hbm_write).value;
}

std::int64_t hbm_bytes(const Simulation& simulation, Tensor tensor) {
  return simulation.ledger.total(tensor, Link::hbm_read).value + simulation.ledger.total(tensor, Link::hbm_write).value;
}

std::int64_t dirty_bytes_at_end(const Simulation& simulation) {
  return simulation.hbm_write_after_flush.value - simulation.ledger.total(Link::hbm_write).value;
}

std::int64_t dirty_bytes_at_end(const Simulation& simulation, Tensor tensor) {
  return simulation.trace->bins().l2.back().dirty[tensor.index()];
}

Result<Outcome> outcome_of(const Result<std::shared_ptr<const Simulation>>& made, const SimulationRequest& request) {
  if (made) return outcome_of(**made);
  if (made.error().kind == Error::Kind::cancelled) return made.error();
  Outcome refused;
  refused.refusal = made.error().sentence;
  if (request.tile) refused.tile = *request.tile;
  return refused;
}

Result<Outcome> simulate_outcome(const SimulationRequest& request, const Progress& progress) {
  SimulationRequest totals = request;
  totals.keeps_intervals = false;
  return outcome_of(simulate(totals, progress), request);
}

bool same_numbers(const GpuSpec& a, const GpuSpec& b) {
  return a.sm_groups == b.sm_groups &&
         std::all_of(spec_keys().begin(), spec_keys().end(), [&](const SpecKey& key) { return a.*key.member == b.*key.member; });
}

bool same_request(const SimulationRequest& a, const SimulationRequest& b) {
  // Masks made twice from one choice are two objects, and mean the same.
  AttentionProblem of_a = a.problem, of_b = b.problem;
  if (!a.masking.empty() && a.masking == b.masking) {
    of_a.mask = of_b.mask = nullptr;
    of_a.score_change = of_b.score_change = nullptr;
  }
  return a.algorithm == b.algorithm && of_a == of_b && a.masking == b.masking && a.tile == b.tile &&
         a.blocks_per_sm == b.blocks_per_sm && a.block_order == b.block_order && a.key_order == b.key_order &&
         a.gpu.id == b.gpu.id && same_numbers(a.gpu, b.gpu);
}

}  // namespace tilescope
