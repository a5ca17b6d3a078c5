// rounds(): how often a random test repeats. The sanitizers run it a fifth as often: they look for other faults than wrong numbers,
// and every round costs them ten times as much.
#pragma once

namespace tilescope {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool under_sanitizers = true;
#else
inline constexpr bool under_sanitizers = false;
#endif

template <class Number>
constexpr Number rounds(Number number) {
  return under_sanitizers ? (number + 4) / 5 : number;
}

}  // namespace tilescope
