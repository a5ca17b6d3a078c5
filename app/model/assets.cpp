// Finding the files that come with the program, and loading GPU specs.
#include "app/model/assets.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "app/platform/files.h"
#include "sim/core/text.h"

namespace tilescope {

namespace fs = std::filesystem;

namespace {

/// Folders above the executable that are tried: a build in the source tree is at build/<preset>/, its tests one or two deeper.
constexpr int levels_above = 4;

fs::path executable_folder() {
  std::error_code code;
  const fs::path executable = fs::read_symlink("/proc/self/exe", code);
  return code ? fs::path() : executable.parent_path();
}

bool is_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(path, code);
}

}  // namespace

std::vector<fs::path> asset_folders() {
  if (const char* given = std::getenv("TILESCOPE_ASSETS"); given != nullptr && *given != '\0') return {fs::path(given)};
  std::vector<fs::path> folders;
  fs::path folder = executable_folder();
  if (!folder.empty()) {
    folders.push_back(folder.parent_path() / "share" / "tilescope" / "assets");
    for (int level = 0; level < levels_above; ++level) {
      folders.push_back(folder / "assets");
      if (!folder.has_relative_path()) break;
      folder = folder.parent_path();
    }
  }
  for (const char* prefix : {"/usr/local", "/usr"}) {
    const fs::path system = fs::path(prefix) / "share" / "tilescope" / "assets";
    if (std::find(folders.begin(), folders.end(), system) == folders.end()) folders.push_back(system);
  }
  return folders;
}

Result<fs::path> find_asset(std::string_view relative) {
  const std::vector<fs::path> folders = asset_folders();
  for (const fs::path& folder : folders)
    if (fs::path path = folder / relative; is_file(path)) return path;
  std::string places;
  for (const fs::path& folder : folders) places += fmt::format("{}{}", places.empty() ? "" : ", ", printable(folder.native(), 200));
  return Error{fmt::format("there is no {} in {}: set TILESCOPE_ASSETS to the folder that has it", printable(relative), places),
               Error::Kind::machine_lacks};
}

std::vector<std::string> gpu_ids() {
  std::vector<std::string> ids;
  for (const fs::path& folder : asset_folders()) {
    std::error_code code;
    for (fs::directory_iterator file(folder / "gpus", code), end; !code && file != end; file.increment(code)) {
      if (file->path().extension() == ".toml" && is_file(file->path())) ids.push_back(file->path().stem().native());
    }
    if (!ids.empty()) break;  // the folder that find_asset() would take them from
  }
  const auto rank = [](const std::string& id) { return id == "toy" ? 0 : id == "textbook" ? 1 : 2; };
  std::sort(ids.begin(), ids.end(),
            [&](const std::string& a, const std::string& b) { return rank(a) != rank(b) ? rank(a) < rank(b) : a < b; });
  return ids;
}

Result<GpuSpec> load_gpu(std::string_view id_or_path) {
  fs::path path(id_or_path);
  if (!id_or_path.ends_with(".toml") && id_or_path.find('/') == std::string_view::npos) {
    const std::vector<std::string> ids = gpu_ids();
    if (ids.empty()) {
      const auto missing = find_asset("gpus/toy.toml");
      if (!missing) return missing.error();
    }
    if (std::find(ids.begin(), ids.end(), id_or_path) == ids.end()) {
      const std::vector<std::string_view> names(ids.begin(), ids.end());
      return Error{fmt::format("unknown GPU '{}': {}{}", printable(id_or_path), name_hint(id_or_path, names),
                               nearest_name(id_or_path, names) ? "" : "; or give the path of a .toml file")};
    }
    const auto found = find_asset(fmt::format("gpus/{}.toml", id_or_path));
    if (!found) return found.error();
    path = *found;
  }
  const auto text = read_text_file(path, std::size_t{1} << 20);
  if (!text) return text.error();
  return parse_gpu_spec(*text, path.native());
}

}  // namespace tilescope
