// Writes the result of `simulate` as a table.
#include "app/cli/report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/command_words.h"
#include "app/cli/report_parts.h"
#include "app/cli/text_table.h"
#include "app/model/measurements/compiled_kernel.h"
#include "app/model/measurements/error_sentences.h"
#include "app/model/measurements/time_errors.h"
#include "app/model/requests/assets.h"
#include "app/model/requests/requested.h"
#include "kernels/kernel_table.h"
#include "sim/analysis/format.h"
#include "sim/analysis/io_complexity.h"
#include "sim/analysis/l2_busy.h"
#include "sim/analysis/launch_balance.h"
#include "sim/analysis/memory_over_time.h"
#include "sim/analysis/roofline.h"
#include "sim/analysis/validation.h"
#include "sim/analysis/what_if.h"
#include "sim/core/text.h"
#include "sim/masks/block_mask.h"
#include "sim/masks/score_change.h"
#include "sim/masks/score_faults.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/occupancy.h"
#include "sim/programs/program_names.h"

namespace tilescope {

namespace {

std::string_view limit_name(Occupancy::Limit limit) {
  switch (limit) {
    case Occupancy::Limit::blocks:
      return "blocks";
    case Occupancy::Limit::threads:
      return "threads";
    case Occupancy::Limit::registers:
      return "registers";
    case Occupancy::Limit::shared:
      return "shared memory";
  }
  return "";
}

/// Names what limits the resident blocks of this launch.
std::string limited_by(const Simulation& simulation, std::size_t launch) {
  const auto specs = simulation.program->launches();
  if (launch >= specs.size()) return "";
  const auto fits = occupancy(*simulation.program, specs[launch], simulation.request.gpu);
  if (!fits) return "";
  if (simulation.launches[launch].blocks_per_sm < fits->blocks_per_sm) return "--blocks-per-sm";
  return std::string(limit_name(fits->limit));
}

/// ", 2 buffers of K and V", or nothing for a program without a ring.
std::string buffers_text(const TileProgram& program) {
  const int buffers = own_ring(program);
  // Blocks of a backward pass that own keys stream other tensors.
  const std::string_view of = program.problem().pass == Pass::backward ? "" : " of K and V";
  if (drops_to_one_buffer(program)) return fmt::format(", 1 buffer{}: two do not fit the shared memory", of);
  return buffers == 0 ? std::string() : fmt::format(", {} {}{}", buffers, buffers == 1 ? "buffer" : "buffers", of);
}

std::string heading(const Simulation& simulation, const Sentence& gpu_file) {
  const GpuSpec& gpu = simulation.request.gpu;
  const AttentionProblem& problem = simulation.request.problem;
  TextTable table("ll");
  const ProgramInfo& info = *simulation.info;
  table.row({"algorithm", fmt::format("{}: {}{}{}", info.id, info.title, info.source.empty() ? "" : ", ", info.source)});
  if (const std::string rung = launched_rung(info, problem); !rung.empty()) table.row({"launches", rung});
  std::string changed;
  for (const auto& [key, provenance] : gpu.provenance)
    if (provenance.note == changed_note) changed += (changed.empty() ? ", changed: " : ", ") + key;
  table.row({"GPU", fmt::format("{}: {}{}", gpu.id, gpu.name, changed)});
  if (!gpu_file.empty()) table.row({"", command_words(gpu_file)});
  table.row({"problem", fmt::format("batch {}, heads {}, kv heads {}, queries {}, keys {}, head dim {}, {}, {}, {}", problem.batch,
                                    problem.heads, problem.kv_heads, format_count(problem.seq_q), format_count(problem.seq_kv),
                                    problem.head_dim, to_string(problem.dtype),
                                    problem.mask     ? "masked"
                                    : problem.causal ? "causal"
                                                     : "no mask",
                                    to_string(problem.pass))});
  if (const auto mask = masked_blocks(simulation)) {
    const std::int64_t all = mask->empty_blocks + mask->partial_blocks + mask->full_blocks;
    table.row({"mask", printable(mask_expression_text(problem), 200)});
    table.row(
        {"", fmt::format("{} empty, {} partial, {} full blocks of {}x{}; {} of {} decided by analysis",
                         format_count(mask->empty_blocks), format_count(mask->partial_blocks), format_count(mask->full_blocks),
                         mask->block.block_q, mask->block.block_kv, format_count(mask->by_analysis), format_count(all))});
    if (mask->shows_nothing())
      table.row({"", info.pass == Pass::forward ? "no query sees a key: every row of O is 0"
                                                : "no query sees a key: every gradient is 0"});
    if (const auto kernel = find_kernel(info.id); kernel && !(*kernel)->takes_masks && info.pass == Pass::forward)
      table.row({"", fmt::format("the CUDA kernel of {} takes no such mask: that of {} does", info.id,
                                 program_of_masks(simulation.request, problem))});
  }
  if (problem.page_size > 0)
    table.row({"pages", fmt::format("{} keys each, {}, {} of each sequence", format_count(problem.page_size),
                                    to_string(problem.page_order), format_count(pages_of_sequence(problem)))});
  if (problem.score_change) {
    const Expression& score = problem.score_change->expression();
    table.row({"score", printable(score.text, 200)});
    if (const Sentence fault = score_faults(score); !fault.empty()) table.row({"", "warning: " + command_words(fault)});
  }
  if (const TableList tables = tables_left_out(simulation); !tables.empty()) {
    std::string text;
    for (const auto& each : tables)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each->name, format_bytes(table_bytes(*each)));
    table.row({"tables", text + "; not in the traffic and the memory below"});
  }
  const ProgramTile& tile = simulation.program->tile();
  if (tile.forward && *tile.forward != TileShape(tile))
    table.row({"forward", fmt::format("tile of {} queries x {} keys", tile.forward->block_q, tile.forward->block_kv)});
  table.row({"tile", fmt::format("{} queries x {} keys{}", tile.block_q, tile.block_kv, buffers_text(*simulation.program))});
  if (const auto compiled = compiled_kernel(simulation.request)) {
    const std::vector<Sentence> warnings = compiled->warnings();
    for (std::size_t i = 0; i < warnings.size(); ++i) table.row({i == 0 ? "kernel" : "", warnings[i].text()});
  }
  if (simulation.request.block_order != BlockOrder::launch)
    table.row({"order", fmt::format("{}: {}", to_string(simulation.request.block_order),
                                    block_orders()[static_cast<std::size_t>(simulation.request.block_order)].title)});
  if (tile.key_order != KeyOrder::ascending)
    table.row({"keys", fmt::format("{}: the last visible tile first", to_string(tile.key_order))});
  return table.text("");
}

/// With a digit that tells how full the last wave is.
std::string waves_text(double waves) {
  return waves >= 9.95 && waves < 1000 ? fmt::format("{:.1f}", waves) : format_times(waves);
}

std::string launches(const Simulation& simulation) {
  TextTable table("lrrrrrlrrr");
  table.row({"launch", "blocks", "tiles", "threads", "shared", "per SM", "limited by", "waves", "tiles/block",
             fmt::format("cycles at {}", format_clock(simulation.request.gpu.sm_clock_hz))});
  for (std::size_t i = 0; i < simulation.launches.size(); ++i) {
    const LaunchResult& launch = simulation.launches[i];
    const LaunchWaves waves = waves_of(simulation, i);
    const bool persistent = waves.tiles_per_block > 0;
    table.row({launch.name, format_count(waves.blocks), persistent ? format_count(launch.blocks) : "", format_count(launch.threads),
               format_capacity(Bytes(launch.shared_bytes)), format_count(launch.blocks_per_sm), limited_by(simulation, i),
               waves_text(waves.waves), persistent ? waves_text(waves.tiles_per_block) : "", format_cycles(launch.cycles)});
  }
  table.drop_empty_columns();
  return table.text("");
}

/// Returns the closed form of one tensor on one link, or nullopt.
std::optional<ClosedFormTerm> term_of(const std::optional<ClosedForm>& form, Tensor tensor, Link link) {
  if (!form) return std::nullopt;
  std::optional<ClosedFormTerm> sum;
  for (const ClosedFormTerm& term : form->terms) {
    if (term.tensor != tensor || term.link != link) continue;
    if (!sum) {
      sum = term;
    } else {
      sum->bytes += term.bytes;
      sum->formula += " + " + term.formula;
    }
  }
  return sum;
}

std::string difference(std::int64_t simulated, std::int64_t expected) {
  if (simulated == expected) return "equal";
  return expected == 0 ? "differs"
                       : format_signed_percent(static_cast<double>(simulated - expected) / static_cast<double>(expected));
}

/// `clock`: " at 1.72 GHz" where that is not the GPU's highest.
std::string traffic(const Simulation& simulation, const std::string& clock) {
  const std::optional<ClosedForm> form = simulation.program->closed_form();
  TextTable table("llrrrll");
  table.row({"traffic", "link", "", "simulated" + clock, "closed form", "", "formula"});
  for (Link link : all_links) {
    std::int64_t expected_total = 0;
    bool has_form = false;
    for (Tensor tensor : simulation.program->tensors()) {
      const std::int64_t bytes = simulation.ledger.total(tensor, link).value;
      const auto term = term_of(form, tensor, link);
      if (bytes == 0 && !term) continue;
      std::vector<std::string> cells = {std::string(to_string(tensor)), std::string(to_string(link)), format_bytes(Bytes(bytes)),
                                        format_exact_bytes(Bytes(bytes))};
      if (term) {
        cells.insert(cells.end(), {format_exact_bytes(term->bytes), difference(bytes, term->bytes.value), term->formula});
        expected_total += term->bytes.value;
        has_form = true;
      }
      table.row(std::move(cells));
    }
    const std::int64_t bytes = simulation.ledger.total(link).value;
    std::vector<std::string> cells = {"all", std::string(to_string(link)), format_bytes(Bytes(bytes)),
                                      format_exact_bytes(Bytes(bytes))};
    if (has_form) cells.insert(cells.end(), {format_exact_bytes(Bytes(expected_total)), difference(bytes, expected_total)});
    table.row(std::move(cells));
    if (link == Link::hbm_write && simulation.hbm_write_queued.value > 0)
      table.row({"", "hbm_write after the end", format_bytes(simulation.hbm_write_queued),
                 format_exact_bytes(simulation.hbm_write_queued)});
    if (link == Link::hbm_write)
      table.row({"", "hbm_write, L2 flushed", format_bytes(simulation.hbm_write_after_flush),
                 format_exact_bytes(simulation.hbm_write_after_flush)});
  }
  std::string text = table.text("");
  if (!form) return text;
  const AttentionProblem& problem = simulation.program->problem();
  const GpuSpec& gpu = simulation.request.gpu;
  if (order_holds(form->order, problem, gpu))
    return text + fmt::format("order    bytes between L2 and SMs: {}\n", order_text(form->order, problem).text());
  return text + fmt::format("order    none here: {} holds for d <= M <= N·d, and M is {} elements, N·d {}\n", form->order,
                            format_count(static_cast<std::int64_t>(fast_memory_elements(problem, gpu))),
                            format_count(problem.seq_kv * problem.head_dim));
}

/// "; 655 TFLOP/s", or nothing for a run without products.
std::string rate_text(const Simulation& simulation) {
  const double tflops = tflops_of(simulation);
  if (tflops <= 0) return {};
  // The products of the table count whole tiles. The rate counts what papers and PyTorch count.
  const AttentionProblem& problem = simulation.request.problem;
  const bool halves = problem.seq_q == problem.seq_kv;
  const std::string_view of = problem.mask || (problem.causal && !halves) ? " of visible elements"
                              : problem.causal                            ? " of half the products, as papers count a causal mask"
                                                                          : "";
  return fmt::format("; {}{}", format_short(tflops * 1e12, "FLOP/s"), of);
}

/// Describes the run without its bottleneck: "402 µs (1.6× faster), then limited by fp32"; `clock` follows the time.
std::string limit_text(const NextLimit& limit, std::string_view clock) {
  if (!limit.outcome.done()) return command_words(limit.outcome.refusal);
  const double faster = limit.outcome.time_ns > 0 ? limit.before_ns / limit.outcome.time_ns : 1;
  const std::string speed = faster < 0.995   ? "no faster"
                            : faster < 1.005 ? "same time"
                                             : fmt::format("{}× faster", format_times(faster));
  const std::string at_least = limit.outcome.l2_may_decide() ? fmt::format(", or {} and more if no read shares an L2 lookup",
                                                                           format_time(Nanoseconds(limit.outcome.unshared_ns)))
                                                             : std::string();
  const std::string without = fmt::format("{}{} ({}){}", format_time(Nanoseconds(limit.outcome.time_ns)), clock, speed, at_least);
  const bool another = limit.decides() && limit.outcome.bound != limit.without;
  return another           ? fmt::format("{}, then limited by {}", without, to_string(limit.outcome.bound))
         : limit.decides() ? without + ", then by no single limit"
                           : without + ": no single bottleneck";
}

/// What the L2 looks up, and what its busy share would be if no read shared a lookup.
void add_l2(TextTable& table, const Simulation& simulation) {
  const L2Use& l2 = simulation.l2;
  const auto read = static_cast<double>(simulation.ledger.total(Link::l2_to_sm).value);
  if (l2.looked_up.value == 0 || static_cast<double>(l2.looked_up.value) >= read) return;  // none, or none is shared
  table.row({"", "L2 lookups", format_bytes(l2.looked_up),
             fmt::format("{} of l2_to_sm; reads of a line close together share one (docs/model-limits.md, rows 46 and 48)",
                         format_percent(static_cast<double>(l2.looked_up.value) / read))});
  const std::string unshared = l2.unshared < 1 ? format_percent(l2.unshared) : std::string("all of it");
  table.row(
      {"", "L2 busy", l2_busy_text(l2_busy(l2)),
       fmt::format("the larger of its lookups, {} to {}, and the ports of the SMs, {}. The upper end: no read shares a lookup",
                   format_percent(l2.lookups), unshared, format_percent(l2.ports))});
  const double busiest = *std::ranges::max_element(simulation.utilisation);
  if (simulation.bound != Bound::l2 && l2_busy(l2).most >= busiest)
    table.row({"", "", "", "the L2 may be the busiest: on hardware blocks drift apart, and fewer reads share a lookup"});
}

/// The other end of the time on a changed GPU, where the L2 may decide it: what the L2 alone needs.
void add_l2_times(TextTable& table, const Simulation& changed, double recorded_lookups) {
  if (unchanged(changed.request.gpu) || !l2_may_decide(changed)) return;
  const std::string rate = format_short(changed.request.gpu.l2_bytes_per_cycle, "B");
  if (const double ns = looked_up_ns(changed, recorded_lookups); ns > changed.time.value)
    table.row({"", "recorded lookups", "≥ " + format_time(Nanoseconds(ns)),
               fmt::format("{} at {} a cycle: if the L2 looks up as much as recorded on the unchanged GPU",
                           format_bytes(Bytes(std::llround(recorded_lookups))), rate)});
  table.row({"", "no shared lookup", "≥ " + format_time(Nanoseconds(unshared_ns(changed))),
             fmt::format("all reads at {} a cycle. The model does not know how many share a lookup (docs/model-limits.md, rows 46 "
                         "and 48)",
                         rate)});
}

/// "mean of 30 recorded runs of flash3, not seen by the model before; 21.9 % at worst of all 84".
std::string origin_of(const FigureErrors& errors) {
  return fmt::format("mean of {} recorded run{} of {}{}{}{}{}; {} at worst{}", errors.runs, errors.runs == 1 ? "" : "s",
                     errors.kernel, errors.is_short ? " under 20 µs" : "", errors.of_unchanged ? " on the unchanged GPU" : "",
                     errors.held_out ? ", not seen by the model before" : ", with which the model was made",
                     errors.other_tile ? ", with the kernel's own tile" : "", format_percent(errors.worst),
                     errors.all_runs > errors.runs ? fmt::format(" of all {}", errors.all_runs) : std::string());
}

/// How far predicted HBM bytes of the program were off, a line each; nothing where that is unknown.
std::string byte_errors(const PredictionErrors& errors) {
  std::string text;
  for (const auto& [link, of_link] : {std::pair{Link::hbm_read, &errors.hbm_read}, {Link::hbm_write, &errors.hbm_write}})
    if (*of_link)
      text += fmt::format("error    {} ±{}: {}\n", to_string(link), format_percent((*of_link)->mean), origin_of(**of_link));
  return text;
}

/// Says how far predicted times of the program were off; two rows where the clock is borrowed.
void add_errors(TextTable& table, const PredictionErrors& errors, const std::string& gpu) {
  if (is_imagined(gpu)) {
    table.row({"", "error", "none", command_words(imagined_gpu_sentence(gpu))});
    return;
  }
  if (!errors.time) {
    table.row({"", "error", "unknown", command_words(errors.time.error().sentence)});
    return;
  }
  const FigureErrors& time = *errors.time;
  table.row({"", "error", "±" + format_percent(time.mean), fmt::format("{} (docs/measuring.md lists the pages)", origin_of(time))});
  if (errors.clock)
    table.row({"", "error of the clock", "±" + format_percent(errors.clock->mean),
               fmt::format("mean of {} runs, had their clocks been borrowed too; {} at worst", errors.clock->runs,
                           format_percent(errors.clock->worst))});
}

/// Says what better balance could save, where that is more than nothing.
void add_balance(TextTable& table, const Simulation& simulation) {
  const double least = balanced_ns(simulation);
  const double saved = least > 0 ? 1 - least / simulation.time.value : 0;
  if (saved < least_difference) return;
  table.row({"", "perfect balance", "≥ " + format_time(Nanoseconds(least)),
             fmt::format("at most {} less: a bound, as if every SM had all its blocks until the end", format_percent(saved))});
}

/// "with it 3.1 % less time", or that the difference is noise. `changed`: the run with the change.
std::string effect_text(const ChangeEffect& effect, const Simulation& changed) {
  const std::string change = format_signed_percent(effect.change), noise = format_percent(effect.noise);
  if (l2_may_decide(changed))
    return fmt::format("with it {} if reads share L2 lookups as in the model, {} or more if none does", change,
                       format_signed_percent(unshared_ns(changed) / effect.unchanged.time_ns - 1));
  return effect.is_noise() ? fmt::format("with it {}: no difference, the order of events alone may change {}", change, noise)
                           : fmt::format("with it {}; the order of events alone may change {}", change, noise);
}

/// Says how much of the tensors is in HBM at the same time, by a formula, and what the backward pass finds of the forward pass.
void add_memory_over_time(TextTable& table, const Simulation& simulation) {
  const MemoryOverTime memory = memory_over_time(simulation);
  table.row({"", "live at once", format_capacity(memory.peak()),
             fmt::format("{}: {}, while \"{}\" runs", memory.quadratic ? "O(N²)" : "O(N)", memory.peak_formula,
                         simulation.launches[memory.peak_launch].name)});
  if (!memory.checkpointing) return;
  const Checkpointing& kept = *memory.checkpointing;
  std::vector<std::string> names;
  for (const Tensor tensor : kept.tensors) names.emplace_back(to_string(tensor));
  table.row({"", "kept for backward", format_capacity(kept.kept),
             fmt::format("{}; checkpointing frees it and runs the forward pass again: {} of HBM traffic, {}",
                         names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", ")), format_bytes(kept.hbm),
                         format_time(kept.time))});
}

