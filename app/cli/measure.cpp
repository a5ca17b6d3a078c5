// `tilescope measure`.
#include "app/cli/measure.h"
#include "app/cli/command_words.h"

#include <algorithm>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "app/cli/measure_report.h"
#include "app/cli/output.h"
#include "app/cli/progress.h"
#include "app/cli/request.h"
#include "app/model/measurements/probe_inputs.h"
#include "app/model/requests/mask_tables.h"
#include "app/platform/files.h"
#include "kernels/measure/bandwidth.h"
#include "kernels/measure/bundle.h"
#include "kernels/measure/date_now.h"
#include "kernels/measure/probe.h"
#include "kernels/measure/probe_json.h"
#include "kernels/measure/suite.h"
#include "sim/analysis/validation.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/mask_choice.h"

namespace tilescope {

namespace {

constexpr MeasureOptions cli_options = {.time_repeats = 20, .counter_repeats = 3, .warm_repeats = 3};
constexpr MeasureOptions suite_options = {.time_repeats = 20, .counter_repeats = 3, .warm_repeats = 3, .placements = 4};
constexpr std::int64_t default_measured_seq = 1024,
                       default_measured_head_dim = 64;  // sizes that the kernels accept, unlike the model's small defaults

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The mask and the score change of the flags.
Result<MaskChoice> choice_of(const CommandLine& line) {
  MaskChoice choice;
  choice.masks = line.masks;
  choice.presets = line.presets;
  choice.score = line.score.value_or("");
  choice.table_gradients = line.table_gradients;
  if (!line.tables.empty() && choice.empty())
    return refuse("{} is read by {}, {} and {}: give one of them", Setting::table, Setting::mask, Setting::score, Setting::preset);
  auto tables = load_tables(line.tables);
  if (!tables) return tables.error();
  choice.tables = std::move(*tables);
  return choice;
}

Result<AttentionProblem> problem_of(const CommandLine& line, const KernelInfo& kernel, const MaskChoice& choice) {
  AttentionProblem p;
  p.batch = line.batch;
  p.heads = line.heads;
  p.kv_heads = line.kv_heads.value_or(line.heads);
  p.seq_q = line.seq.value_or(default_measured_seq);
  p.seq_kv = line.seq_kv.value_or(p.seq_q);
  p.head_dim = line.head_dim.value_or(default_measured_head_dim);
  p.dtype = line.dtype;
  p.causal = line.causal;
  p.pass = line.pass.value_or(kernel.pass);
  p.mask_block = line.mask_block.value_or(0);
  p.page_size = line.page_size.value_or(0);
  p.page_order = line.page_order.value_or(PageOrder::shuffled);
  if (const Status sound = check(p); !sound) return sound.error();
  if (const Status settled = settle_masks(choice, p); !settled) return settled.error();
  if (line.given.contains("--mask-block") && !p.has_mask())
    return refuse("{} is the block of a mask's lists, and there is no mask: give {}, {} or {}", Setting::mask_block, Setting::mask,
                  Setting::preset, Setting::causal);
  return p;
}

/// Returns the kernel of the requested pass and key order, as `simulate` chooses its program: --pass backward makes flash2
/// flash2_backward.
Result<const KernelInfo*> kernel_of_pass(const KernelInfo& named, const CommandLine& line) {
  const Pass pass = line.pass.value_or(named.pass);
  if (pass == named.pass || pass == Pass::both || named.is_library) return find_kernel(named.id, line.key_order);
  const auto program = find_program(named.program(), pass);
  return program ? find_kernel((*program)->id, line.key_order) : program.error();
}

Result<const KernelInfo*> kernel_of(const CommandLine& line) {
  std::vector<std::string_view> names;
  const std::string algorithm = algorithm_of(line);
  for (const KernelInfo& row : kernel_table()) {
    if (!row.variant_of.empty()) continue;  // --key-order chooses it
    if (row.id == algorithm) return kernel_of_pass(row, line);
    names.push_back(row.id);
  }
  return Error{fmt::format("unknown kernel '{}': {}", printable(line.algorithm), name_hint(line.algorithm, names))};
}

/// Returns a similar problem that the host can check in float64 quickly: the same one, if it is small.
AttentionProblem like_it_but_small(const AttentionProblem& problem) {
  constexpr double most_products = 1 << 26;
  constexpr std::int64_t few = 300;  // more than two tiles of any kernel, and ragged
  AttentionProblem p = problem;
  const auto products = [&] {
    return static_cast<double>(p.query_planes()) * static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv) *
           static_cast<double>(p.head_dim);
  };
  if (products() <= most_products) return p;
  p.batch = 1;
  p.heads /= p.kv_heads;
  p.kv_heads = 1;
  if (products() > most_products) p.seq_q = std::min(p.seq_q, few), p.seq_kv = std::min(p.seq_kv, few);
  if (products() > most_products) p.heads = 1;
  return p;
}

MeasurementBundle bundle_for(const CommandLine& line, const MeasuringSession& session, std::string command) {
  MeasurementBundle bundle = session.empty_bundle();
  bundle.commit = line.commit;
  bundle.date = date_now();
  bundle.command = std::move(command);
  return bundle;
}

Result<int> measure_one(const CommandLine& line, std::FILE* out) {
  const auto kernel = kernel_of(line);
  if (!kernel) return kernel.error();
  const auto choice = choice_of(line);
  if (!choice) return choice.error();
  const auto problem = problem_of(line, **kernel, *choice);
  if (!problem) return problem.error();
  const TileShape own = (*kernel)->tile(*problem);
  const TileShape tile = {line.block_q.value_or(own.block_q), line.block_kv.value_or(own.block_kv)};
  if (const Status fits = supports(**kernel, *problem, tile); !fits) return fits.error();

  const auto start = Clock::now();
  if (line.json && !line.tables.empty()) return Error{"measure --json cannot hold the numbers of --table: leave one of them out"};
  Result<MeasuringSession> session = MeasuringSession::open();
  if (!session) return session.error();
  MeasureNotes notes;
  notes.open_seconds = seconds_since(start);
  Result<MeasuredCase> measured = session->measure(**kernel, *problem, cli_options, nullptr, &notes.cost);
  if (!measured) return measured.error();
  measured->presets = choice->presets;
  measured->masks = choice->masks;
  measured->score = choice->score;
  notes.checked = like_it_but_small(*problem);
  if (!choice->empty() && !(notes.checked == *problem)) {
    notes.checked.mask = nullptr;
    notes.checked.score_change = nullptr;
    if (const Status settled = settle_masks(*choice, notes.checked); !settled) return settled.error();
  }
  constexpr std::uint64_t check_seed = 1;
  const Result<KernelCheck> check = check_kernel(**kernel, notes.checked, check_seed);
  if (!check) return check.error();
  notes.check = *check;
  Outputs outputs(out);
  if (line.json) {
    MeasurementBundle bundle = bundle_for(line, *session, "tilescope measure");
    bundle.cases.push_back(*measured);
    if (const Status added = outputs.add(*line.json, to_json(bundle)); !added) return added.error();
  }
  if (!standard_output_taken(line))
    if (const Status added = outputs.add("-", measure_table(*measured, session->device(), notes)); !added) return added.error();
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  return notes.check.holds ? exit_done : exit_did_not_hold;
}

/// Writes the file, with what a recorded file says of itself beyond the measurement, and prints the table.
template <class Recorded>
Status write_recorded(Recorded recorded, const CommandLine& line, const std::string& file, const std::string& table,
                      std::FILE* out) {
  recorded.date = date_now();
  recorded.commit = line.commit;
  Outputs outputs(out);
  if (Status added = outputs.add(file, to_json(recorded)); !added) return added;
  if (!is_standard_output(file))
    if (Status added = outputs.add("-", table); !added) return added;
  return outputs.finish();
}

/// Runs the probe on the program's own random inputs, so that the tile machine can be compared.
Result<int> measure_probe(const CommandLine& line, std::FILE* out) {
  const auto kernel = kernel_of(line);
  if (!kernel) return kernel.error();
  const auto choice = choice_of(line);
  if (!choice) return choice.error();
  const auto problem = problem_of(line, **kernel, *choice);
  if (!problem) return problem.error();
  if (const Status fits = supports(**kernel, *problem); !fits) return fits.error();
  InputSource source;
  source.seed = line.seed;
  ProbeRequest request;
  request.block = line.probe_block;
  request.row = line.probe_row;
  Result<ProbeResult> probe = run_probe(**kernel, *problem, request, probe_inputs(source, *problem));
  if (!probe) return probe.error();
  probe->seed = line.seed;
  if (const Status written = write_recorded(*probe, line, line.probe, probe_table(*probe), out); !written) return written.error();
  return exit_done;
}

Result<int> measure_samples(const CommandLine& line, std::FILE* out) {
  const auto kernel = kernel_of(line);
  if (!kernel) return kernel.error();
  const auto choice = choice_of(line);
  if (!choice) return choice.error();
  const auto problem = problem_of(line, **kernel, *choice);
  if (!problem) return problem.error();
  SamplerKnowledge knowledge;
  const Result<BandwidthRecord> record = sample_bandwidth(**kernel, *problem, knowledge);
  if (!record) return record.error();
  if (const Status written = write_recorded(*record, line, line.samples, samples_table(*record), out); !written)
    return written.error();
  return exit_done;
}

Result<std::vector<SuiteCase>> read_suite(const std::string& name) {
  if (std::optional<std::vector<SuiteCase>> suite = built_in_suite(name)) return std::move(*suite);
  const auto text = read_text_file(name);
  if (!text) return text.error();
  return suite_from_text(*text, name);
}

/// Keeps a case that could not be measured in the bundle, with the reason.
MeasuredCase refused_case(const SuiteCase& one, const KernelInfo& kernel, const Error& error) {
  MeasuredCase refused;
  refused.kernel = one.kernel;
  refused.problem = one.problem;
  refused.tile = kernel.tile(one.problem);
  refused.refused = command_words(error.sentence);
  return refused;
}

Result<int> measure_suite(const CommandLine& line, std::FILE* out, std::FILE* err) {
  if (!line.json) return Error{"measure --suite needs --json FILE: where the bundle goes"};
  const auto suite = read_suite(line.suite);
  if (!suite) return suite.error();
  const auto start = Clock::now();
  Result<MeasuringSession> session = MeasuringSession::open();
  if (!session) return session.error();
  ProgressPrinter progress(err, line.quiet);
  MeasurementBundle bundle = bundle_for(line, *session, fmt::format("tilescope measure --suite {}", printable(line.suite)));
  std::size_t failed = 0, left_out = 0;
  std::string why_left_out;
  for (const SuiteCase& one : *suite) {
    const KernelInfo& kernel = **find_kernel(one.kernel);
    if (const Status runs = runs_on_this_device(kernel); !runs) {
      ++left_out;
      why_left_out = runs.error().sentence.text();
      continue;
    }
    const Result<AttentionProblem> problem = settled_problem(one);
    Result<MeasuredCase> measured = problem ? session->measure(kernel, *problem, suite_options, nullptr) : problem.error();
    // A GPU that takes no more work would refuse every later case, and they would replace an older file.
    if (const Status alive = wait_for(nullptr); !alive) {
      progress.end();
      return Error{fmt::format("case {} of {} ({}): {}", bundle.cases.size() + 1, suite->size(), one.kernel,
                               (measured ? alive.error() : measured.error()).sentence.text()),
                   Error::Kind::machine_lacks};
    }
    bundle.cases.push_back(measured ? *measured : refused_case(one, kernel, measured.error()));
    MeasuredCase& kept = bundle.cases.back();
    kept.list = one.list;
    kept.presets = one.presets;
    if (!kept.refused.empty()) ++failed;
    progress.show(fmt::format("measure: {} of {} cases, {} not whole; {} {}: {:.1f} us{}{}", bundle.cases.size(), suite->size(),
                              failed, one.kernel, short_text(kept), kept.time_cold_ns.median / 1e3,
                              kept.refused.empty() ? "" : ", ", kept.refused));
  }
  progress.end();
  Outputs outputs(out);
  if (const Status added = outputs.add(*line.json, to_json(bundle)); !added) return added.error();
  if (!standard_output_taken(line)) {
    const std::string summary =
        fmt::format("{}: {} cases in {:.0f} s, {} of them not whole{}{}{}\n", session->device().name, bundle.cases.size(),
                    seconds_since(start), failed, session->refused().empty() ? "" : "; no counters: ", session->refused(),
                    left_out == 0 ? "" : fmt::format("; {} cases left out: {}", left_out, why_left_out));
    if (const Status added = outputs.add("-", summary); !added) return added.error();
  }
  if (const Status finished = outputs.finish(); !finished) return finished.error();
  return failed == 0 ? exit_done : exit_did_not_hold;
}

}  // namespace

Result<int> run_measure(const CommandLine& line, std::FILE* out, std::FILE* err) {
  if (!line.probe.empty()) return measure_probe(line, out);
  if (!line.samples.empty()) return measure_samples(line, out);
  return line.suite.empty() ? measure_one(line, out) : measure_suite(line, out, err);
}

}  // namespace tilescope
