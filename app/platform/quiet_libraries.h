// QuietLibraries: graphics and font libraries print to standard error, where one line of ours is to stand.
#pragma once

namespace tilescope {

/// While it lives, nothing reaches standard error. Print nothing of our own meanwhile.
class QuietLibraries {
 public:
  QuietLibraries();
  ~QuietLibraries();
  QuietLibraries(const QuietLibraries&) = delete;
  QuietLibraries& operator=(const QuietLibraries&) = delete;

 private:
  int kept_ = -1;  // the real standard error
};

}  // namespace tilescope