std::string results(const Simulation& simulation, const NextLimit* limit, const HostCost& cost, const RunsBeside& beside) {
  const std::optional<ClosedForm> form = simulation.program->closed_form();
  const auto counted = [&](std::int64_t count, std::int64_t expected) {
    std::string text = format_count(count);
    if (form) text += fmt::format(", closed form {}: {}", format_count(expected), difference(count, expected));
    return text;
  };
  TextTable table("llrl");
  table.row({"work", "matrix products", format_short(static_cast<double>(simulation.flops), "FLOP"),
             counted(simulation.flops, form ? form->flops : 0)});
  table.row(
      {"", "exponentials", format_short(static_cast<double>(simulation.exps)), counted(simulation.exps, form ? form->exps : 0)});
  table.row({"memory", "peak HBM", format_capacity(simulation.peak_hbm), format_exact_bytes(simulation.peak_hbm)});
  table.row({"", "besides Q, K, V, O", format_capacity(simulation.extra_hbm), format_exact_bytes(simulation.extra_hbm)});
  add_memory_over_time(table, simulation);
  const RunUnderLoad* const loaded = beside.under_load;
  const Simulation& timed = timed_of(simulation, beside);  // what bounds the run, too, is at its clock
  table.row({"time", "cycles", format_cycles(timed.cycles), "at " + format_clock(timed.request.gpu.sm_clock_hz)});
  if (loaded != nullptr)
    table.row({"", "wall time", format_time(loaded->simulation->time),
               fmt::format("at {} under load, {}{}", format_clock(loaded->clock.hz), origin_text(loaded->clock),
                           rate_text(*loaded->simulation))});
  table.row({"", loaded != nullptr ? "highest clock" : "wall time", format_time(simulation.time),
             fmt::format("at {}{}", format_clock(simulation.request.gpu.sm_clock_hz), rate_text(simulation))});
  add_l2_times(table, timed, beside.recorded_lookups);
  add_errors(table, beside.errors, simulation.request.gpu.id);
  if (beside.effect != nullptr)
    table.row(
        {"", "without --set", format_time(Nanoseconds(beside.effect->unchanged.time_ns)), effect_text(*beside.effect, timed)});
  std::string busy;
  for (std::size_t i = 0; i < timed.utilisation.size(); ++i)
    if (timed.utilisation[i] > 0)
      busy += fmt::format("{}{} {}", busy.empty() ? "" : ", ", to_string(static_cast<Bound>(i)),
                          busy_share_text(timed, static_cast<Bound>(i)));
  // The busiest resource bounds the run only if the run is faster without it.
  const bool alone = limit == nullptr || !limit->outcome.done() || limit->decides() || timed.bound == Bound::latency;
  table.row({"", "bottleneck", alone ? std::string(to_string(timed.bound)) : "no single one",
             (alone ? "" : fmt::format("busiest: {}; ", to_string(timed.bound))) + (busy.empty() ? "" : "busy: " + busy)});
  const bool many_idle = timed.sms.many_idle();
  if (!busy.empty())
    table.row({"", "", "", "busy: share of the run; of tensor, exp, fp32 and smem, of the time in which an SM has a block"});
  if (const SmUse& sms = timed.sms; many_idle)
    table.row({"", "SMs with a block", fmt::format("{} of {}", sms.with_blocks, sms.all),
               fmt::format("an SM of the GPU has no block for {} of the time, on average", format_percent(sms.idle))});
  add_balance(table, timed);
  add_l2(table, timed);
  const std::string_view of_those = many_idle ? " of those SMs" : " while an SM has a block";
  if (const double products = product_share(timed); products > 0)
    table.row({"", "products", format_percent(products),
               product_instruction(timed) == ProductInstruction::wgmma
                   ? fmt::format("of the wgmma peak{}", of_those)
                   : fmt::format("of the mma.sync peak{}; \"busy\" also counts other instructions", of_those)});
  const std::string at_clock = loaded != nullptr ? " at " + format_clock(loaded->clock.hz) : std::string();
  if (limit != nullptr) table.row({"", fmt::format("without {}", to_string(limit->without)), "", limit_text(*limit, at_clock)});
  table.row({"host", "simulated in", format_time(Nanoseconds(cost.wall_ms * 1e6)),
             fmt::format("peak memory {}", format_capacity(Bytes(cost.peak_rss_bytes)))});
  return table.text("");
}

