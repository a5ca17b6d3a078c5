// How far long work is, on standard error.
#include "app/cli/progress.h"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace tilescope {

namespace {

constexpr std::chrono::milliseconds apart_on_terminal{100};

bool asked_for_lines() {
  const char* how = std::getenv("TILESCOPE_PROGRESS");
  return how != nullptr && std::string_view(how) == "lines";
}

}  // namespace

ProgressPrinter::ProgressPrinter(std::FILE* err, bool quiet, std::function<Clock::time_point()> now)
    : err_(err),
      now_(std::move(now)),
      quiet_(quiet),
      terminal_(::isatty(::fileno(err)) != 0),
      often_(terminal_ || asked_for_lines()),
      last_(now_()) {}

ProgressPrinter::~ProgressPrinter() {
  end();
}

void ProgressPrinter::show(std::string_view text) {
  if (quiet_) return;
  const auto now = now_();
  const bool first = often_ && !shown_;
  if (!first && now - last_ < (often_ ? Clock::duration(apart_on_terminal) : Clock::duration(apart))) return;
  last_ = now;
  shown_ = true;
  const std::string line = terminal_ ? fmt::format("\r\033[K{}", text) : fmt::format("{}\n", text);
  std::fputs(line.c_str(), err_);
  std::fflush(err_);
}

void ProgressPrinter::end() {
  if (!terminal_ || !shown_) return;
  std::fputs("\r\033[K", err_);
  std::fflush(err_);
  shown_ = false;
}

}  // namespace tilescope
