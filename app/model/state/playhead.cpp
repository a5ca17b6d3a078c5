// The easing of the playhead.
#include "app/model/state/playhead.h"

namespace tilescope {

namespace {

/// Slow at both ends, so that the eye finds where a tile starts and where it lands; straight when there is no time for that.
double eased(double t, double duration) {
  constexpr double least_seconds = 0.15;
  return duration < least_seconds ? t : t * t * (3 - 2 * t);
}

}  // namespace

void Playhead::jump(double cycle) {
  cycle_ = from_ = to_ = cycle;
  elapsed_ = duration_ = 0;
}

void Playhead::glide(double cycle, double seconds) {
  if (seconds <= 0) return jump(cycle);
  from_ = cycle_;
  to_ = cycle;
  elapsed_ = 0;
  duration_ = seconds;
}

double Playhead::tick(double seconds) {
  if (!moving()) return seconds;
  elapsed_ += seconds;
  if (elapsed_ >= duration_) {
    const double left = elapsed_ - duration_;
    jump(to_);
    return left;
  }
  cycle_ = from_ + (to_ - from_) * eased(elapsed_ / duration_, duration_);
  return 0;
}

}  // namespace tilescope
