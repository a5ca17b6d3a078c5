// Reads and writes whole files.
#include "app/platform/files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace fs = std::filesystem;

namespace {

std::string quoted(const fs::path& path) {
  return printable(path.native(), 200);
}

/// What the system says; languages translate the frequent ones.
Sentence reason(int code) {
  return Sentence(std::generic_category().message(code), {});
}

Error read_error(const fs::path& path, const Sentence& what) {
  return refuse("cannot read {}: {}", quoted(path), what);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

Error write_error(const fs::path& path, int code) {
  const bool full = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EIO;
  const fs::path folder = folder_of(path);
  std::error_code unknown;
  if (code == ENOENT && path.is_relative() && fs::current_path(unknown).empty())
    return refuse("cannot write {}: the working folder has been deleted", quoted(path));
  const bool no_folder = code == ENOENT && !fs::is_directory(folder, unknown);
  return Error{no_folder ? phrase("cannot write {}: there is no folder {}; make it or name another", quoted(path), quoted(folder))
                         : phrase("cannot write {}: {}", quoted(path), reason(code)),
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
  // Without a reader a named pipe would keep open() waiting for ever.
  std::error_code unknown;
  const bool is_pipe = fs::is_fifo(path, unknown);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | (is_pipe ? O_NONBLOCK : 0));
  if (descriptor < 0 && is_pipe && errno == ENXIO)
    return refuse("cannot write {}: it is a named pipe that nobody reads; start its reader first", quoted(path));
  if (descriptor < 0) return write_error(path, errno);
  if (is_pipe) ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  int code = write_all(descriptor, content);
  if (::close(descriptor) != 0 && code == 0) code = errno;
  if (code != 0) return write_error(path, code);
  return Done{};
}

/// The file that a name leads to, through links; its last link may lead to a file that is not there yet.
fs::path end_of_links(fs::path path) {
  constexpr int most_links = 40;
  std::error_code code;
  for (int i = 0; i < most_links; ++i) {
    const fs::path next = fs::read_symlink(path, code);
    if (code) break;
    path = next.is_absolute() ? next : folder_of(path) / next;
  }
  return path;
}

/// What is wrong with writing there, as far as the name tells.
Status check_target(const fs::path& path, const fs::file_status& status) {
  if (path.empty()) return refuse("cannot write: the file name is empty");
  if (fs::is_directory(status)) return refuse("cannot write {}: it is a folder", quoted(path));
  if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0) return write_error(path, errno);
  return Done{};
}

constexpr std::string_view part_suffix = ".part-";

fs::path part_of(const fs::path& target) {
  return target.native() + fmt::format("{}{}", part_suffix, ::getpid());
}

/// Removes parts of this target whose program has ended without doing so: killed, or out of power.
void remove_leftovers(const fs::path& target) {
  const std::string start = target.filename().native() + std::string(part_suffix);
  std::vector<fs::path> left;
  for (const fs::path& path : paths_in(folder_of(target))) {
    const std::string name = path.filename().native();
    if (!name.starts_with(start)) continue;
    int process = 0;
    const char* const end = name.data() + name.size();
    if (const auto read = std::from_chars(name.data() + start.size(), end, process); read.ec != std::errc{} || read.ptr != end)
      continue;  // not a name that part_of() gives
    const bool ended = process == ::getpid() || (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH);
    if (ended) left.push_back(path);
  }
  for (const fs::path& part : left) {
    // A process of another container cannot be seen, but its lock can. The same holds for this process.
    const int descriptor = ::open(part.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(part.c_str());
    ::close(descriptor);
  }
}

int open_part(const fs::path& part) {
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor >= 0) ::flock(descriptor, LOCK_EX | LOCK_NB);  // where there are no locks, there is the process id
  return descriptor;
}

}  // namespace

std::vector<fs::path> paths_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  // Not std::filesystem::directory_iterator: it allocates where it may not throw, and without memory ends the program.
  const std::unique_ptr<DIR, decltype([](DIR* open) { ::closedir(open); })> open(::opendir(folder.c_str()));
  if (open == nullptr && errno == ENOMEM) throw std::bad_alloc();
  while (open != nullptr) {
    const dirent* entry = ::readdir(open.get());
    if (entry == nullptr) break;
    if (const std::string_view name = entry->d_name; name != "." && name != "..") paths.push_back(folder / name);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

namespace {

Status check_readable(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) return read_error(path, phrase("there is no such file"));
  if (code) return read_error(path, reason(code.value()));
  if (fs::is_directory(status)) return read_error(path, phrase("it is a folder"));
  if (!fs::is_regular_file(status)) return read_error(path, phrase("it is not a regular file"));
  return Done{};
}

/// Reads until the end or, as soon as there are more than `most` bytes, until then.
Result<std::string> read_more_than(const fs::path& path, std::size_t most) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return read_error(path, reason(errno));
  std::string text;
  char block[65536];
  while (const std::size_t count = std::fread(block, 1, sizeof block, file.get())) {
    text.append(block, count);
    if (text.size() > most) break;
  }
  if (std::ferror(file.get()) != 0) return read_error(path, phrase("reading stopped with an error"));
  if (text.empty()) return read_error(path, phrase("it is empty"));
  return text;
}

}  // namespace

