// Reads the files of assets/measured/.
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
#include "kernels/measure/bundle.h"
#include "kernels/measure/measure_case.h"
#include "kernels/measure/probe_json.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view bundle_schema = "tilescope.measurements/", probe_schema = "tilescope.probe/",
                           bandwidth_schema = "tilescope.bandwidth/";

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
  return head_has(text, bundle_schema) || head_has(text, probe_schema) || head_has(text, bandwidth_schema);
}

/// Whether a file has the name of a GPU's recording: "h100.json" or "h100-flash3.json".
bool is_named_after(const fs::path& file, std::string_view gpu) {
  const std::string name = file.stem().native();
  return name.starts_with(gpu) && (name.size() == gpu.size() || name[gpu.size()] == '-');
}

/// Whether this is a probe of a GPU, by its device's name in the first lines.
bool is_probe_of(std::string_view text, std::string_view gpu) {
  constexpr std::string_view key = "\"device\": \"";
  if (!head_has(text, probe_schema)) return false;
  const std::string_view first = text.substr(0, head);
  const std::size_t at = first.find(key);
  if (at == std::string_view::npos) return false;
  const std::string_view device = first.substr(at + key.size());
  return spec_id_of(std::string(device.substr(0, device.find('"')))) == gpu;
}

/// Whether this is a bundle of a GPU, by its id in the first lines.
bool is_bundle_of(std::string_view text, std::string_view gpu) {
  return head_has(text, bundle_schema) && head_has(text, fmt::format("\"gpu\": \"{}\"", gpu));
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

void take_bundle(Measurements& out, const fs::path& path, std::string_view text) {
  Result<KnownBundle> bundle = known_bundle(path, text, true);
  if (bundle)
    out.bundles.push_back(std::make_shared<const KnownBundle>(std::move(*bundle)));
  else
    note_problem(out, bundle.error().sentence);
}

/// Adds what a file of assets/measured has, by its schema.
void take_recording(Measurements& out, const fs::path& path, std::string_view text) {
  if (head_has(text, probe_schema)) take_probe(out, path, text);
  if (head_has(text, bandwidth_schema)) take_bandwidth(out, path, text);
  if (head_has(text, bundle_schema)) take_bundle(out, path, text);
}

}  // namespace

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
    if (text)
      take_recording(out, file, *text);
    else
      note_problem(out, text.error().sentence);
  }
  return out;
}

Measurements load_measurements_of(std::string_view gpu) {
  Measurements out;
  for (const fs::path& file : recorded_files()) {
    const auto text = read_text_file(file);
    if (text && is_recording(*text)) {
      if (is_bundle_of(*text, gpu) || is_probe_of(*text, gpu)) take_recording(out, file, *text);
    } else if (is_named_after(file, gpu)) {  // of a damaged file only the name is left to go by
      note_problem(out, text ? phrase("{}: it is no recording", printable(file.native(), 200)) : text.error().sentence);
    }
  }
  return out;
}

}  // namespace tilescope