/// What was recorded of the same run, beside the run at the clock of the recording: the comparison of validate.
std::string recorded_table(const RunUnderLoad& loaded) {
  const KnownBundle& known = *loaded.recorded->bundle;
  const CaseValidation compared = compare(*loaded.simulation, loaded.recorded->measured());
  TextTable table("llrrr");
  table.row({"recorded", "", "recorded", "simulated", "error"});
  for (const Figure figure : all_figures)
    if (const auto& c = compared.figure(figure))
      table.row({"", std::string(to_string(figure)), figure_text(figure, c->measured.median), figure_text(figure, c->simulated),
                 std::isfinite(c->error()) ? format_signed_percent(c->error()) : ""});
  if (const auto& lookups = compared.l2_lookups)
    table.row({"", "l2_lookup_read", format_bytes(Bytes(std::llround(lookups->measured.median))),
               format_bytes(Bytes(std::llround(lookups->simulated))), format_signed_percent(lookups->error())});
  return fmt::format("{}of an {}, {}, {}; cold L2, both at {}\n", table.text(""), known.bundle.device,
                     known.bundle.date.substr(0, 10), std::filesystem::path(known.path).filename().native(),
                     format_clock(loaded.clock.hz));
}

/// What a probe recorded of the same run, beside the run at its clock.
std::string probe_table(const ProbeTime& time) {
  const ProbeResult& probe = time.recorded->probe;
  TextTable table("llrrr");
  table.row({"probed", "", "recorded", "simulated", "error"});
  table.row({"", "time", figure_text(Figure::time, time.recorded_ns()), figure_text(Figure::time, time.simulated_ns),
             format_signed_percent(time.error())});
  if (probe.probed_ns > 0) table.row({"", "with the probe", figure_text(Figure::time, probe.probed_ns)});
  return fmt::format("{}of an {}, {}, one run with a probe; both at {}\n", table.text(""), probe.device, probe.date.substr(0, 10),
                     format_clock(probe.sm_clock_hz));
}

}  // namespace

std::string report_table(const Simulation& simulation, const NextLimit* limit, const HostCost& cost, const RunsBeside& beside) {
  // Launches, bytes, times and errors are of one run, as what was recorded beside them is.
  const Simulation& timed = timed_of(simulation, beside);
  const std::string clock = beside.under_load != nullptr ? " at " + format_clock(timed.request.gpu.sm_clock_hz) : std::string();
  return heading(simulation, beside.gpu_file) + '\n' + launches(timed) + '\n' + traffic(timed, clock) + byte_errors(beside.errors) +
         '\n' + results(simulation, limit, cost, beside) +
         (beside.under_load != nullptr && beside.under_load->recorded ? '\n' + recorded_table(*beside.under_load) : std::string()) +
         (beside.under_load != nullptr && beside.under_load->probed ? '\n' + probe_table(*beside.under_load->probed)
                                                                    : std::string());
}

}  // namespace tilescope