Result<FileStart> read_file_start(const fs::path& path, std::size_t most) {
  if (const Status readable = check_readable(path); !readable) return readable.error();
  auto text = read_more_than(path, most);
  if (!text) return text.error();
  std::error_code unknown;
  const std::uintmax_t whole = fs::file_size(path, unknown);
  FileStart start{std::move(*text), 0};
  start.whole = unknown ? start.bytes.size() : std::max<std::uintmax_t>(whole, start.bytes.size());
  if (start.bytes.size() > most) start.bytes.resize(most);
  return start;
}

Result<std::string> read_binary_file(const fs::path& path, std::size_t limit) {
  if (const Status readable = check_readable(path); !readable) return readable.error();
  // Some files have no size before they are read.
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(path, unknown);
  if (!unknown && size > limit) return read_error(path, phrase("it is larger than {} bytes", limit));
  auto text = read_more_than(path, limit);
  if (text && text->size() > limit) return read_error(path, phrase("it is larger than {} bytes", limit));
  return text;
}

std::string whole_path(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error).lexically_normal();
  return error ? path.string() : whole.string();
}

Result<std::string> read_text_file(const fs::path& path, std::size_t limit) {
  Result<std::string> text = read_binary_file(path, limit);
  if (!text) return text;
  if (text->find('\0') != std::string::npos) return read_error(path, phrase("it is binary, not text"));
  return text;
}

FileBatch::~FileBatch() {
  for (const Part& part : parts_) {
    if (part.descriptor >= 0) ::close(part.descriptor);
    if (!part.placed) ::unlink(part.part.c_str());
  }
}

Status FileBatch::add(const fs::path& path, std::string_view content) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (Status good = check_target(path, status); !good) return good;
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    streams_.push_back({path, std::string(content)});
    return Done{};
  }
  Part part;
  part.path = path;
  part.target = end_of_links(path);  // the file that a link names is replaced, and not the link
  part.part = part_of(part.target);
  part.replaces = fs::exists(status);
  remove_leftovers(part.target);
  part.descriptor = open_part(part.part);
  if (part.descriptor < 0) return write_error(path, errno);
  parts_.push_back(part);
  if (const int failure = write_all(part.descriptor, content)) return write_error(path, failure);
  // Some file systems tell of a full disk only when a descriptor is closed.
  if (const int second = ::dup(part.descriptor); second >= 0 && ::close(second) != 0) return write_error(path, errno);
  if (part.replaces) fs::permissions(part.part, status.permissions(), code);  // those of the old file; not vital
  return Done{};
}

Status FileBatch::commit_part(Part& part, bool alone) {
  // A second name of the old file, to go back to. Where the file system has none, a failure of the next rename is not undone.
  if (part.replaces && !alone) {
    part.kept = part.part.native() + "-old";
    if (::link(part.target.c_str(), part.kept.c_str()) != 0) part.kept.clear();
  }
  if (std::rename(part.part.c_str(), part.target.c_str()) != 0) return write_error(part.path, errno);
  part.placed = true;
  return Done{};
}

void FileBatch::take_back() {
  for (Part& part : parts_) {
    if (part.placed && !part.kept.empty())
      std::rename(part.kept.c_str(), part.target.c_str());
    else if (part.placed && !part.replaces)
      ::unlink(part.target.c_str());
    else if (!part.kept.empty())
      ::unlink(part.kept.c_str());
  }
}

Status FileBatch::write_streams() {
  for (const Stream& stream : std::exchange(streams_, {}))
    if (Status written = write_directly(stream.path, stream.content); !written) return written;
  return Done{};
}

Status FileBatch::commit() {
  if (Status written = write_streams(); !written) return written;
  for (Part& part : parts_) {
    if (Status placed = commit_part(part, parts_.size() == 1); !placed) {
      take_back();
      return placed;
    }
  }
  for (const Part& part : parts_)
    if (!part.kept.empty()) ::unlink(part.kept.c_str());
  return Done{};
}

Status write_file(const fs::path& path, std::string_view content) {
  FileBatch batch;
  if (Status added = batch.add(path, content); !added) return added;
  return batch.commit();
}

Status check_writable(const fs::path& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (Status good = check_target(path, status); !good) return good;
  if (fs::exists(status) && !fs::is_regular_file(status)) return Done{};
  const fs::path target = end_of_links(path), part = part_of(target);
  remove_leftovers(target);
  const int descriptor = open_part(part);
  if (descriptor < 0) return write_error(path, errno);
  ::close(descriptor);
  ::unlink(part.c_str());
  return Done{};
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code code;
  for (const fs::path& path : {a, b}) {
    const fs::file_status status = fs::status(path, code);
    if (fs::exists(status) && !fs::is_regular_file(status)) return false;
  }
  if (fs::equivalent(a, b, code)) return true;
  const auto whole = [&](const fs::path& path) {
    const fs::path from_root = fs::absolute(end_of_links(path), code);  // fails in a folder that has been deleted
    return code ? fs::path() : fs::weakly_canonical(from_root, code);
  };
  const fs::path first = whole(a);
  if (code) return false;
  const fs::path second = whole(b);
  return !code && first == second;
}

}  // namespace tilescope
