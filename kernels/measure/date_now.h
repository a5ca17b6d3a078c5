// date_now(): the date of a recording.
#pragma once

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <string>

namespace tilescope {

/// Returns the date and the time in UTC, to the second: "2026-11-28T15:01:07Z".
inline std::string date_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

}  // namespace tilescope
