// posix_spawn() and a pipe.
#include "app/platform/child_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/core/refuse.h"

namespace tilescope {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  // posix_spawn() does not write to them.
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::vector<std::string>& arguments,
                                                          const std::vector<std::string>& environment) {
  const auto failed = [&](int code) {
    return Error{phrase("cannot start {}: {}", arguments.front(), std::generic_category().message(code)),
                 Error::Kind::machine_lacks};
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);

  posix_spawn_file_actions_t files{};
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
  // A child inherits what is ignored, but its own pipes may need the signal.
  sigset_t as_usual;
  ::sigemptyset(&as_usual);
  ::sigaddset(&as_usual, SIGPIPE);
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &as_usual);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t process = 0;
  const int code = ::posix_spawn(&process, arguments.front().c_str(), &files, &attributes, pointers(arguments).data(),
                                 pointers(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (code != 0) {
    ::close(ends[0]);
    return failed(code);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(process, ends[0]));
}

ChildProcess::~ChildProcess() {
  if (!exit_code()) {
    ::kill(process_, SIGTERM);
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {}
  }
  ::close(errors_);
}

std::string ChildProcess::take_errors() {
  std::string text;
  std::array<char, 4096> block{};
  while (true) {
    const ssize_t count = ::read(errors_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

std::optional<int> ChildProcess::exit_code() {
  int status = 0;
  if (!code_ && ::waitpid(process_, &status, WNOHANG) == process_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

std::string this_program() {
  std::error_code code;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", code);
  return code ? std::string() : path.native();
}

}  // namespace tilescope
