// Places the words of an access.
#include "app/views/banks/banks_picture.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace tilescope {

BankPicture bank_picture(const WarpAccess& access) {
  BankPicture picture;
  picture.use = bank_use(access);
  picture.wavefronts = wavefronts_of(access);
  for (std::size_t i = 0; i < picture.wavefronts.size(); ++i)
    for (const LaneWord& word : picture.wavefronts[i].served) picture.cells.push_back({word, static_cast<int>(i) + 1, false});
  for (BankCell& cell : picture.cells)
    cell.meets_another = words_in_part(picture, cell.wavefront)[static_cast<std::size_t>(cell.word.bank())] > 1;
  std::sort(picture.cells.begin(), picture.cells.end(), [](const BankCell& a, const BankCell& b) {
    return a.word.lane != b.word.lane ? a.word.lane < b.word.lane : a.word.bank() < b.word.bank();
  });
  return picture;
}

std::array<int, shared_banks> words_in_part(const BankPicture& picture, int wavefront) {
  std::array<int, shared_banks> words{};
  if (wavefront < 1 || wavefront > static_cast<int>(picture.wavefronts.size())) return words;
  const int first = picture.wavefronts[static_cast<std::size_t>(wavefront) - 1].first_lane;
  for (const Wavefront& each : picture.wavefronts) {
    if (each.first_lane != first) continue;
    const std::array<bool, shared_banks> busy = each.banks();
    for (std::size_t bank = 0; bank < words.size(); ++bank) words[bank] += busy[bank] ? 1 : 0;
  }
  return words;
}

SectorPicture sector_picture(const WarpAccess& access) {
  SectorPicture picture;
  const std::vector<std::int64_t> sectors = sectors_of(access);
  picture.sectors = static_cast<std::int64_t>(sectors.size());
  std::map<std::int64_t, LinePicture> lines;
  for (const std::int64_t sector : sectors) {
    LinePicture& line = lines[sector / sectors_in_line];
    line.line = sector / sectors_in_line;
    line.touched[static_cast<std::size_t>(sector % sectors_in_line)] = true;
  }
  for (int lane = 0; lane < warp_lanes; ++lane)
    for (const LaneWord& each : words_of(access, lane))
      lines[each.word / words_in_line].lanes[static_cast<std::size_t>(each.word % words_in_line)].push_back(lane);
  for (auto& [at, line] : lines) {
    for (const auto& lanes : line.lanes) picture.requested_bytes += lanes.empty() ? 0 : bank_bytes;
    picture.lines.push_back(std::move(line));
  }
  return picture;
}

std::string ranges_text(std::span<const int> sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", sorted[i]) : fmt::format("{}–{}", sorted[i], sorted[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace tilescope
