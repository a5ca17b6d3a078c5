// skip_test(): a test that needs what this machine lacks says so, and its CTest entry is reported as skipped instead of passed.
#pragma once

#include <string>

#include <doctest/doctest.h>

namespace tilescope {

/// What test executables return where every test that ran passed and one was skipped (SKIP_RETURN_CODE in tests/CMakeLists.txt).
inline constexpr int skipped_exit_code = 77;

inline int& skipped_tests() {
  static int count = 0;
  return count;
}

/// Counts the running test as skipped and prints why. The caller then returns.
inline void skip_test(const std::string& why) {
  ++skipped_tests();
  MESSAGE("skipped: " << why);
}

}  // namespace tilescope
