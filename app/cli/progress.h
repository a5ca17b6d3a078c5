// ProgressPrinter: how far long work is, on standard error.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace tilescope {

/// Shows one line in place on a terminal. Elsewhere it prints a line at most every ten seconds, so that a log stays short and work
/// that is done sooner says nothing. With TILESCOPE_PROGRESS=lines it prints a line as often as on a terminal, for a program to
/// read.
class ProgressPrinter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds apart{10};

  /// `quiet`: prints nothing at all. `now` is the clock, which tests replace.
  ProgressPrinter(std::FILE* err, bool quiet, std::function<Clock::time_point()> now = &Clock::now);
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  /// Shows "sweep: 12 of 48 simulated"; most calls print nothing. Call it from one thread at a time.
  void show(std::string_view text);
  /// Clears the line of a terminal, before something else is printed.
  void end();

 private:
  std::FILE* err_;
  std::function<Clock::time_point()> now_;
  bool quiet_, terminal_, often_, shown_ = false;
  Clock::time_point last_;
};

}  // namespace tilescope
