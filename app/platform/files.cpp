// Reads and writes whole files.
#include "app/platform/files.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "sim/core/text.h"

namespace tilescope {

namespace fs = std::filesystem;

namespace {

std::string quoted(const fs::path& path) {
  return printable(path.native(), 200);
}

std::string reason(int code) {
  return std::generic_category().message(code);
}

Error read_error(const fs::path& path, std::string_view what) {
  return Error{fmt::format("cannot read {}: {}", quoted(path), what)};
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

Error write_error(const fs::path& path, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO;
  const fs::path folder = folder_of(path);
  std::error_code unknown;
  const bool no_folder = code == ENOENT && !fs::is_directory(folder, unknown);
  return Error{no_folder
                   ? fmt::format("cannot write {}: there is no folder {}; make it or name another", quoted(path), quoted(folder))
                   : fmt::format("cannot write {}: {}", quoted(path), reason(code)),
               full ? Error::Kind::machine_lacks : Error::Kind::wrong_request};
}

/// Writes everything to a descriptor. Returns 0 or the first errno.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = ::write(descriptor, content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

Status write_directly(const fs::path& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return write_error(path, errno);
  int code = write_all(descriptor, content);
  if (::close(descriptor) != 0 && code == 0) code = errno;
  if (code != 0) return write_error(path, code);
  return Done{};
}

}  // namespace

Result<std::string> read_text_file(const fs::path& path, std::size_t limit) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) return read_error(path, "there is no such file");
  if (code) return read_error(path, code.message());
  if (fs::is_directory(status)) return read_error(path, "it is a folder");
  if (!fs::is_regular_file(status)) return read_error(path, "it is not a regular file");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return read_error(path, reason(errno));
  std::string text;
  char block[65536];
  while (const std::size_t count = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, count);
    if (text.size() > limit) return read_error(path, fmt::format("it is larger than {} bytes", limit));
  }
  if (std::ferror(file.get()) != 0) return read_error(path, "reading stopped with an error");
  if (text.empty()) return read_error(path, "it is empty");
  if (text.find('\0') != std::string::npos) return read_error(path, "it is binary, not text");
  return text;
}

Status write_file(const fs::path& path, std::string_view content) {
  if (path.empty()) return Error{"cannot write: the file name is empty"};
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (fs::is_directory(status)) return Error{fmt::format("cannot write {}: it is a folder", quoted(path))};
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_directly(path, content);
  // Follows a link, so that its target is replaced, not the link.
  fs::path target = fs::exists(status) ? fs::canonical(path, code) : path;
  if (code) target = path;
  if (fs::exists(status) && ::access(target.c_str(), W_OK) != 0) return write_error(path, errno);

  const fs::path part = target.native() + fmt::format(".part-{}", ::getpid());
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return write_error(path, errno);
  int failure = write_all(descriptor, content);
  if (::close(descriptor) != 0 && failure == 0) failure = errno;
  if (failure == 0 && fs::exists(status)) fs::permissions(part, status.permissions(), code);  // keeps the old permissions; optional
  if (failure == 0 && std::rename(part.c_str(), target.c_str()) != 0) failure = errno;
  if (failure != 0) {
    ::unlink(part.c_str());
    return write_error(path, failure);
  }
  return Done{};
}

Status check_writable(const fs::path& path) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status)) return Done{};  // a pipe, a terminal; a folder is refused when written
  if (::access(folder_of(path).c_str(), W_OK) != 0) return write_error(path, errno);
  return Done{};
}

}  // namespace tilescope
