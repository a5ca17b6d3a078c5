// WatchedWork: long work that says how far it is and stops on Ctrl-C, with nothing kept.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/progress.h"

namespace tilescope {

class WatchedWork {
 public:
  /// `command`: what each line begins with.
  WatchedWork(std::FILE* err, bool quiet, std::string_view command) : printer_(err, quiet), command_(command) {}

  /// Shows "simulate: the run, 42 %". Returns whether to go on. Call it from one thread at a time.
  bool show(std::string_view what, double fraction) {
    printer_.show(fmt::format("{}: {}, {:.0f} %", command_, what, 100 * fraction));
    return !stopped();
  }
  /// From any thread.
  bool stopped() const { return interrupt_.asked(); }
  void end() { printer_.end(); }

 private:
  CatchInterrupt interrupt_;
  ProgressPrinter printer_;
  std::string command_;
};

}  // namespace tilescope
