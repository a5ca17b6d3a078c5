// Looks beside the executable, where it was installed, and where it was built.
#include "app/platform/asset_files.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "app/platform/files.h"
#include "sim/core/refuse.h"
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
  return Error{phrase("there is no {} in {}: set TILESCOPE_ASSETS to the folder that has it", printable(relative), places),
               Error::Kind::machine_lacks};
}

std::vector<fs::path> find_assets(std::string_view folder, std::string_view extension) {
  std::vector<fs::path> files;
  for (const fs::path& assets : asset_folders()) {
    for (const fs::path& path : paths_in(assets / folder))
      if (path.extension() == extension) files.push_back(path);
    if (!files.empty()) break;
  }
  return files;
}

}  // namespace tilescope
