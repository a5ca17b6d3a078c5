// Finds and loads GPU specs.
#include "app/model/requests/assets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/platform/asset_files.h"
#include "app/platform/files.h"
#include "sim/analysis/outcome.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace fs = std::filesystem;

namespace {

/// Stands in the provenance of a GPU whose id is that of a shipped one, and whose numbers are not. The clock of a run may change
/// later, and then the numbers alone no longer tell.
constexpr std::string_view id_key = "id";

std::vector<fs::path> specs_in(const fs::path& folder) {
  std::vector<fs::path> specs = paths_in(folder);
  std::erase_if(specs, [](const fs::path& path) {
    std::error_code unreadable;
    return path.extension() != ".toml" || !fs::is_regular_file(path, unreadable);
  });
  return specs;
}

Result<GpuSpec> load_spec(const fs::path& path) {
  const auto text = read_text_file(path, std::size_t{1} << 20);
  if (!text) return text.error();
  return parse_gpu_spec(*text, path.native());
}

/// The shipped GPU that has all the numbers of a spec; nullopt where none has.
std::optional<std::string> shipped_as(const GpuSpec& spec) {
  for (const std::string& id : gpu_ids())
    if (const auto shipped = load_gpu(id); shipped && same_numbers(*shipped, spec)) return id;
  return std::nullopt;
}

}  // namespace

bool is_gpu_file(std::string_view id_or_path) {
  return id_or_path.ends_with(".toml") || id_or_path.find('/') != std::string_view::npos;
}

std::vector<std::string> gpu_ids() {
  std::vector<std::string> ids;
  for (const fs::path& folder : asset_folders()) {
    for (const fs::path& file : specs_in(folder / "gpus")) ids.push_back(file.stem().native());
    if (!ids.empty()) break;  // the folder that find_asset() would take them from
  }
  const auto rank = [](const std::string& id) { return id == "toy" ? 0 : id == "textbook" ? 1 : 2; };
  std::sort(ids.begin(), ids.end(),
            [&](const std::string& a, const std::string& b) { return rank(a) != rank(b) ? rank(a) < rank(b) : a < b; });
  return ids;
}

bool has_other_numbers(const GpuSpec& gpu) {
  return gpu.provenance.contains(id_key);
}

bool unchanged(const GpuSpec& gpu) {
  return std::none_of(gpu.provenance.begin(), gpu.provenance.end(),
                      [](const auto& entry) { return entry.second.note == changed_note; });
}

bool take_unchanged(GpuSpec& gpu) {
  if (unchanged(gpu)) return true;
  Result<GpuSpec> loaded = load_gpu(gpu.id);
  if (!loaded) return false;
  gpu = std::move(*loaded);
  return true;
}

bool is_imagined(std::string_view gpu) {
  return gpu == "toy" || gpu == "textbook";
}

std::optional<fs::path> own_gpu_folder() {
  const auto from = [](const char* name) -> std::optional<fs::path> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value != '/') return std::nullopt;  // the XDG rules ignore a relative path
    return fs::path(value);
  };
  if (const auto data = from("XDG_DATA_HOME")) return *data / "tilescope" / "gpus";
  if (const auto home = from("HOME")) return *home / ".local" / "share" / "tilescope" / "gpus";
  return std::nullopt;
}

std::vector<std::string> own_gpus() {
  std::vector<std::string> files;
  const auto folder = own_gpu_folder();
  if (!folder) return files;
  for (const fs::path& file : specs_in(*folder)) files.push_back(file.native());
  return files;
}

Result<GpuSpec> load_gpu(std::string_view id_or_path) {
  if (is_gpu_file(id_or_path)) {
    auto spec = load_spec(fs::path(id_or_path));
    if (!spec) return spec.error();
    // A GPU is its numbers: what is recorded of a shipped one holds for a copy of its file, whatever id that has.
    if (auto id = shipped_as(*spec))
      spec->id = std::move(*id);
    else if (const auto shipped = gpu_ids(); std::ranges::find(shipped, spec->id) != shipped.end())
      spec->provenance.insert_or_assign(std::string(id_key), Provenance{Source::estimated, "of a file with other numbers"});
    return spec;
  }
  const std::vector<std::string> ids = gpu_ids();
  if (ids.empty()) {
    const auto missing = find_asset("gpus/toy.toml");
    if (!missing) return missing.error();
  }
  if (std::find(ids.begin(), ids.end(), id_or_path) == ids.end()) {
    const std::vector<std::string_view> names(ids.begin(), ids.end());
    return nearest_name(id_or_path, names) ? refuse("unknown GPU '{}': {}", printable(id_or_path), name_hint(id_or_path, names))
                                           : refuse("unknown GPU '{}': {}; or give the path of a .toml file", printable(id_or_path),
                                                    name_hint(id_or_path, names));
  }
  const auto found = find_asset(fmt::format("gpus/{}.toml", id_or_path));
  if (!found) return found.error();
  return load_spec(*found);
}

}  // namespace tilescope
