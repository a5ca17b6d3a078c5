// Writes the result of `simulate` as JSON.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_words.h"
#include "app/cli/errors_json.h"
#include "app/cli/report.h"
#include "app/cli/report_parts.h"
#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/useful_flops.h"
#include "app/model/requests/assets.h"
#include "app/model/requests/requested.h"
#include "kernels/kernel_table.h"
#include "kernels/measure/json_fields.h"
#include "sim/analysis/l2_busy.h"
#include "sim/analysis/launch_balance.h"
#include "sim/analysis/memory_over_time.h"
#include "sim/analysis/validation.h"
#include "sim/masks/score_change.h"
#include "sim/masks/score_faults.h"
#include "sim/programs/kernel_needs.h"

namespace tilescope {

namespace {

using Json = nlohmann::ordered_json;

std::int64_t rounded(double value) {
  return static_cast<std::int64_t>(std::llround(value));
}

/// The busy share of each resource.
Json busy_json(const Simulation& simulation) {
  Json busy;
  for (std::size_t i = 0; i < simulation.utilisation.size(); ++i)
    if (static_cast<Bound>(i) != Bound::latency) busy[std::string(to_string(static_cast<Bound>(i)))] = simulation.utilisation[i];
  return busy;
}

/// How many SMs idle, where they are many.
void add_sms(Json& json, const Simulation& simulation) {
  if (const SmUse& sms = simulation.sms; sms.many_idle())
    json["sms"] = {{"all", sms.all}, {"with_blocks", sms.with_blocks}, {"idle_share", sms.idle}};
  if (const double least = balanced_ns(simulation); least > 0) json["balanced_ns"] = rounded(least);
}

/// Those of the time, and what a borrowed clock adds.
Json json_of_time_errors(const PredictionErrors& errors) {
  Json json = json_of_errors(errors.time);
  if (json.is_null()) return json;
  if (const auto& clock = errors.clock)
    json["borrowed_clock"] = {{"runs", clock->runs}, {"mean", clock->mean}, {"worst", clock->worst}};
  return json;
}

Json json_of_recorded(const RunUnderLoad& loaded) {
  const KnownBundle& known = *loaded.recorded->bundle;
  const MeasuredCase& measured = loaded.recorded->measured();
  const CaseValidation compared = compare(*loaded.simulation, measured);
  Json json = {{"bundle", std::filesystem::path(known.path).filename().native()},
               {"device", known.bundle.device},
               {"date", known.bundle.date},
               {"clock_hz", measured.sm_clock_hz},
               {"figures", Json::array()}};
  for (const Figure figure : all_figures)
    if (const auto& c = compared.figure(figure)) {
      json["figures"].push_back({{"figure", to_string(figure)},
                                 {"recorded", {c->measured.median, c->measured.least, c->measured.most}},
                                 {"simulated", c->simulated}});
      if (std::isfinite(c->error())) json["figures"].back()["error"] = c->error();
    }
  if (const auto& lookups = compared.l2_lookups) {
    const Spread& measured_lookups = lookups->measured;
    json["figures"].push_back({{"figure", "l2_lookup_read"},
                               {"recorded", {measured_lookups.median, measured_lookups.least, measured_lookups.most}},
                               {"simulated", lookups->simulated},
                               {"error", lookups->error()}});
  }
  return json;
}

Json json_of_probe(const ProbeTime& time) {
  const ProbeResult& probe = time.recorded->probe;
  return {{"device", probe.device},        {"date", probe.date},
          {"clock_hz", probe.sm_clock_hz}, {"recorded_ns", time.recorded_ns()},
          {"probed_ns", probe.probed_ns},  {"simulated_ns", time.simulated_ns},
          {"error", time.error()}};
}

/// The tile, with that of the forward program of a run of both passes, and the buffers of its ring.
Json json_of_tile(const TileProgram& program) {
  const ProgramTile& tile = program.tile();
  Json json = json_of(TileShape(tile));
  if (tile.forward) json["forward"] = json_of(*tile.forward);
  if (tile.stages > 0) json["stages"] = tile.stages;
  if (const int buffers = own_ring(program); buffers > 0) json["buffers"] = buffers;
  return json;
}

Json json_of_mask(const BlockMask& mask, const AttentionProblem& problem) {
  return {{"expression", mask_expression_text(problem)},
          {"block", {mask.block.block_q, mask.block.block_kv}},
          {"empty_blocks", mask.empty_blocks},
          {"partial_blocks", mask.partial_blocks},
          {"full_blocks", mask.full_blocks},
          {"visible_elements", visible_elements(*problem.mask, mask, problem)},
          {"decided_by", {{"analysis", mask.by_analysis}, {"evaluation", mask.by_evaluation}}}};
}

/// Adds what was asked for: the tile, orders, mask, score change and pages.
void add_request(Json& json, const Simulation& simulation) {
  const SimulationRequest& request = simulation.request;
  const AttentionProblem& problem = request.problem;
  json["problem"] = json_of(problem);
  json["tile"] = json_of_tile(*simulation.program);
  if (request.block_order != BlockOrder::launch) json["block_order"] = to_string(request.block_order);
  if (request.key_order != KeyOrder::ascending) json["key_order"] = to_string(request.key_order);
  if (const auto mask = masked_blocks(simulation)) json["mask"] = json_of_mask(*mask, problem);
  if (const auto& change = problem.score_change) {
    json["score"] = change->expression().text;
    if (const Sentence fault = score_faults(change->expression()); !fault.empty()) json["score_warning"] = command_words(fault);
  }
  if (problem.page_size > 0)
    json["pages"] = {{"page_size", problem.page_size},
                     {"page_order", to_string(problem.page_order)},
                     {"per_sequence", pages_of_sequence(problem)},
                     {"pool", problem.batch * pages_of_sequence(problem)}};
  for (const auto& table : tables_left_out(simulation))
    json["tables_left_out"].push_back({{"name", table->name}, {"bytes", table_bytes(*table).value}});
}

/// The bytes of a run by link, and the clock of the run: HBM bytes move a little with it.
Json json_of_links(const Simulation& simulation) {
  Json json = Json::object();
  for (Link link : all_links) {
    json[fmt::format("{}_bytes", to_string(link))] = simulation.ledger.total(link).value;
    if (link != Link::hbm_write) continue;
    if (simulation.hbm_write_queued.value > 0) json["hbm_write_queued_bytes"] = simulation.hbm_write_queued.value;
    json["hbm_write_after_flush_bytes"] = simulation.hbm_write_after_flush.value;
  }
  if (simulation.reduced.value > 0) json["sm_to_l2_reduce_bytes"] = simulation.reduced.value;
  if (simulation.l2.looked_up.value > 0) json["l2_lookup_read_bytes"] = simulation.l2.looked_up.value;
  json["clock_hz"] = simulation.request.gpu.sm_clock_hz;
  return json;
}

Json json_of_memory(const Simulation& simulation) {
  Json json = {{"peak_hbm_bytes", simulation.peak_hbm.value}, {"extra_hbm_bytes", simulation.extra_hbm.value}};
  const MemoryOverTime memory = memory_over_time(simulation);
  json["live_peak_bytes"] = memory.peak().value;
  json["live_peak_formula"] = memory.peak_formula;
  json["live_peak_launch"] = simulation.launches[memory.peak_launch].name;
  for (const Bytes live : memory.live) json["live_bytes_by_launch"].push_back(live.value);
  if (const auto& kept = memory.checkpointing)
    json["kept_for_backward"] = {
        {"bytes", kept->kept.value}, {"forward_again_hbm_bytes", kept->hbm.value}, {"forward_again_ns", rounded(kept->time.value)}};
  return json;
}

Json json_under_load(const RunUnderLoad& loaded) {
  const Simulation& run = *loaded.simulation;
  Json json = {{"clock_hz", loaded.clock.hz},
               {"clock_from", to_string(loaded.clock.from)},
               {"cycles", rounded(run.cycles.value)},
               {"ns", rounded(run.time.value)},
               {"tflops", tflops_of(run)},
               {"bound_by", to_string(run.bound)},
               {"busy", busy_json(run)},
               {"traffic", json_of_links(run)}};
  if (loaded.clock.from == ClockUnderLoad::From::like_runs) json["runs"] = loaded.clock.runs;
  if (loaded.clock.of_unchanged) json["clock_of_unchanged"] = true;
  if (loaded.clock.of_own_tile) json["clock_of_own_tile"] = true;
  add_sms(json, run);
  return json;
}

Json json_of_next_limit(const NextLimit& limit, double clock_hz) {
  return {{"without", to_string(limit.without)},  {"cycles", rounded(limit.outcome.cycles)},
          {"ns", rounded(limit.outcome.time_ns)}, {"bound_by", to_string(limit.outcome.bound)},
          {"decides", limit.decides()},           {"clock_hz", clock_hz}};
}

Json json_of_time(const Simulation& simulation, const NextLimit* limit, const RunsBeside& beside) {
  const Simulation& timed = timed_of(simulation, beside);
  Json json = {{"cycles", rounded(simulation.cycles.value)},
               {"ns", rounded(simulation.time.value)},
               {"bound_by", to_string(simulation.bound)},
               {"clock_hz", simulation.request.gpu.sm_clock_hz},
               {"wall_ns", rounded(timed.time.value)},
               {"wall_clock_hz", timed.request.gpu.sm_clock_hz},
               {"tflops", tflops_of(simulation)}};
  if (beside.under_load != nullptr) json["under_load"] = json_under_load(*beside.under_load);
  json["errors"] = json_of_time_errors(beside.errors);
  if (!unchanged(simulation.request.gpu)) {
    json["unshared_lookups_least_ns"] = rounded(unshared_ns(timed));
    if (beside.recorded_lookups > 0) json["recorded_lookups_least_ns"] = rounded(looked_up_ns(timed, beside.recorded_lookups));
  }
  if (beside.effect != nullptr)
    json["without_set"] = {{"cycles", rounded(beside.effect->unchanged.cycles)},
                           {"ns", rounded(beside.effect->unchanged.time_ns)},
                           {"change", beside.effect->change},
                           {"noise", beside.effect->noise},
                           {"is_noise", beside.effect->is_noise() && !l2_may_decide(timed)}};
  json["busy"] = busy_json(simulation);
  json["l2_busy"] = {{"lookups", simulation.l2.lookups},
                     {"unshared", simulation.l2.unshared},
                     {"ports", simulation.l2.ports},
                     {"least", l2_busy(simulation.l2).least},
                     {"most", l2_busy(simulation.l2).most}};
  add_sms(json, simulation);
  if (limit != nullptr && limit->outcome.done())
    json["next_limit"] =
        json_of_next_limit(*limit, beside.under_load != nullptr ? beside.under_load->clock.hz : simulation.request.gpu.sm_clock_hz);
  return json;
}

Json json_of_kernel(const CompiledKernel& compiled) {
  Json json = {{"id", compiled.kernel->id}, {"has_tile", compiled.has_tile}};
  if (compiled.takes_problem) json["tile"] = json_of(compiled.tile);
  if (compiled.has_tile) json["spilled_bytes_per_thread"] = compiled.spilled;
  for (const Sentence& warning : compiled.warnings()) json["warnings"].push_back(warning.text());
  return json;
}

/// `loaded`: the same run at its clock under load; null where none is known.
Json json_of_launch(const Simulation& simulation, std::size_t i, const Simulation* loaded) {
  const LaunchResult& launch = simulation.launches[i];
  const LaunchWaves waves = waves_of(simulation, i);
  Json json = {{"name", launch.name},
               {"blocks", launch.blocks},
               {"launched_blocks", waves.blocks},
               {"threads", launch.threads},
               {"smem_bytes", launch.shared_bytes},
               {"blocks_per_sm", launch.blocks_per_sm},
               {"waves", waves.waves},
               {"cycles", rounded(launch.cycles.value)}};
  if (waves.tiles_per_block > 0) json["tiles_per_block"] = waves.tiles_per_block;
  if (loaded != nullptr) json["cycles_under_load"] = rounded(loaded->launches[i].cycles.value);
  return json;
}

Json json_of_ledger(const Simulation& simulation) {
  Json json = Json::array();
  for (const LedgerEntry& entry : simulation.ledger.entries())
    json.push_back({{"launch", simulation.launches.at(static_cast<std::size_t>(entry.launch)).name},
                    {"tensor", to_string(entry.tensor)},
                    {"link", to_string(entry.link)},
                    {"line", entry.line},
                    {"bytes", entry.bytes}});
  return json;
}

}  // namespace

std::string report_json(const Simulation& simulation, const NextLimit* limit, const HostCost& cost, const RunsBeside& beside) {
  Json json;
  json["schema"] = "tilescope.simulation/1";
  json["algorithm"] = simulation.request.algorithm;
  if (const std::string_view rung = chosen_by(*simulation.info, simulation.request.problem); rung != simulation.info->id)
    json["rung"] = rung;
  json["gpu"] = simulation.request.gpu.id;
  if (!beside.gpu_file.empty()) json["gpu_file"] = command_words(beside.gpu_file);
  add_request(json, simulation);
  json["traffic"] = json_of_links(simulation);
  json["traffic"]["errors"] = {{"clock_hz", timed_of(simulation, beside).request.gpu.sm_clock_hz},
                               {"hbm_read", json_of_errors(beside.errors.hbm_read)},
                               {"hbm_write", json_of_errors(beside.errors.hbm_write)}};
  json["work"] = {{"flops", simulation.flops}, {"exps", simulation.exps}, {"useful_flops", useful_flops(simulation)}};
  json["memory"] = json_of_memory(simulation);
  json["time"] = json_of_time(simulation, limit, beside);
  const RunUnderLoad* const loaded = beside.under_load;
  if (loaded != nullptr && loaded->recorded) json["recorded"] = json_of_recorded(*loaded);
  if (loaded != nullptr && loaded->probed) json["probed"] = json_of_probe(*loaded->probed);
  if (const auto compiled = compiled_kernel(simulation.request)) json["kernel"] = json_of_kernel(*compiled);
  json["launches"] = Json::array();
  for (std::size_t i = 0; i < simulation.launches.size(); ++i)
    json["launches"].push_back(json_of_launch(simulation, i, loaded != nullptr ? loaded->simulation.get() : nullptr));
  json["ledger"] = json_of_ledger(simulation);
  json["host"] = {{"wall_ms", cost.wall_ms}, {"peak_rss_bytes", cost.peak_rss_bytes}};
  return json.dump(2) + '\n';
}

}  // namespace tilescope
