// Reading and searching measurement bundles.
#include "app/model/measurements/measurements.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/model/measurements/validation_tables.h"
#include "app/model/requests/assets.h"
#include "app/platform/asset_files.h"
#include "app/platform/files.h"
#include "kernels/kernel_table.h"
#include "kernels/measure/bundle.h"
#include "kernels/measure/measure_case.h"
#include "kernels/measure/probe_json.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/occupancy.h"

namespace tilescope {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view bundle_schema = "tilescope.measurements/";

bool is_reference(const fs::path& file) {
  return file.stem() == reference_gpu;
}

/// The JSON files of assets/measured/ by name, that of the reference GPU first.
std::vector<fs::path> recorded_files() {
  std::vector<fs::path> files = find_assets("measured", ".json");
  std::stable_partition(files.begin(), files.end(), &is_reference);
  return files;
}

/// Bundles, probes and samples lie beside each other, each with a schema of its own in its first line or two.
constexpr std::size_t head = 256;
bool head_has(std::string_view text, std::string_view what) {
  return text.substr(0, head).find(what) != std::string_view::npos;
}

bool is_recording(std::string_view text) {
  return head_has(text, bundle_schema) || head_has(text, "tilescope.probe/") || head_has(text, "tilescope.bandwidth/");
}

/// Whether a file has the name of a GPU's recording: "h100.json" or "h100-flash3.json".
bool is_named_after(const fs::path& file, std::string_view gpu) {
  const std::string name = file.stem().native();
  return name.starts_with(gpu) && (name.size() == gpu.size() || name[gpu.size()] == '-');
}

/// Whether this is a probe of a GPU, by its device's name in the first lines.
bool is_probe_of(std::string_view text, std::string_view gpu) {
  constexpr std::string_view key = "\"device\": \"";
  if (!head_has(text, "tilescope.probe/")) return false;
  const std::string_view first = text.substr(0, head);
  const std::size_t at = first.find(key);
  if (at == std::string_view::npos) return false;
  const std::string_view device = first.substr(at + key.size());
  return spec_id_of(std::string(device.substr(0, device.find('"')))) == gpu;
}

/// Keeps the first problem.
void note_problem(Measurements& out, Sentence problem) {
  if (out.problem.empty()) out.problem = std::move(problem);
}

void take_probe(Measurements& out, const fs::path& path, std::string_view text) {
  Result<ProbeResult> probe = probe_from_json(text);
  if (!probe) {
    note_problem(out, phrase("{}: {}", printable(path.native(), 200), probe.error().sentence));
    return;
  }
  InputSource inputs;
  inputs.seed = probe->seed;
  out.probes.push_back(std::make_shared<const KnownProbe>(KnownProbe{std::move(*probe), inputs, false}));
}

void take_bandwidth(Measurements& out, const fs::path& path, std::string_view text) {
  Result<BandwidthRecord> record = bandwidth_from_json(text);
  if (record)
    out.bandwidths.push_back(std::make_shared<const KnownBandwidth>(KnownBandwidth{std::move(*record), false}));
  else
    note_problem(out, phrase("{}: {}", printable(path.native(), 200), record.error().sentence));
}

/// Whether blocks started in the kernel's order, as many on an SM as fit.
bool starts_as_kernel(const Simulation& simulation) {
  return simulation.request.block_order == BlockOrder::launch && has_as_many_blocks_as_fit(simulation);
}

/// The tile of a run, without a number of buffers where it is the kernel's own.
ProgramTile kernel_tile(const Simulation& simulation) {
  ProgramTile tile = simulation.program->tile();
  if (tile.stages == 0) return tile;
  ProgramTile usual = tile;
  usual.stages = 0;
  const auto program = simulation.info->make(simulation.request.problem, usual, simulation.request.gpu);
  if (program && own_ring(**program) == tile.stages) tile.stages = 0;
  return tile;
}

/// Whether something recorded is of the kernel, problem and tile that were simulated. Another order of the keys is another kernel;
/// a kernel that chooses one of several is the one that it chooses.
template <class Recorded>
bool is_of_kernel(const Recorded& recorded, const Simulation& simulation) {
  const SimulationRequest& asked = simulation.request;
  const Result<const KernelInfo*> kernel = find_kernel(asked.algorithm, asked.key_order);
  ProgramTile tile = recorded.tile;
  tile.key_order = simulation.program->tile().key_order;  // the rungs to Hopper have one of their own
  if (!kernel || !(recorded.problem == asked.problem) || !(tile == kernel_tile(simulation))) return false;
  return recorded.kernel == (*kernel)->id || recorded.kernel == chosen_by(*simulation.info, asked.problem);
}

/// The same, and of the GPU.
template <class Recorded>
bool is_of(const Recorded& recorded, const Simulation& simulation) {
  return spec_id_of(recorded.device) == simulation.request.gpu.id && is_of_kernel(recorded, simulation);
}

Result<MeasurementBundle> parse(const fs::path& path, std::string_view text) {
  Result<MeasurementBundle> bundle = bundle_from_json(text);
  if (!bundle) return refuse("{}: {}", printable(path.native(), 200), bundle.error().sentence);
  if (bundle->cases.empty()) return refuse("{}: the measurement bundle has no cases", printable(path.native(), 200));
  return bundle;
}

Result<KnownMisses> known_misses_of(const fs::path& bundle) {
  const fs::path path = bundle.parent_path() / (bundle.stem().native() + "-known-misses.toml");
  std::error_code code;
  if (!fs::exists(path, code)) return KnownMisses{};
  const auto text = read_text_file(path);
  if (!text) return text.error();
  Result<KnownMisses> misses = known_misses_from_toml(*text, path.native());
  if (misses) misses->file = path.filename().native();
  return misses;
}

/// Reads a bundle, and what lies beside it. `shipped`: one of assets/measured, whose errors are known.
Result<KnownBundle> known_bundle(const fs::path& path, std::string_view text, bool shipped = false) {
  Result<MeasurementBundle> bundle = parse(path, text);
  if (!bundle) return bundle.error();
  Result<KnownMisses> misses = known_misses_of(path);
  if (!misses) return misses.error();
  KnownBundle known{std::move(*bundle), path.native(), false, std::move(*misses)};
  if (!shipped) return known;
  const std::string name = path.stem().native();
  known.time_errors = time_errors_in_table(name, known.bundle.cases);
  known.results = results_in_table(name, known.bundle.cases, known.misses.of(known.bundle));
  return known;
}

}  // namespace

