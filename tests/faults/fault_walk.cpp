// Walks commands through their first faults: an allocation, a write, a rename or a thread that fails, or a call of the GPU.
//
//   fault_walk PROGRAM INJECTOR [--first N] [--commands WORD]
//   fault_walk PROGRAM gpu [--first N] [--commands WORD]           PROGRAM has the device of tests/faults/failing_device.cpp
//
// Each run has a folder with old files. A run that fails ends with exit code 3 (2 for none of these faults), one line on standard
// error, every old file whole and nothing beside them. A run that succeeds leaves what the run without a fault left.
// TILESCOPE_FAULTS is the default of N: every one of the first N calls fails once, then every call half as far again. Calls of the
// GPU are many and much alike: then every call eight times as far.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

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
  std::string goes_on = {};          // what the output says where the command goes on without what the GPU refused
};

struct Fault {
  const char* kind;
  const char* what;
};

/// The faults of a walk, and how the program learns of one.
struct FaultSet {
  std::string environment;
  std::vector<const char*> counted;  // kinds, in the order of the file of counts
  std::vector<Fault> faults;
  long growth_percent = 50;
  bool of_gpu = false;
};

FaultSet host_faults(const std::string& injector) {
  return {fmt::format("LD_PRELOAD='{}'", injector),
          {"alloc", "write", "rename", "thread"},
          {{"alloc", ""},
           {"write", ":ENOSPC"},
           {"write", ":EIO"},
           {"write", ":EFBIG"},
           {"write", ":short"},
           {"rename", ":EIO"},
           {"thread", ""}}};
}

