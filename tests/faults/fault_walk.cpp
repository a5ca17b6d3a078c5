// Walks commands through their first faults: an allocation, a write, a rename or a thread that fails.
//
//   fault_walk PROGRAM INJECTOR [--first N] [--commands WORD]
//
// Each run has a folder with old files. A run that fails ends with exit code 3 (2 for none of these faults), one line on standard
// error, every old file whole and nothing beside them. A run that succeeds leaves what the run without a fault left.
// TILESCOPE_FAULTS is the default of N: every one of the first N calls fails once, then every call half as far again.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>

#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

namespace fs = std::filesystem;

constexpr int exit_machine_lacks = 3;
constexpr int slowest_run_seconds = 120;

struct Command {
  std::string name, arguments;       // "@" is the folder
  std::vector<std::string> outputs;  // files that are there before and that it replaces
  int code = 0;                      // without a fault
  bool allocations = true;           // libraries of graphics and fonts do not survive without memory: that is not ours to mend
  bool threads = true;               // without one of its threads Mesa's software renderer waits forever
};

struct Fault {
  const char* kind;
  const char* what;
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What differs from run to run: how long this machine took, and how much memory.
std::string without_host(std::string text) {
  if (const std::size_t at = text.find("\"host\""); at != std::string::npos) text.erase(at, text.find('}', at) - at);
  if (const std::size_t at = text.find("\nhost "); at != std::string::npos) text.erase(at);
  return text;
}

struct Ran {
  int code = -1;
  bool fired = false;
  std::string out, err;
  std::map<std::string, std::string> files;
};

class Walk {
 public:
  Walk(std::string program, std::string injector, long first)
      : program_(std::move(program)), injector_(std::move(injector)), first_(first) {}

  void walk(const Command& command) {
    std::map<std::string, long> calls;  // that a run without a fault makes: no later one is worth a run
    const Ran plain = run(command, "", &calls);
    if (plain.code != command.code) {
      complain(command, "no fault", plain, fmt::format("exit code {} without a fault", plain.code));
      return;
    }
    if (calls["alloc"] == 0) return complain(command, "no fault", plain, "the injector counted no call");
    for (const Fault& fault : {Fault{"alloc", ""},
                               {"write", ":ENOSPC"},
                               {"write", ":EIO"},
                               {"write", ":EFBIG"},
                               {"write", ":short"},
                               {"rename", ":EIO"},
                               {"thread", ""}}) {
      if (std::string(fault.kind) == "alloc" && !command.allocations) continue;
      if (std::string(fault.kind) == "thread" && !command.threads) continue;
      long at = 1;
      while (at <= calls[fault.kind]) {
        const std::string name = fmt::format("{}:{}{}", fault.kind, at, fault.what);
        const Ran ran = run(command, name);
        if (!ran.fired) break;  // threads: the number of calls is not the same in every run
        check(command, name, plain, ran);
        at = at < first_ ? at + 1 : at + at / 2 + 1;
      }
    }
  }

  int faults = 0, failures = 0;

 private:
  Ran run(const Command& command, const std::string& fault, std::map<std::string, long>* calls = nullptr) const {
    const TemporaryFolder outside, folder;
    for (const std::string& output : command.outputs) folder.file(output, old_text);
    std::string arguments = command.arguments;
    for (std::size_t at = 0; (at = arguments.find('@')) != std::string::npos;) arguments.replace(at, 1, folder.path(""));
    std::string line = fmt::format("env TILESCOPE_FAULT_CALLS='{}' ", outside.path("calls"));
    if (!fault.empty()) line += fmt::format("TILESCOPE_FAULT={} TILESCOPE_FAULT_FIRED='{}' ", fault, outside.path("fired"));
    line += fmt::format("LD_PRELOAD='{}' ", injector_);
    line = fmt::format("timeout {} ", slowest_run_seconds) + line;  // a run that hangs ends with exit code 124
    line += fmt::format("'{}' {} >'{}' 2>'{}'", program_, arguments, outside.path("out"), outside.path("err"));
    const int status = std::system(line.c_str());
    Ran ran;
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.fired = fs::exists(outside.path("fired"));
    if (calls != nullptr) {
      std::ifstream counts(outside.path("calls"));
      for (const char* kind : {"alloc", "write", "rename", "thread"}) counts >> (*calls)[kind];
    }
    ran.out = without_host(read(outside.path("out")));
    ran.err = read(outside.path("err"));
    for (const auto& file : fs::directory_iterator(folder.path("")))
      ran.files[file.path().filename().native()] = without_host(read(file.path()));
    return ran;
  }

