// One function a study; rows that could not be simulated say why.
#include "app/cli/csv_studies.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "app/cli/comparison_report.h"
#include "app/cli/csv_field.h"
#include "app/model/requests/own_tile.h"
#include "app/model/requests/racers.h"
#include "app/model/session/mask_study.h"
#include "sim/analysis/fit.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/run_comparison.h"
#include "sim/analysis/what_if.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

/// What every study knows of a run.
constexpr std::string_view outcome_columns = "time_ns,sm_clock_hz,cycles,hbm_bytes,l2_sm_bytes,bound,refusal";

/// Of a run at that clock, which is the GPU's: a sheet knows no clock under load.
std::string outcome_fields(const Outcome& outcome, double sm_clock_hz) {
  if (!outcome.done()) return ",,,,,," + csv_field(outcome.refusal.text());
  return fmt::format("{:.3f},{:.0f},{:.1f},{:.0f},{:.0f},{},", outcome.time_ns, sm_clock_hz, outcome.cycles, outcome.hbm(),
                     outcome.sm_link(), to_string(outcome.bound));
}

std::string simulated_fields(const SimulationRequest& request) {
  const auto run = simulate(request);
  if (run) return outcome_fields(outcome_of(**run), request.gpu.sm_clock_hz);
  Outcome refused;
  refused.refusal = run.error().sentence;
  return outcome_fields(refused, request.gpu.sm_clock_hz);
}

std::string_view stop_name(const FitCell& cell) {
  constexpr std::array<std::string_view, 5> names = {"", "shared memory", "registers", "threads", "other"};
  return names[static_cast<std::size_t>(cell.stop)];
}

/// The same problem on the same GPU with another program, as it comes.
SimulationRequest with_program(SimulationRequest request, std::string_view algorithm) {
  request.algorithm = std::string(algorithm);
  take_own_tile(request);
  request.blocks_per_sm.reset();
  return request;
}

}  // namespace

std::string what_if_sheet(const Simulation& simulation) {
  std::string out = fmt::format("change,values,{}\n", outcome_columns);
  out += fmt::format("unchanged,,{}\n", outcome_fields(outcome_of(simulation), simulation.request.gpu.sm_clock_hz));
  for (const WhatIf& what : what_ifs(simulation.request))
    out += fmt::format("{},{},{}\n", csv_field(what.title), csv_field(fmt::format("{}", fmt::join(what.assignments, " "))),
                       simulated_fields(what.request));
  return out;
}

std::string fit_sheet(const Simulation& simulation) {
  std::string out = fmt::format(
      "type,buffers,block_q,block_kv,fits,stopped_by,spills,shared_bytes,registers_per_thread,threads,blocks_per_sm,{}\n",
      outcome_columns);
  const auto maps = make_fit_maps(simulation.request);
  if (!maps) return out + fmt::format(",,,,,,,,,,,,,,,,,{}\n", csv_field(maps.error().sentence.text()));
  for (const FitMap& map : maps->maps)
    for (const FitCell& cell : map.cells) {
      Outcome refused;
      refused.refusal = cell.refusal;
      out +=
          fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", to_string(map.request.problem.dtype), map.stages, cell.tile.block_q,
                      cell.tile.block_kv, cell.fits() ? 1 : 0, stop_name(cell), cell.spills ? 1 : 0, cell.needs.shared_bytes,
                      cell.needs.registers_per_thread, cell.needs.threads, cell.blocks_per_sm,
                      cell.fits() ? simulated_fields(request_of(map, cell)) : outcome_fields(refused, map.request.gpu.sm_clock_hz));
    }
  return out;
}

std::string compare_sheet(const Simulation& simulation) {
  std::string out(comparison_columns);
  const SimulationRequest request = with_program(simulation.request, companion_of(simulation.request.algorithm));
  if (request.algorithm.empty()) return out + fmt::format("setting,algorithm,,{},,,\n", simulation.request.algorithm);
  auto first = simulate(simulation.request), second = simulate(request);
  for (const auto* run : {&first, &second})
    if (!*run) return out + fmt::format("setting,,,,,,{}\n", csv_field(run->error().sentence.text()));
  return out + comparison_rows(compare_runs(*first, *second));
}

std::string ladder_sheet(const Simulation& simulation) {
  std::string out = fmt::format("algorithm,over,{}\n", outcome_columns);
  for (const LadderStep& step : ladder())
    out += fmt::format("{},{},{}\n", step.id, step.over, simulated_fields(with_program(simulation.request, step.id)));
  return out;
}

std::string mask_sheet(const Simulation& simulation) {
  std::string out = "first_query,queries,first_key,keys,state,decided_by,refusal\n";
  const SimulationRequest& request = simulation.request;
  const auto made = make_mask_picture(request.masking, request.problem, simulation.program->tile(), 0);
  if (!made) return out + fmt::format(",,,,,,{}\n", csv_field(made.error().sentence.text()));
  const MaskPicture& picture = **made;
  constexpr std::array<std::string_view, 3> states = {"empty", "partial", "full"};
  for (const TileBox& box : picture.boxes) {
    const std::int64_t query = box.first_row * picture.block.block_q, key = box.first_col * picture.block.block_kv;
    const std::int64_t end_query = std::min(box.end_row * picture.block.block_q, picture.problem.seq_q),
                       end_key = std::min(box.end_col * picture.block.block_kv, picture.problem.seq_kv);
    out += fmt::format("{},{},{},{},{},{},\n", query, end_query - query, key, end_key - key,
                       states[static_cast<std::size_t>(box.visibility)], box.by_analysis ? "analysis" : "elements");
  }
  return out;
}

}  // namespace tilescope