FaultSet gpu_faults() {
  return {"",
          {"alloc", "copy", "launch", "wait"},
          {{"alloc", ":memory"},
           {"alloc", ":lost"},
           {"copy", ":lost"},
           {"launch", ":failure"},
           {"wait", ":timeout"},
           {"wait", ":lost"}},
          700,
          true};
}

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
  Walk(std::string program, FaultSet set, long first) : program_(std::move(program)), set_(std::move(set)), first_(first) {}

  void walk(const Command& command) {
    std::map<std::string, long> calls;  // that a run without a fault makes: no later one is worth a run
    const Ran plain = run(command, "", &calls);
    if (plain.code != command.code) {
      complain(command, "no fault", plain, fmt::format("exit code {} without a fault", plain.code));
      return;
    }
    if (calls["alloc"] == 0) return complain(command, "no fault", plain, "the injector counted no call");
    for (const Fault& fault : set_.faults) {
      if (std::string(fault.kind) == "alloc" && !command.allocations) continue;
      if (std::string(fault.kind) == "thread" && !command.threads) continue;
      long at = 1;
      while (at <= calls[fault.kind]) {
        const std::string name = fmt::format("{}:{}{}", fault.kind, at, fault.what);
        const Ran ran = run(command, name);
        if (!ran.fired) break;  // threads: the number of calls is not the same in every run
        check(command, name, plain, ran);
        at = at < first_ ? at + 1 : at + at * set_.growth_percent / 100 + 1;
      }
    }
  }

  int faults = 0, failures = 0;

 private:
  Ran run(const Command& command, const std::string& fault, std::map<std::string, long>* calls = nullptr) const {
    const TemporaryFolder outside, folder;
    const std::string line = line_of(command, fault, outside, folder);
    // A run that hangs ends with exit code 124.
    const int status = std::system(fmt::format("timeout {} {}", slowest_run_seconds, line).c_str());
    Ran ran;
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.fired = fs::exists(outside.path("fired"));
    if (calls != nullptr) {
      std::ifstream counts(outside.path("calls"));
      for (const char* kind : set_.counted) counts >> (*calls)[kind];
    }
    ran.out = without_host(read(outside.path("out")));
    ran.err = read(outside.path("err"));
    take_files(folder, ran);
    return ran;
  }

  /// Makes the old files, and returns the line for the shell.
  std::string line_of(const Command& command, const std::string& fault, const TemporaryFolder& outside,
                      const TemporaryFolder& folder) const {
    for (const std::string& output : command.outputs) folder.file(output, old_text);
    std::string arguments = command.arguments;
    for (std::size_t at = 0; (at = arguments.find('@')) != std::string::npos;) arguments.replace(at, 1, folder.path(""));
    std::string line = fmt::format("env TILESCOPE_FAULT_CALLS='{}' ", outside.path("calls"));
    if (!fault.empty()) line += fmt::format("TILESCOPE_FAULT={} TILESCOPE_FAULT_FIRED='{}' ", fault, outside.path("fired"));
    return line +
           fmt::format("{} '{}' {} >'{}' 2>'{}'", set_.environment, program_, arguments, outside.path("out"), outside.path("err"));
  }

  static void take_files(const TemporaryFolder& folder, Ran& ran) {
    for (const auto& file : fs::directory_iterator(folder.path("")))
      ran.files[file.path().filename().native()] = without_host(read(file.path()));
  }

  void check(const Command& command, const std::string& fault, const Ran& plain, const Ran& ran) {
    ++faults;
    const auto complain_that = [&](const std::string& what) { complain(command, fault, ran, what); };
    if (set_.of_gpu) return check_gpu(command, fault, plain, ran);
    const std::size_t files = ran.code == command.code ? plain.files.size() : command.outputs.size();
    if (ran.files.size() != files) return complain_that("a file is left over or missing");
    if (ran.code == command.code) {
      if (ran.files != plain.files) complain_that("succeeded with other files");
      if (command.outputs.empty() && ran.out != plain.out) complain_that("succeeded with other output");
      return;
    }
    check_failed(command, fault, ran);
  }

  void check_failed(const Command& command, const std::string& fault, const Ran& ran) {
    const auto complain_that = [&](const std::string& what) { complain(command, fault, ran, what); };
    if (ran.code != exit_machine_lacks) return complain_that(fmt::format("exit code {}", ran.code));
    if (!ran.err.starts_with("tilescope: ") || std::count(ran.err.begin(), ran.err.end(), '\n') != 1)
      return complain_that("standard error is not one line");
    if (ran.err.find("internal error") != std::string::npos) return complain_that("the line does not say what is lacking");
    check_old_files(command, fault, ran);
  }

  void check_old_files(const Command& command, const std::string& fault, const Ran& ran) {
    for (const std::string& output : command.outputs)
      if (const auto file = ran.files.find(output); file == ran.files.end() || file->second != old_text)
        return complain(command, fault, ran, output + " is not what it was");
  }

  /// A run that the GPU refused ends, or says what it did without. Times differ from run to run, so files are not compared.
  void check_gpu(const Command& command, const std::string& fault, const Ran& plain, const Ran& ran) {
    const auto complain_that = [&](const std::string& what) { complain(command, fault, ran, what); };
    if (ran.files.size() != plain.files.size()) return complain_that("a file is left over or missing");
    const bool memory = fault.ends_with(":memory");
    if (ran.code == exit_machine_lacks) {
      const auto says = [&](const char* words) { return ran.err.find(words) != std::string::npos; };
      if (!(memory ? says("GB of GPU memory") : says("(cudaError"))) complain_that("the line does not say what failed");
      if (!(memory ? says("end what else uses the GPU") : says("start TileScope again"))) complain_that("the line has no way out");
      if (!memory && says("GB for its tensors")) complain_that("the line says that memory is lacking");
      return check_failed(command, fault, ran);
    }
    std::string said = ran.out;
    for (const auto& [name, text] : ran.files) {
      if (text == old_text || !text.ends_with('\n')) return complain_that(name + " is not written, or in part");
      said += text;
    }
    if (command.goes_on.empty() || said.find(command.goes_on) == std::string::npos)
      complain_that(fmt::format("exit code {}, and what the GPU refused is not told", ran.code));
    if (!ran.err.empty()) complain_that("standard error is not empty");
  }

 public:
  /// A GPU call that lasts 10 seconds: Ctrl-C, given up to twice, ends the command long before, and the old files stay.
  void interrupt(const Command& command, int times) {
    ++faults;
    const std::string fault = "wait:1:slow";
    const TemporaryFolder outside, folder;
    const std::string line = "exec " + line_of(command, fault, outside, folder);
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    for (int i = 0; i < 600 && !fs::exists(outside.path("fired")); ++i) pause(50);
    const auto asked = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      ::kill(child, SIGINT);
      pause(100);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    Ran ran;
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    ran.err = read(outside.path("err"));
    take_files(folder, ran);
    if (std::chrono::steady_clock::now() - asked > std::chrono::seconds(5)) complain(command, fault, ran, "Ctrl-C does not end it");
    if (ran.code != 128 + SIGINT) complain(command, fault, ran, fmt::format("exit code {} after Ctrl-C", ran.code));
    if (ran.files.size() != command.outputs.size()) complain(command, fault, ran, "a file is left over");
    check_old_files(command, fault, ran);
  }

 private:
  void complain(const Command& command, const std::string& fault, const Ran& ran, const std::string& what) {
    ++failures;
    fmt::print("{}: {}: {}; standard error: {}\n", command.name, fault, what, ran.err.substr(0, 300));
    std::fflush(stdout);
  }

  static constexpr const char* old_text = "before\n";

  std::string program_;
  FaultSet set_;
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