  void check(const Command& command, const std::string& fault, const Ran& plain, const Ran& ran) {
    ++faults;
    const auto complain_that = [&](const std::string& what) { complain(command, fault, ran, what); };
    const std::size_t files = ran.code == command.code ? plain.files.size() : command.outputs.size();
    if (ran.files.size() != files) return complain_that("a file is left over or missing");
    if (ran.code == command.code) {
      if (ran.files != plain.files) complain_that("succeeded with other files");
      if (command.outputs.empty() && ran.out != plain.out) complain_that("succeeded with other output");
      return;
    }
    if (ran.code != exit_machine_lacks) return complain_that(fmt::format("exit code {}", ran.code));
    if (!ran.err.starts_with("tilescope: ") || std::count(ran.err.begin(), ran.err.end(), '\n') != 1)
      return complain_that("standard error is not one line");
    if (ran.err.find("internal error") != std::string::npos) return complain_that("the line does not say what is lacking");
    for (const std::string& output : command.outputs)
      if (const auto file = ran.files.find(output); file == ran.files.end() || file->second != old_text)
        return complain_that(output + " is not what it was");
  }

  void complain(const Command& command, const std::string& fault, const Ran& ran, const std::string& what) {
    ++failures;
    fmt::print("{}: {}: {}; standard error: {}\n", command.name, fault, what, ran.err.substr(0, 300));
    std::fflush(stdout);
  }

  static constexpr const char* old_text = "before\n";

  std::string program_, injector_;
  long first_;
};

std::vector<Command> commands(const std::string& source) {
  return {
      {"simulate", "simulate", {}},
      {"simulate --json", "simulate --json", {}},
      {"simulate --json --trace", "simulate --json @a.json --trace @t.json", {"a.json", "t.json"}},
      {"sweep", "sweep --over seq=16:64:x2 --quiet", {}},
      {"sweep --csv --json", "sweep --over seq=16:64:x2 --quiet --csv @a.csv --json @a.json", {}},
      {"validate",
       fmt::format("validate --quiet --bundle '{}/tests/few_cases.json' --csv @v.csv --markdown @v.md", source),
       {"v.csv", "v.md"},
       0,
       false},
      {"render", "render --out @a.png", {"a.png"}, 0, false, false},
      {"export .csv", "export --seq 16 --sheet steps --out @a.csv", {"a.csv"}},
      {"export .html", "export --size 320x200 --steps 3:4 --quiet --out @a.html", {"a.html"}, 0, false, false},
      {"export .gif", "export --size 320x200 --steps 3:4 --fps 5 --seconds 0.2 --quiet --out @a.gif", {"a.gif"}, 0, false, false},
  };
}

}  // namespace

}  // namespace tilescope

int main(int argc, char** argv) {
  using namespace tilescope;
  if (argc < 3) {
    std::fputs("usage: fault_walk PROGRAM INJECTOR [--first N] [--commands WORD]\n", stderr);
    return 2;
  }
  ::setenv("TILESCOPE_ASSETS", TILESCOPE_SOURCE_DIR "/assets", 0);
  long first = 4;
  if (const char* given = std::getenv("TILESCOPE_FAULTS")) first = std::strtol(given, nullptr, 10);
  std::string only;
  for (int i = 3; i + 1 < argc; i += 2) {
    if (std::string(argv[i]) == "--first") first = std::strtol(argv[i + 1], nullptr, 10);
    if (std::string(argv[i]) == "--commands") only = argv[i + 1];
  }
  Walk walk(argv[1], argv[2], first);
  for (const Command& command : commands(TILESCOPE_SOURCE_DIR)) {
    if (!only.empty() && command.name.find(only) == std::string::npos) continue;
    const int before = walk.faults;
    walk.walk(command);
    fmt::print("{}: {} faults\n", command.name, walk.faults - before);
    std::fflush(stdout);
  }
  fmt::print("fault_walk: {} faults, {} of them not dealt with\n", walk.faults, walk.failures);
  return walk.failures == 0 ? 0 : 1;
}
