// Reading and writing whole files, with one clear sentence for everything that can go wrong.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/core/result.h"

namespace tilescope {

inline constexpr std::size_t largest_text_bytes = std::size_t{16} << 20;

/// Reads a text file whole.
/// Errors  missing, a folder or a device, not readable, empty, binary (holds a zero byte), larger than `limit`.
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit = largest_text_bytes);

/// Writes `content` beside `path` and renames it there: a reader sees the old file or the new one, never a part.
/// A target that exists and is not a regular file (a pipe, a terminal) is written directly.
/// Errors  a folder, a missing folder, no permission (wrong_request); a full disk (machine_lacks). No partial file stays behind.
Status write_file(const std::filesystem::path& path, std::string_view content);

/// Whether write_file() could begin, as far as the folder tells: asked before long work, whose result has to go somewhere.
Status check_writable(const std::filesystem::path& path);

}  // namespace tilescope
