// Counts what one access of a warp costs: wavefronts of shared memory by banks, and sectors of global memory.
//
//   shared memory   32 banks of 4 bytes: word w is in bank w % 32. A wavefront serves each bank once, one word a bank.
//   global memory   sectors of 32 bytes: a warp requests every sector that any lane touches.
//
// A lane accesses up to 16 bytes. A warp does 4-byte accesses at once, 8-byte ones in two halves, 16-byte ones in four quarters;
// ldmatrix and stmatrix take the eight rows of one 8 x 8 matrix at a time. Lanes that read one word share it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/core/gpu_spec.h"

namespace tilescope {

inline constexpr int shared_banks = 32, bank_bytes = 4;

/// One access of a warp. Lanes with a negative address take no part.
struct WarpAccess {
  std::array<std::int64_t, warp_lanes> address{};  // first byte of each lane
  int bytes = 4;                                   // of each lane: 4, 8 or 16
  bool store = false;
};

/// What a bank does in one access.
struct BankUse {
  std::array<std::vector<int>, shared_banks> lanes;  // that touch the bank, in order
  std::array<int, shared_banks> wavefronts{};        // distinct words, summed over the parts of the warp
  int total = 0;                                     // wavefronts of the access
  int least = 0;                                     // if no two words met in a bank
  int conflicts() const { return total - least; }
};
/// Counts the wavefronts of an access to shared memory.
/// Source  CUDA C++ programming guide, shared memory; compared with counters by kernels/lab/bank_patterns.cu
BankUse bank_use(const WarpAccess& access);

/// Returns the sectors of global memory that an access touches, in order of address.
std::vector<std::int64_t> sectors_of(const WarpAccess& access);

/// An access of a kernel that the window shows: the address pattern of one warp.
struct AccessPattern {
  std::string_view id, title;
  std::string_view why;  // one or two sentences
  bool is_global = false;
  bool has_swizzle = false;  // shared tile whose rows can be swizzled
  WarpAccess (*access)(bool swizzled);
  bool by_wgmma = false;  // no lane makes it: counters of a warp's accesses leave it out
};
std::span<const AccessPattern> access_patterns();

/// Returns the address of a byte of a tile with rows of 32, 64 or 128 bytes. Swizzled: the number of the 16-byte chunk in its row
/// is XORed with that of the 128-byte line, modulo the chunks of a row. With rows of 128 bytes chunk c of row r is at c ^ r % 8.
/// Source  PTX ISA, shared memory swizzling modes of wgmma and TMA
constexpr std::int64_t tile_address(std::int64_t row, std::int64_t byte, bool swizzled, std::int64_t row_bytes = 128) {
  const std::int64_t linear = row * row_bytes + byte, chunks = row_bytes / 16;
  return swizzled ? linear ^ (linear / 128 % chunks * 16) : linear;
}

}  // namespace tilescope
