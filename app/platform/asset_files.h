// Finding the files that come with the program: GPU specs, lessons, languages, measurements.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// Lists the folders that assets are looked for in, in this order. TILESCOPE_ASSETS, when set, is the only one. Else:
/// share/tilescope/assets of the prefix that the executable is installed in, assets/ beside it and in the folders above it (a build
/// in the source tree), and the usual system prefixes.
std::vector<std::filesystem::path> asset_folders();

/// The path of an asset such as "gpus/toy.toml" or "lang/ko.toml".
/// Errors  no such asset anywhere: names the folders that were looked in.
Result<std::filesystem::path> find_asset(std::string_view relative);

/// Lists the files of an asset folder such as "lessons" with an extension such as ".md", by name: those of the first of
/// asset_folders() that has any.
std::vector<std::filesystem::path> find_assets(std::string_view folder, std::string_view extension);

}  // namespace tilescope