bool unchanged(const GpuSpec& gpu) {
  return std::none_of(gpu.provenance.begin(), gpu.provenance.end(),
                      [](const auto& entry) { return entry.second.note == changed_note; });
}

bool take_unchanged_gpu(SimulationRequest& request) {
  if (unchanged(request.gpu)) return true;
  Result<GpuSpec> gpu = load_gpu(request.gpu.id);
  if (!gpu) return false;
  request.gpu = std::move(*gpu);
  return true;
}

bool has_as_many_blocks_as_fit(const Simulation& simulation) {
  const SimulationRequest& asked = simulation.request;
  if (!asked.blocks_per_sm) return true;
  return std::ranges::all_of(simulation.program->launches(), [&](const LaunchSpec& launch) {
    const auto fits = occupancy(*simulation.program, launch, asked.gpu);
    return !fits || *asked.blocks_per_sm >= fits->blocks_per_sm;
  });
}

Result<KnownBundle> load_bundle(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text) return text.error();
  return known_bundle(path, *text);
}

Result<KnownBundle> load_default_bundle() {
  for (const fs::path& file : recorded_files()) {
    const auto text = read_text_file(file);
    // Of a damaged file only the name is left to go by: the reference GPU's is always a bundle.
    if (text && !is_reference(file) && !head_has(*text, bundle_schema)) continue;
    return text ? known_bundle(file, *text) : text.error();
  }
  return Error{
      phrase("validate compares with what real kernels measured, and there is no bundle in assets/measured: record one with "
             "tilescope measure --suite on a machine with an NVIDIA GPU, or name one with --bundle FILE"),
      Error::Kind::machine_lacks};
}

Result<KnownBundle> load_bundle_of(std::string_view gpu) {
  for (const fs::path& file : recorded_files())
    if (file.stem() == gpu) return load_bundle(file.native());
  if (is_imagined(gpu)) return refuse("{} was never built, so nothing is recorded of it: name another --gpu", printable(gpu));
  return refuse("nothing is recorded of {}: name the bundle to compare with as --bundle FILE", printable(gpu));
}

