// tilescope_l2_policy, placement: the side of each SM, the home of each line, the SM of each block.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/lab/l2_policy.h"

namespace tilescope {

void machine(L2Lab& lab) {
  const auto& sms = lab.sms();
  title("machine: sides and GPCs of the SMs, found by first touches and by clusters");
  std::string sides, gpcs;
  for (const SmPlace& sm : sms) sides += static_cast<char>('0' + sm.side), gpcs += static_cast<char>('A' + sm.gpc);
  fmt::print("  side by SM {}\n  GPC by SM  {}\n", sides, gpcs);
  std::map<char, std::array<int, 2>> by_gpc;
  for (std::size_t i = 0; i < sms.size(); ++i) ++by_gpc[gpcs[i]][static_cast<std::size_t>(sms[i].side)];
  for (const auto& [gpc, count] : by_gpc) fmt::print("  GPC {}: {} SMs of side 0, {} of side 1\n", gpc, count[0], count[1]);
  fmt::print("  latency, mean of 512 lines that SM 0 brought in: first touch / again\n  ");
  for (std::size_t i = 0; i < sms.size(); i += 3) fmt::print("{}:{:.0f}/{:.0f} ", i, sms[i].first_latency, sms[i].own_latency);
  fmt::print("\n  homes: {:.2f} MiB in 0, {:.2f} in 1; side 0 sees {:.2f} % of a sample otherwise\n", lab.mib_of(Lines::home0),
             lab.mib_of(Lines::home1), 100 * lab.disagreeing());
  std::map<int, int> histogram;
  for (const std::uint16_t cycles : lab.first_touches()) ++histogram[std::min(cycles / 25 * 25, 1500)];
  fmt::print("  first touches from side 1, cycles:lines ");
  for (const auto& [cycles, lines] : histogram) fmt::print("{}:{} ", cycles, lines);
  std::map<std::int64_t, std::int64_t> runs;
  std::int64_t run = 1;
  for (std::size_t i = 1; i < lab.homes().size(); ++i) {
    if (lab.homes()[i] == lab.homes()[i - 1]) {
      ++run;
    } else {
      ++runs[run];
      run = 1;
    }
  }
  fmt::print("\n  runs of lines of one home, length:count ");
  int shown = 0;
  for (const auto& [length, count] : runs)
    if (shown++ < 24) fmt::print("{}:{} ", length, count);
  fmt::print("\n  homes of the first 256 lines ");
  for (std::size_t i = 0; i < 256; ++i) fmt::print("{}{}", i % 32 == 0 ? " " : "", lab.homes()[i]);
  fmt::print("\n");
}

void order(L2Lab& lab) {
  title("order: SM, GPC and side of each block in order of number; then later blocks in order of start");
  for (const int per_sm : {1, 1, 1, 2, 2}) {
    const int sms = lab.device().sm_count;
    const auto placed = lab.place_blocks(sms * per_sm * 3, per_sm, true);
    if (placed.empty()) return;
    fmt::print("  {} an SM: ", per_sm);
    for (int i = 0; i < sms * per_sm; ++i) {
      const int sm = placed[static_cast<std::size_t>(i)].sm;
      fmt::print("{}{}{} ", sm, static_cast<char>('A' + lab.sms()[static_cast<std::size_t>(sm)].gpc),
                 lab.sms()[static_cast<std::size_t>(sm)].side);
    }
    int in_order = 0;
    for (std::size_t i = static_cast<std::size_t>(sms * per_sm) + 1; i < placed.size(); ++i)
      in_order += placed[i].start_ns >= placed[i - 1].start_ns - 40 ? 1 : 0;
    fmt::print("\n    of {} later blocks, {} start no earlier than the one before\n    later: ",
               placed.size() - static_cast<std::size_t>(sms * per_sm) - 1, in_order);
    for (int i = sms * per_sm; i < sms * per_sm + 66; ++i) fmt::print("{} ", placed[static_cast<std::size_t>(i)].sm);
    fmt::print("\n");
  }
}

void spread(L2Lab& lab) {
  title(
      "spread: a grid that may have so many blocks an SM: SMs with 0, 1, 2... blocks; blocks on each side; sides in order of "
      "number");
  for (const auto& [per_sm, blocks] :
       {std::pair{1, 32}, {1, 64}, {2, 16},  {2, 32},  {2, 64},  {2, 128}, {2, 264},  {3, 16},    {3, 132},   {4, 8},
        {4, 16},          {4, 32}, {4, 128}, {4, 132}, {4, 528}, {6, 792}, {10, 512}, {10, 1320}, {16, 1024}, {16, 2112}}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto placed = lab.place_blocks(blocks, per_sm, false);
      std::vector<int> of(lab.sms().size()), with(static_cast<std::size_t>(per_sm + 2));
      std::array<int, 2> sides{};
      std::string runs;
      int run = 0;
      for (std::size_t i = 0; i < placed.size(); ++i) {
        const auto sm = static_cast<std::size_t>(placed[i].sm);
        ++of[sm];
        const int side = lab.sms()[sm].side;
        ++sides[static_cast<std::size_t>(side)];
        ++run;
        if (i + 1 == placed.size() || lab.sms()[static_cast<std::size_t>(placed[i + 1].sm)].side != side) {
          if (runs.size() < 160) runs += fmt::format(" {}x{}", side, run);
          run = 0;
        }
      }
      for (const int blocks_of_sm : of) ++with[static_cast<std::size_t>(std::min(blocks_of_sm, per_sm + 1))];
      fmt::print("  {:>2} an SM, {:>4} blocks: SMs {} sides {}/{} runs{}\n", per_sm, blocks, fmt::join(with, " "), sides[0],
                 sides[1], runs);
    }
  }
}

}  // namespace tilescope
