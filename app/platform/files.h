// Reads and writes whole files; every failure is one clear sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

inline constexpr std::size_t largest_text_bytes = std::size_t{16} << 20;

/// Returns a path from the root on; as it is where that cannot be known.
std::string whole_path(const std::filesystem::path& path);

/// Returns the paths of what a folder holds, by name; of none, or of what was read, where it cannot be read.
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder);

/// Reads a whole text file.
/// Errors  missing, a folder or a device, not readable, empty, binary (holds a zero byte), larger than `limit`.
Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit = largest_text_bytes);

/// The beginning of a file, and how many bytes the whole has.
struct FileStart {
  std::string bytes;
  std::uintmax_t whole = 0;
};
/// Reads at most the first `most` bytes of a file.
/// Errors  missing, a folder or a device, not readable, empty.
Result<FileStart> read_file_start(const std::filesystem::path& path, std::size_t most);

/// Reads a whole file, whatever is in it. One that is too large is refused unread.
/// Errors  missing, a folder or a device, not readable, empty, larger than `limit`.
Result<std::string> read_binary_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 30);

/// Files that appear together or not at all. Each is written beside its target first, so that a full disk spoils nothing; commit()
/// then renames them. A target that exists and is not a regular file (a pipe, a terminal) is written directly, by commit().
class FileBatch {
 public:
  FileBatch() = default;
  FileBatch(const FileBatch&) = delete;
  FileBatch& operator=(const FileBatch&) = delete;
  /// Removes what was not placed.
  ~FileBatch();

  /// Errors  a folder, a missing folder, no permission (wrong_request); a full disk (machine_lacks).
  Status add(const std::filesystem::path& path, std::string_view content);
  /// Writes the targets that are not regular files, where commit() has not done so yet. Errors  as add().
  Status write_streams();
  /// Errors  as add(); every old file is then what it was.
  Status commit();

 private:
  struct Part {
    std::filesystem::path path, target, part, kept;
    int descriptor = -1;  // holds the lock that tells others that this part is in use
    bool replaces = false, placed = false;
  };
  struct Stream {
    std::filesystem::path path;
    std::string content;
  };
  Status commit_part(Part& part, bool alone);
  void take_back();

  std::vector<Part> parts_;
  std::vector<Stream> streams_;
};

/// Writes one file as FileBatch does: a reader sees the old file or the new one, never a part.
Status write_file(const std::filesystem::path& path, std::string_view content);

/// Whether write_file() could begin: tries it with an empty part. Asked before long work, whose result has to go somewhere.
Status check_writable(const std::filesystem::path& path);

/// Whether both names are of one regular file, links and "./" seen through; a file need not exist yet.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace tilescope
