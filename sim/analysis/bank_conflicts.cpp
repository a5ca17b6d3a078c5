// The banks and sectors of one access, and the patterns that the kernels have.
#include "sim/analysis/bank_conflicts.h"

#include <set>

#include "sim/analysis/wavefronts.h"
#include "sim/core/tensor.h"

namespace tilescope {

namespace {

/// ldmatrix of four 8 x 8 matrices of 16-bit elements: lane l gives the address of row l % 8 of matrix l / 8.
WarpAccess load_matrices(bool swizzled) {
  WarpAccess access;
  access.bytes = 16;
  for (int lane = 0; lane < warp_lanes; ++lane)
    access.address[static_cast<std::size_t>(lane)] = tile_address(lane % 16, lane / 16 * 16, swizzled);
  return access;
}

/// A warp stores the accumulators of 16 rows as pairs of 16-bit numbers: lane l has row l / 4 and the pair l % 4.
WarpAccess store_pairs(bool swizzled) {
  WarpAccess access;
  access.store = true;
  for (int lane = 0; lane < warp_lanes; ++lane)
    access.address[static_cast<std::size_t>(lane)] = tile_address(lane / 4, lane % 4 * 4, swizzled);
  return access;
}

WarpAccess store_matrices(bool swizzled) {
  WarpAccess access = load_matrices(swizzled);
  access.store = true;
  return access;
}

/// Lane l reads the first word of row l: a column of the tile.
WarpAccess column(bool swizzled) {
  WarpAccess access;
  for (int lane = 0; lane < warp_lanes; ++lane) access.address[static_cast<std::size_t>(lane)] = tile_address(lane, 0, swizzled);
  return access;
}

/// A warp reads four rows of 128 bytes, 16 bytes a lane.
WarpAccess rows(bool swizzled) {
  WarpAccess access;
  access.bytes = 16;
  for (int lane = 0; lane < warp_lanes; ++lane)
    access.address[static_cast<std::size_t>(lane)] = tile_address(lane / 8, lane % 8 * 16, swizzled);
  return access;
}

/// What wgmma reads of an operand in shared memory: core matrices of 8 rows and 16 bytes, here the first of each row. Lane l stands
/// for row l, and eight rows are read at once.
template <std::int64_t row_bytes>
WarpAccess core_matrices(bool swizzled) {
  WarpAccess access;
  access.bytes = 16;
  for (int lane = 0; lane < warp_lanes; ++lane)
    access.address[static_cast<std::size_t>(lane)] = tile_address(lane, 0, swizzled, row_bytes);
  return access;
}

/// The same in wgmma's layout without a swizzle: a core matrix is 128 bytes one after the other.
WarpAccess whole_core_matrices(bool) {
  WarpAccess access;
  access.bytes = 16;
  for (int lane = 0; lane < warp_lanes; ++lane) access.address[static_cast<std::size_t>(lane)] = 16 * lane;
  return access;
}

/// All lanes read one word.
WarpAccess broadcast(bool) {
  return {};
}

WarpAccess apart(std::int64_t stride, std::int64_t first, int bytes) {
  WarpAccess access;
  access.bytes = bytes;
  for (int lane = 0; lane < warp_lanes; ++lane) access.address[static_cast<std::size_t>(lane)] = first + lane * stride;
  return access;
}
WarpAccess coalesced(bool) {
  return apart(4, 0, 4);
}
WarpAccess coalesced_wide(bool) {
  return apart(16, 0, 16);
}
WarpAccess shifted(bool) {
  return apart(4, 4, 4);
}
WarpAccess every_second(bool) {
  return apart(8, 0, 4);
}
WarpAccess row_a_lane(bool) {
  return apart(256, 0, 16);
}

constexpr AccessPattern patterns[] = {
    {"ldmatrix", "ldmatrix.x4 of a tile",
     "Each lane gives the address of one row of a matrix. In a linear tile the eight rows begin in the same bank and collide. "
     "Swizzling spreads them over all banks.",
     false, true, load_matrices},
    {"store_pairs", "Stores of P, two elements a lane",
     "Four lanes fill 16 bytes of a row. The eight rows collide unless they are "
     "swizzled.",
     false, true, store_pairs},
    {"stmatrix", "stmatrix.x4 of O",
     "The epilogue writes O as 8 × 8 matrices, for TMA to store. Each lane gives the address of one row.", false, true,
     store_matrices},
    {"column", "A column of a tile",
     "Each lane reads another row. Swizzling moves whole chunks of 16 bytes, so the lanes reach 8 of the 32 banks: four lanes meet "
     "in each.",
     false, true, column},
    {"rows", "Rows of a tile, 16 bytes a lane", "Eight lanes read a whole row: no conflict, swizzled or not.", false, true, rows},
    {"wgmma_128", "wgmma operand, rows of 128 bytes",
     "wgmma reads core matrices of 8 rows × 16 bytes; a lane stands for a row here. TMA writes the tile swizzled, so eight rows "
     "lie in all banks. wgmma takes no such linear tile.",
     false, true, core_matrices<128>, true},
    {"wgmma_64", "wgmma operand, rows of 64 bytes",
     "A line of 128 bytes holds two rows, and the swizzle of 64 bytes changes from line to line. In a linear tile four rows would "
     "meet in a bank.",
     false, true, core_matrices<64>, true},
    {"wgmma_32", "wgmma operand, rows of 32 bytes",
     "A line of 128 bytes holds four rows, so the swizzle of 32 bytes only parts the first four of eight from the others.", false,
     true, core_matrices<32>, true},
    {"wgmma_none", "wgmma operand without swizzle",
     "Each core matrix is 128 bytes one after the other: no conflict. TMA has to write it in boxes 16 bytes wide.", false, false,
     whole_core_matrices, true},
    {"broadcast", "One word for all lanes", "Lanes that read the same word share it.", false, false, broadcast},
    {"coalesced", "4 bytes a lane, consecutive", "128 bytes are four sectors, and every byte is used.", true, false, coalesced},
    {"coalesced_wide", "16 bytes a lane, consecutive", "The widest access: one instruction requests 16 sectors.", true, false,
     coalesced_wide},
    {"shifted", "4 bytes a lane, off by 4 bytes", "The last 4 bytes need a fifth sector.", true, false, shifted},
    {"every_second", "Every second word", "Twice the sectors of consecutive words: half of their bytes are not used.", true, false,
     every_second},
    {"row_a_lane", "16 bytes a lane, 256 bytes apart",
     "Each lane reads the start of another row. It touches its own sector and uses half of it.", true, false, row_a_lane},
};

}  // namespace

BankUse bank_use(const WarpAccess& access) {
  BankUse use;
  for (int lane = 0; lane < warp_lanes; ++lane)
    for (const LaneWord& word : words_of(access, lane)) {
      std::vector<int>& lanes = use.lanes[static_cast<std::size_t>(word.bank())];
      if (lanes.empty() || lanes.back() != lane) lanes.push_back(lane);
    }
  const std::vector<Wavefront> wavefronts = wavefronts_of(access);
  use.total = static_cast<int>(wavefronts.size());
  int words = 0;  // distinct ones of the present part of the warp
  for (std::size_t i = 0; i < wavefronts.size(); ++i) {
    const std::array<bool, shared_banks> busy = wavefronts[i].banks();
    for (std::size_t bank = 0; bank < shared_banks; ++bank) {
      use.wavefronts[bank] += busy[bank] ? 1 : 0;
      words += busy[bank] ? 1 : 0;
    }
    if (i + 1 < wavefronts.size() && wavefronts[i + 1].first_lane == wavefronts[i].first_lane) continue;
    use.least += (words + shared_banks - 1) / shared_banks;
    words = 0;
  }
  return use;
}

std::vector<std::int64_t> sectors_of(const WarpAccess& access) {
  std::set<std::int64_t> sectors;
  for (int lane = 0; lane < warp_lanes; ++lane)
    for (const LaneWord& word : words_of(access, lane)) sectors.insert(word.word * bank_bytes / sector_size);
  return {sectors.begin(), sectors.end()};
}

std::span<const AccessPattern> access_patterns() {
  return patterns;
}

}  // namespace tilescope
