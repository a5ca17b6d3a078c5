// Wavefronts and sectors of a warp's access, against a count lane by lane and against the counters of an H200.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string_view>

#include "sim/analysis/bank_conflicts.h"

namespace tilescope {
namespace {

const AccessPattern& pattern(std::string_view id) {
  const auto all = access_patterns();
  const auto found = std::find_if(all.begin(), all.end(), [&](const AccessPattern& each) { return each.id == id; });
  REQUIRE(found != all.end());
  return *found;
}

int wavefronts(std::string_view id, bool swizzled) {
  return bank_use(pattern(id).access(swizzled)).total;
}

/// Serves one word a bank at a time until nothing is left.
int served_one_by_one(const WarpAccess& access) {
  int total = 0;
  const int lanes = 128 / access.bytes;
  for (int first = 0; first < 32; first += lanes) {
    std::set<std::int64_t> left;
    for (int lane = first; lane < first + lanes; ++lane)
      for (int byte = 0; byte < access.bytes; byte += 4)
        if (access.address[static_cast<std::size_t>(lane)] >= 0) left.insert(access.address[static_cast<std::size_t>(lane)] + byte);
    while (!left.empty()) {
      ++total;
      std::set<std::int64_t> banks;
      for (auto word = left.begin(); word != left.end();)
        word = banks.insert(*word / 4 % 32).second ? left.erase(word) : std::next(word);
    }
  }
  return total;
}

}  // namespace

TEST_CASE("banks: swizzling turns eight-way conflicts of ldmatrix, stmatrix and P into none") {
  CHECK(wavefronts("ldmatrix", false) == 32);
  CHECK(wavefronts("ldmatrix", true) == 4);
  CHECK(wavefronts("stmatrix", false) == 32);
  CHECK(wavefronts("stmatrix", true) == 4);
  CHECK(wavefronts("store_pairs", false) == 8);
  CHECK(wavefronts("store_pairs", true) == 1);
  CHECK(wavefronts("column", false) == 32);
  CHECK(wavefronts("column", true) == 4);
  CHECK(wavefronts("rows", false) == 4);
  CHECK(wavefronts("rows", true) == 4);
  CHECK(wavefronts("broadcast", false) == 1);
}

TEST_CASE("banks: lanes of ldmatrix, stmatrix and stored pairs have addresses of their own") {
  for (const AccessPattern& pattern : access_patterns()) {
    const WarpAccess access = pattern.access(false);
    if (pattern.id == "ldmatrix" || pattern.id == "stmatrix") {  // four quarters of a tile of 16 rows and 32 bytes
      CHECK(access.address[8] == tile_address(8, 0, false));
      CHECK(access.address[16] == tile_address(0, 16, false));
      CHECK(access.address[31] == tile_address(15, 16, false));
    }
    if (pattern.id == "store_pairs") {  // eight rows of four pairs
      CHECK(access.address[1] == tile_address(0, 4, false));
      CHECK(access.address[4] == tile_address(1, 0, false));
      CHECK(access.address[31] == tile_address(7, 12, false));
    }
  }
}

TEST_CASE("banks: a swizzled tile holds every byte once, for rows of each length") {
  for (const std::int64_t row_bytes : {32, 64, 128}) {
    CAPTURE(row_bytes);
    std::set<std::int64_t> seen;
    for (std::int64_t row = 0; row < 64; ++row)
      for (std::int64_t byte = 0; byte < row_bytes; ++byte) seen.insert(tile_address(row, byte, true, row_bytes));
    CHECK(seen.size() == static_cast<std::size_t>(64 * row_bytes));
    CHECK(*seen.rbegin() == 64 * row_bytes - 1);
  }
}

TEST_CASE(
    "banks: each swizzle of wgmma leaves eight rows of 16 bytes without a conflict; a linear tile has as many as rows a line") {
  CHECK(wavefronts("wgmma_128", false) == 32);
  CHECK(wavefronts("wgmma_64", false) == 16);
  CHECK(wavefronts("wgmma_32", false) == 8);
  for (const char* id : {"wgmma_128", "wgmma_64", "wgmma_32", "wgmma_none"}) CHECK(wavefronts(id, pattern(id).has_swizzle) == 4);
  // Every chunk of a row, not only the first.
  for (const std::int64_t row_bytes : {32, 64, 128})
    for (std::int64_t chunk = 0; chunk < row_bytes / 16; ++chunk) {
      WarpAccess access;
      access.bytes = 16;
      for (int lane = 0; lane < warp_lanes; ++lane)
        access.address[static_cast<std::size_t>(lane)] = tile_address(lane, 16 * chunk, true, row_bytes);
      CHECK(bank_use(access).conflicts() == 0);
    }
}

TEST_CASE("banks: the swizzles are those of the PTX ISA: address bits 4 to 6 are XORed with bits 7 to 9, or fewer of them") {
  for (std::int64_t row = 0; row < 64; ++row) {
    CHECK(tile_address(row, 32, true) == (row * 128 + 16 * (2 ^ (row & 7))));
    const std::int64_t of_64 = row * 64 + 32, of_32 = row * 32;
    CHECK(tile_address(row, 32, true, 64) == (of_64 ^ ((of_64 >> 7 & 3) << 4)));
    CHECK(tile_address(row, 0, true, 32) == (of_32 ^ ((of_32 >> 7 & 1) << 4)));
  }
}

TEST_CASE("banks: wavefronts equal those of a server of one word a bank, for random accesses") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    WarpAccess access;
    access.bytes = 4 << random() % 3;
    for (auto& address : access.address) address = random() % 5 == 0 ? -1 : static_cast<std::int64_t>(random() % 64) * access.bytes;
    const BankUse use = bank_use(access);
    CAPTURE(i);
    CHECK(use.total == served_one_by_one(access));
    CHECK(use.conflicts() >= 0);
  }
}

TEST_CASE("banks: sectors of global accesses are those that any lane touches") {
  const auto sectors = [](std::string_view id) { return sectors_of(pattern(id).access(false)).size(); };
  CHECK(sectors("coalesced") == 4);
  CHECK(sectors("coalesced_wide") == 16);
  CHECK(sectors("shifted") == 5);
  CHECK(sectors("every_second") == 8);
  CHECK(sectors("row_a_lane") == 32);
}

}  // namespace tilescope
