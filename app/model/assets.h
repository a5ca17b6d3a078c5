// Finding the files that come with the program (GPU specs, lessons, languages, measurements), and loading GPU specs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/gpu_spec.h"

namespace tilescope {

/// Lists the folders that assets are looked for in, in this order. TILESCOPE_ASSETS, when set, is the only one. Else:
/// share/tilescope/assets of the prefix that the executable is installed in, assets/ beside it and in the folders above it (a build
/// in the source tree), and the usual system prefixes.
std::vector<std::filesystem::path> asset_folders();

/// The path of an asset such as "gpus/toy.toml" or "lang/ko.toml".
/// Errors  no such asset anywhere: names the folders that were looked in.
Result<std::filesystem::path> find_asset(std::string_view relative);

/// The ids that load_gpu() knows: toy and textbook first, the rest by name. Empty when the assets are missing.
std::vector<std::string> gpu_ids();

/// Loads a GPU spec by id ("h200"), or from a user's file when given a path (ends in .toml or has a slash).
/// Errors  unknown id (with the nearest), assets missing, and everything that read_text_file() and parse_gpu_spec() refuse.
Result<GpuSpec> load_gpu(std::string_view id_or_path);

}  // namespace tilescope
