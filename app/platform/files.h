// Reads and writes whole files; every failure is one clear sentence.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

inline constexpr std::size_t largest_text_bytes = std::size_t{16} << 20;

/// Reads a whole text file.
/// Errors  missing, a folder or a device, not readable, empty, binary (holds a zero byte), larger than `limit`.
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit = largest_text_bytes);

/// Writes `content` next to `path`, then renames it: readers see the old file or the new one, never a part.
/// A target that exists and is not a regular file (a pipe, a terminal) is written directly.
/// Errors  a folder, a missing folder, no permission (wrong_request); a full disk (machine_lacks). No partial file stays behind.
Status write_file(const std::filesystem::path& path, std::string_view content);

/// Checks whether write_file() could work, before long work starts.
Status check_writable(const std::filesystem::path& path);

}  // namespace tilescope
