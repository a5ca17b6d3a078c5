// Standard error, put aside for a while.
#include "app/platform/quiet_libraries.h"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace tilescope {

QuietLibraries::QuietLibraries() {
#ifdef __SANITIZE_ADDRESS__
  return;  // a report of the sanitizers must be seen
#endif
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  std::fflush(stderr);
  kept_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (kept_ >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::close(nowhere);
}

QuietLibraries::~QuietLibraries() {
  if (kept_ < 0) return;
  std::fflush(stderr);
  ::dup2(kept_, STDERR_FILENO);
  ::close(kept_);
}

}  // namespace tilescope
