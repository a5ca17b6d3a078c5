// The GPU specs that come with the program, and those of the user.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/gpu_spec.h"

namespace tilescope {

/// The ids that load_gpu() knows: toy and textbook first, the rest by name. Empty when the assets are missing.
std::vector<std::string> gpu_ids();

/// Whether no such chip was ever built: nothing of it can be measured.
bool is_imagined(std::string_view gpu);

/// Whether a GPU from a file has the id of a shipped GPU and other numbers: what is recorded of that one is not of this.
bool has_other_numbers(const GpuSpec& gpu);

/// Returns whether every number of the GPU is as its file has it.
bool unchanged(const GpuSpec& gpu);
/// Takes back what was changed of a GPU. Returns false, and leaves the GPU, where it cannot be loaded again.
bool take_unchanged(GpuSpec& gpu);

/// The folder of the GPU specs that this program measured: XDG_DATA_HOME/tilescope/gpus, else HOME/.local/share/…; nullopt where
/// neither is set.
std::optional<std::filesystem::path> own_gpu_folder();
/// The files in it, by name.
std::vector<std::string> own_gpus();

/// Whether load_gpu() takes this as the path of a file: it ends in .toml or has a slash.
bool is_gpu_file(std::string_view id_or_path);

/// Loads a GPU spec by id ("h200"), or from a user's file when given a path. A file with all the numbers of a shipped GPU has the
/// id of that one. Errors  unknown id (with the nearest), assets missing, and everything that read_text_file() and parse_gpu_spec()
/// refuse.
Result<GpuSpec> load_gpu(std::string_view id_or_path);

}  // namespace tilescope
