// CatchInterrupt: Ctrl-C asks long work to stop and keep what it has. A second one ends the program: work may wait for a GPU that
// never answers.
#pragma once

#include <atomic>
#include <csignal>

namespace tilescope {

class CatchInterrupt {
 public:
  CatchInterrupt() {
    asked_ = false;
    before_ = std::signal(SIGINT, [](int) {
      asked_ = true;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  ~CatchInterrupt() { std::signal(SIGINT, before_); }
  CatchInterrupt(const CatchInterrupt&) = delete;
  CatchInterrupt& operator=(const CatchInterrupt&) = delete;

  /// True after Ctrl-C, and after stop().
  bool asked() const { return asked_; }
  void stop() { asked_ = true; }

 private:
  inline static std::atomic<bool> asked_ = false;
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch what is lock free");
  void (*before_)(int);
};

}  // namespace tilescope
