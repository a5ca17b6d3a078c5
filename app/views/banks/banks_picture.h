// What the Banks view draws of an access: cells of lanes and banks, or words of global memory line by line.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/analysis/bank_conflicts.h"
#include "sim/analysis/wavefronts.h"
#include "sim/core/tensor.h"

namespace tilescope {

enum class Served : std::uint8_t { later, now, before };

/// A word of a lane, in its bank.
struct BankCell {
  LaneWord word;
  int wavefront = 1;           // that serves it
  bool meets_another = false;  // the bank has another word of the same part of the warp
  Served served(int shown) const { return wavefront == shown ? Served::now : wavefront < shown ? Served::before : Served::later; }
};

struct BankPicture {
  std::vector<BankCell> cells;  // in order of lane, then bank
  std::vector<Wavefront> wavefronts;
  BankUse use;
};
BankPicture bank_picture(const WarpAccess& access);

/// Returns how many words of each bank the part of the warp needs that a wavefront (1 is the first) belongs to.
std::array<int, shared_banks> words_in_part(const BankPicture& picture, int wavefront);

inline constexpr int sector_bytes = static_cast<int>(sector_size), line_bytes = 128;
inline constexpr int sectors_in_line = line_bytes / sector_bytes, words_in_line = line_bytes / bank_bytes,
                     words_in_sector = sector_bytes / bank_bytes;

/// A line of global memory that an access touches.
struct LinePicture {
  std::int64_t line = 0;  // its first byte is 128 * line
  std::array<bool, sectors_in_line> touched{};
  std::array<std::vector<int>, words_in_line> lanes;  // that request each word
};
struct SectorPicture {
  std::vector<LinePicture> lines;
  std::int64_t requested_bytes = 0;  // a byte that several lanes request counts once
  std::int64_t sectors = 0;
  std::int64_t moved_bytes() const { return sectors * sector_bytes; }
  /// If the requested bytes were consecutive from the start of a sector.
  std::int64_t least_sectors() const { return (requested_bytes + sector_bytes - 1) / sector_bytes; }
};
SectorPicture sector_picture(const WarpAccess& access);

/// Returns "0–3, 8": sorted numbers as ranges.
std::string ranges_text(std::span<const int> sorted);

}  // namespace tilescope