Measurements load_measurements() {
  Measurements out;
  for (const fs::path& file : recorded_files()) {
    const auto text = read_text_file(file);
    if (text && head_has(*text, "tilescope.probe/")) take_probe(out, file, *text);
    if (text && head_has(*text, "tilescope.bandwidth/")) take_bandwidth(out, file, *text);
    if (text && !head_has(*text, bundle_schema)) continue;
    Result<KnownBundle> bundle = text ? known_bundle(file, *text, true) : text.error();
    if (bundle)
      out.bundles.push_back(std::make_shared<const KnownBundle>(std::move(*bundle)));
    else
      note_problem(out, bundle.error().sentence);
  }
  return out;
}

Measurements load_measurements_of(std::string_view gpu) {
  Measurements out;
  const std::string named = fmt::format("\"gpu\": \"{}\"", gpu);
  for (const fs::path& file : recorded_files()) {
    const auto text = read_text_file(file);
    if (text && is_probe_of(*text, gpu)) take_probe(out, file, *text);
    if (!text || !is_recording(*text)) {
      // Of a damaged file only the name is left to go by.
      if (is_named_after(file, gpu))
        note_problem(out, text ? phrase("{}: it is no recording", printable(file.native(), 200)) : text.error().sentence);
      continue;
    }
    if (!head_has(*text, bundle_schema) || !head_has(*text, named)) continue;
    Result<KnownBundle> bundle = known_bundle(file, *text, true);
    if (bundle)
      out.bundles.push_back(std::make_shared<const KnownBundle>(std::move(*bundle)));
    else
      note_problem(out, bundle.error().sentence);
  }
  return out;
}

std::optional<FoundCase> find_case(const Measurements& measurements, const Simulation& simulation) {
  const SimulationRequest& asked = simulation.request;
  if (!unchanged(asked.gpu) || !starts_as_kernel(simulation)) return std::nullopt;
  for (const auto& known : measurements.bundles) {
    if (known->bundle.gpu != asked.gpu.id || (has_other_numbers(asked.gpu) && !known->live)) continue;
    const auto& cases = known->bundle.cases;
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (!cases[i].is_changed() && is_of_kernel(cases[i], simulation)) return FoundCase{known, i};
  }
  return std::nullopt;
}

std::optional<FoundCase> find_case(const Measurements& measurements, const SimulationRequest& request) {
  if (!request.masking.empty() || measurements.bundles.empty()) return std::nullopt;
  const Result<PlannedRun> plan = plan_run(request);
  if (!plan) return std::nullopt;
  Simulation planned;
  planned.request = plan->request;
  planned.info = plan->info;
  planned.program = plan->program;
  return find_case(measurements, planned);
}

const MeasuredCase* find_case(const Measurements& measurements, const GpuSpec& gpu, std::string_view kernel,
                              const AttentionProblem& problem) {
  if (!unchanged(gpu)) return nullptr;
  const auto find = [&](std::string_view name) -> const MeasuredCase* {
    for (const auto& known : measurements.bundles) {
      if (known->bundle.gpu != gpu.id || (has_other_numbers(gpu) && !known->live)) continue;
      for (const MeasuredCase& measured : known->bundle.cases)
        if (!measured.is_changed() && measured.kernel == name && measured.problem == problem) return &measured;
    }
    return nullptr;
  };
  if (const MeasuredCase* const own = find(kernel)) return own;
  const auto row = find_program(kernel);
  return row ? find(chosen_by(**row, problem)) : nullptr;
}

std::vector<std::shared_ptr<const KnownProbe>> find_probes(const Measurements& measurements, const Simulation& simulation) {
  std::vector<std::shared_ptr<const KnownProbe>> found;
  if (!unchanged(simulation.request.gpu) || !starts_as_kernel(simulation)) return found;
  for (const auto& known : measurements.probes)
    if (is_of(known->probe, simulation) && (known->live || !has_other_numbers(simulation.request.gpu))) found.push_back(known);
  return found;
}

std::shared_ptr<const KnownBandwidth> find_bandwidth(const Measurements& measurements, const Simulation& simulation) {
  if (!unchanged(simulation.request.gpu)) return nullptr;
  for (const auto& known : measurements.bandwidths)
    if (is_of(known->record, simulation) && (known->live || !has_other_numbers(simulation.request.gpu))) return known;
  return nullptr;
}

bool same_numbers(const InputSource& a, const InputSource& b) {
  const auto same = [](const auto& x, const auto& y) { return x == y || (x != nullptr && y != nullptr && *x == *y); };
  return a.seed == b.seed && a.spread == b.spread && same(a.q, b.q) && same(a.k, b.k) && same(a.v, b.v);
}

}  // namespace tilescope
