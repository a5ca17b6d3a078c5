// ChildProcess: a program that runs beside this one, and what it prints to standard error.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

class ChildProcess {
 public:
  /// Starts `arguments[0]`, the path of a program. It reads and prints nothing but standard error.
  /// Errors  it cannot be started (machine_lacks)
  static Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& arguments,
                                                     const std::vector<std::string>& environment = {});
  /// Ends it and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Returns what it has printed since the last call; never waits.
  std::string take_errors();
  /// Returns the exit code once it has ended (128 and the signal where it was killed); nullopt before. Never waits.
  std::optional<int> exit_code();

 private:
  ChildProcess(int process, int errors) : process_(process), errors_(errors) {}
  int process_, errors_;
  std::optional<int> code_;
};

/// The path of the running program; empty where it cannot be found out.
std::string this_program();

}  // namespace tilescope