/// Writes a tensor of zeros.
std::string npy_of_zeros(const TemporaryFolder& folder, const std::string& name) {
  std::string head = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 64, 64), }";
  head.resize(117, ' ');
  head += '\n';
  return folder.file(name, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + head + std::string(64 * 64 * 2, '\0'));
}

/// Whatever uses a GPU. The stand-in computes nothing, so `measure` says that results are wrong.
std::vector<Command> gpu_commands(const TemporaryFolder& inputs) {
  const std::string suite = inputs.file("suite",
                                        "flash2 1 1 1 64 64 64 fp16 full build\n"
                                        "standard_backward 1 1 1 64 64 64 fp16 causal build\n"
                                        "flex 1 1 1 64 64 64 fp16 causal judge\n");
  const std::string tensors = fmt::format("--q '{}' --k '{}' --v '{}'", npy_of_zeros(inputs, "q.npy"),
                                          npy_of_zeros(inputs, "k.npy"), npy_of_zeros(inputs, "v.npy"));
  return {
      {"measure", "measure --seq 64", {}, 1},
      {"measure --json", "measure --seq 64 --json @m.json --algorithm flash2_backward", {"m.json"}, 1},
      {"measure --mask", "measure --seq 64 --algorithm flex --mask 'q >= kv'", {}, 1},
      {"measure --suite",
       fmt::format("measure --suite '{}' --quiet --json @s.json", suite),
       {"s.json"},
       0,
       true,
       true,
       "GPU memory were asked for"},
      {"measure --probe", "measure --seq 64 --probe @p.json", {"p.json"}},
      {"measure --samples", "measure --seq 64 --samples @b.json", {"b.json"}},
      {"calibrate", "calibrate --gpu h100 --quiet --out @c.toml", {"c.toml"}},
      {"calibrate --brief", "calibrate --gpu h100 --quiet --brief", {}},
      {"run", fmt::format("run {} --out @", tensors), {"O.npy", "L.npy"}},
      {"search",
       "search --gpu h100 --algorithm flash1 --heads 1 --seq 64 --head-dim 64 --top 100 --quiet --json @r.json",
       {"r.json"},
       0,
       true,
       true,
       "not_measured"},
  };
}

}  // namespace

}  // namespace tilescope

int main(int argc, char** argv) {
  using namespace tilescope;
  if (argc < 3) {
    std::fputs("usage: fault_walk PROGRAM INJECTOR|gpu [--first N] [--commands WORD]\n", stderr);
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
  const bool of_gpu = std::string(argv[2]) == "gpu";
  Walk walk(argv[1], of_gpu ? gpu_faults() : host_faults(argv[2]), first);
  const TemporaryFolder inputs;
  for (const Command& command : of_gpu ? gpu_commands(inputs) : commands(TILESCOPE_SOURCE_DIR)) {
    if (!only.empty() && command.name.find(only) == std::string::npos) continue;
    const int before = walk.faults;
    walk.walk(command);
    if (of_gpu && command.name == "measure --json") walk.interrupt(command, 1);
    if (of_gpu && command.name == "search") walk.interrupt(command, 2);
    fmt::print("{}: {} faults\n", command.name, walk.faults - before);
    std::fflush(stdout);
  }
  fmt::print("fault_walk: {} faults, {} of them not dealt with\n", walk.faults, walk.failures);
  return walk.failures == 0 ? 0 : 1;
}
