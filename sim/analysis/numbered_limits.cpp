// Looks for the entry that holds a figure.
#include "sim/analysis/numbered_limits.h"
#include "sim/programs/attention_tensors.h"

#include <algorithm>

namespace tilescope {

namespace {

constexpr std::array hbm_figures = {Figure::hbm_read, Figure::hbm_write, Figure::hbm_write_after_flush};

double bytes_of(const Simulation& simulation, Tensor tensor) {
  return static_cast<double>(tensor_layout(simulation.program->problem(), simulation.program->tile(), tensor).bytes().value);
}

/// Rows of S and P that the resident blocks of a softmax by rows work on take half of the L2 or more.
bool rows_nearly_fill_l2(const Simulation& simulation) {
  if (simulation.info->family != "softmax" || simulation.ledger.total(tensors::p, Link::sm_to_l2).value == 0) return false;
  const AttentionProblem& problem = simulation.request.problem;
  const LaunchResult& launch = simulation.launches.front();
  const double resident = std::min(static_cast<double>(launch.blocks), simulation.request.gpu.sm_count * launch.blocks_per_sm);
  const double rows = static_cast<double>(problem.query_planes() * problem.seq_q);
  const double row_bytes = (bytes_of(simulation, tensors::s) + bytes_of(simulation, tensors::p)) / rows;
  return resident * static_cast<double>(simulation.program->tile().block_q) * row_bytes >=
         simulation.request.gpu.usable_l2_bytes() / 2;
}

/// A tiled product whose S goes through the L2 many times over, and Q and K with it.
bool product_streams_through_l2(const Simulation& simulation) {
  return simulation.request.algorithm == "matmul_tiled" &&
         bytes_of(simulation, tensors::s) >= 10 * simulation.request.gpu.usable_l2_bytes();
}

constexpr NumberedLimit limits[] = {
    {31, "rows of S and P of the resident blocks of a softmax that take half of the L2 or more", 0.12, rows_nearly_fill_l2},
    {4, "a tiled product whose S is ten times the L2 or more", 0.15, product_streams_through_l2},
};

/// Where a figure stands: -1 below what was measured and its bound, 1 above, 0 within.
int side_of(const Comparison& c) {
  return c.within() ? 0 : c.simulated < c.nearest() ? -1 : 1;
}

template <class F>
void for_each_open(CaseValidation& result, F f) {
  for (const Figure figure : hbm_figures)
    if (auto& c = result.figures[static_cast<std::size_t>(figure)]; c && !c->held()) f(figure, *c);
}

/// Simulates with these parts of the capacity, one after the other, until what is open on `side` is not any more.
Status search(const Simulation& simulation, const MeasuredCase& measured, int side, std::span<const double> parts,
              const Progress& progress, CaseValidation& result) {
  for (const double part : parts) {
    bool open = false;
    for_each_open(result, [&](Figure, const Comparison& c) { open = open || side_of(c) == side; });
    if (!open) break;
    SimulationRequest request = simulation.request;
    request.gpu.l2_capacity_bytes *= part;
    const auto simulated = simulate(request, progress);
    if (!simulated) return simulated.error();
    const CaseValidation with = compare(**simulated, measured);
    for_each_open(result, [&](Figure figure, Comparison& c) {
      // It may as well have passed from one side to the other since the step before.
      if (side_of(c) != side || side_of(*with.figure(figure)) == side) return;
      c.limit = l2_capacity_entry;
      c.l2_part = part;
    });
  }
  return Done{};
}

}  // namespace

std::span<const NumberedLimit> numbered_limits() {
  return limits;
}

Status name_limits(const Simulation& simulation, const MeasuredCase& measured, CaseValidation& result, const Progress& progress) {
  if (auto& read = result.figures[static_cast<std::size_t>(Figure::hbm_read)]; read && !read->held()) {
    const auto holds = [&](const NumberedLimit& limit) {
      return std::abs(read->error()) <= limit.error && limit.is_about(simulation);
    };
    if (const auto found = std::find_if(std::begin(limits), std::end(limits), holds); found != std::end(limits))
      read->limit = found->entry;
  }
  if (!simulation.request.gpu.has_l2()) return Done{};
  // The less is kept the more is read and written.
  if (Status status = search(simulation, measured, 1, more_l2, progress, result); !status) return status;
  return search(simulation, measured, -1, less_l2, progress, result);
}

}  // namespace tilescope
