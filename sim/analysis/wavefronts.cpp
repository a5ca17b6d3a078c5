// The n-th word of each bank is served by the n-th wavefront of its part.
#include "sim/analysis/wavefronts.h"

#include <algorithm>
#include <set>

namespace tilescope {

std::array<bool, shared_banks> Wavefront::banks() const {
  std::array<bool, shared_banks> busy{};
  for (const LaneWord& word : served) busy[static_cast<std::size_t>(word.bank())] = true;
  return busy;
}

std::vector<LaneWord> words_of(const WarpAccess& access, int lane) {
  std::vector<LaneWord> words;
  const std::int64_t address = access.address[static_cast<std::size_t>(lane)];
  if (address < 0) return words;
  for (std::int64_t word = address / bank_bytes; word <= (address + access.bytes - 1) / bank_bytes; ++word)
    words.push_back({lane, word});
  return words;
}

std::vector<Wavefront> wavefronts_of(const WarpAccess& access) {
  std::vector<Wavefront> all;
  const int lanes_at_once = warp_lanes * bank_bytes / std::max(access.bytes, bank_bytes);
  for (int first = 0; first < warp_lanes; first += lanes_at_once) {
    std::array<std::set<std::int64_t>, shared_banks> words;
    for (int lane = first; lane < first + lanes_at_once; ++lane)
      for (const LaneWord& each : words_of(access, lane)) words[static_cast<std::size_t>(each.bank())].insert(each.word);
    std::size_t most = 0;
    for (const auto& bank : words) most = std::max(most, bank.size());
    const std::size_t before = all.size();
    all.resize(before + most, Wavefront{first, lanes_at_once, {}});
    for (int lane = first; lane < first + lanes_at_once; ++lane) {
      for (const LaneWord& each : words_of(access, lane)) {
        const auto& bank = words[static_cast<std::size_t>(each.bank())];
        all[before + static_cast<std::size_t>(std::distance(bank.begin(), bank.find(each.word)))].served.push_back(each);
      }
    }
  }
  return all;
}

}  // namespace tilescope
