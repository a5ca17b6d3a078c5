// Wavefronts of an access: how many, what each serves, and the counters of the lab file.
#include <doctest/doctest.h>

#include <array>
#include <random>
#include <set>

#include "sim/analysis/bank_counters.h"
#include "sim/analysis/wavefronts.h"

namespace tilescope {
namespace {

void check_wavefronts(const WarpAccess& access) {
  const BankUse use = bank_use(access);
  const std::vector<Wavefront> all = wavefronts_of(access);
  REQUIRE(static_cast<int>(all.size()) == use.total);
  std::array<int, shared_banks> words{};
  std::set<std::pair<int, std::int64_t>> served;
  for (const Wavefront& wavefront : all) {
    std::array<std::int64_t, shared_banks> word{};
    word.fill(-1);
    CHECK_FALSE(wavefront.served.empty());
    for (const LaneWord& each : wavefront.served) {
      CHECK(each.lane >= wavefront.first_lane);
      CHECK(each.lane < wavefront.first_lane + wavefront.lanes);
      CHECK(served.emplace(each.lane, each.word).second);
      std::int64_t& of_bank = word[static_cast<std::size_t>(each.bank())];
      if (of_bank < 0) ++words[static_cast<std::size_t>(each.bank())];
      CHECK((of_bank < 0 || of_bank == each.word));
      of_bank = each.word;
    }
  }
  CHECK(words == use.wavefronts);
  std::size_t requested = 0;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    requested += words_of(access, lane).size();
    for (const LaneWord& each : words_of(access, lane)) CHECK(served.contains({lane, each.word}));
  }
  CHECK(served.size() == requested);
}

}  // namespace

TEST_CASE("wavefronts: each serves one word a bank, and together they serve every word of every lane once") {
  for (const AccessPattern& pattern : access_patterns())
    for (const bool swizzled : {false, true})
      if (!pattern.is_global) check_wavefronts(pattern.access(swizzled));
  std::mt19937_64 random(11);
  for (int i = 0; i < 200; ++i) {
    WarpAccess access;
    access.bytes = 4 << random() % 3;
    for (auto& address : access.address) address = random() % 5 == 0 ? -1 : static_cast<std::int64_t>(random() % 64) * access.bytes;
    check_wavefronts(access);
  }
}

TEST_CASE("wavefronts: counters of every access of lanes are recorded, and equal the model") {
  for (const AccessPattern& pattern : access_patterns()) {
    for (const bool swizzled : {false, true}) {
      if (swizzled && !pattern.has_swizzle) continue;
      CAPTURE(std::string(pattern.id));
      CAPTURE(swizzled);
      const BankCounters* counted = find_bank_counters(pattern.id, swizzled);
      CHECK((counted == nullptr) == pattern.by_wgmma);
      if (counted == nullptr) continue;
      CHECK(counted->gpu == "H200");
      CHECK(counted->date == "2026-11-24");
      const WarpAccess access = pattern.access(swizzled);
      const BankUse use = bank_use(access);
      CHECK(counted->wavefronts == (pattern.is_global ? 0 : use.total * counted->accesses));
      CHECK(counted->bank_conflicts == (pattern.is_global ? 0 : use.conflicts() * counted->accesses));
      CHECK(counted->sectors ==
            (pattern.is_global ? static_cast<std::int64_t>(sectors_of(access).size()) * counted->accesses : std::int64_t{0}));
    }
  }
  CHECK(bank_counters().size() == 16);
  CHECK(find_bank_counters("rows of another tile", false) == nullptr);
}

}  // namespace tilescope
