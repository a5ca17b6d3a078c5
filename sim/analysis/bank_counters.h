// What a profiler counted for the access patterns: kernels/lab/measured/*-bank-patterns-*.txt, a table since build time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tilescope {

/// Counters of `accesses` accesses of one warp, on one GPU.
struct BankCounters {
  std::string_view pattern;  // an id of access_patterns()
  bool swizzled = false;
  std::string_view gpu, date;  // "H200", "2026-11-24"
  std::int64_t accesses = 0;
  std::int64_t wavefronts = 0;  // of shared memory, loads and stores
  std::int64_t bank_conflicts = 0;
  std::int64_t sectors = 0;  // of global loads
};

std::span<const BankCounters> bank_counters();
/// Returns the row of a pattern, or nullptr.
const BankCounters* find_bank_counters(std::string_view pattern, bool swizzled);

}  // namespace tilescope
