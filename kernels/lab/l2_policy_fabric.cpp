// tilescope_l2_policy, section fabric: bandwidth between the two partitions.
#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>

#include "kernels/lab/l2_policy.h"

namespace tilescope {

void fabric(L2Lab& lab) {
  title(
      "fabric: bytes a cycle at which side 0 and side 1 get on with so many MiB each, 0 where a side rests, and with what the "
      "last size has over the first; all of it in its home before");
  constexpr std::array sizes = {4.0, 8.0, 12.0};  // MiB; lines and their copies fit in a partition
  constexpr auto no_lines = std::nullopt;
  using ByLines = std::array<std::optional<Lines>, 2>;
  using Writes = std::array<bool, 2>;
  struct Case {
    std::string_view name;
    ByLines lines;
    Writes write;
  };
  constexpr ByLines near = {Lines::home0, Lines::home1}, far = {Lines::home1, Lines::home0};
  const Case cases[] = {
      {"both read near lines", near, {}},
      {"side 0 reads near lines", {Lines::home0, no_lines}, {}},
      {"both read far lines", far, {}},
      {"side 0 reads far lines", {Lines::home1, no_lines}, {}},
      {"both write near lines", near, {true, true}},
      {"side 0 writes near lines", {Lines::home0, no_lines}, {true, true}},
      {"both write far lines", far, {true, true}},
      {"side 0 writes far lines", {Lines::home1, no_lines}, {true, true}},
      {"side 0 reads, side 1 writes far lines", far, {false, true}},
      {"side 0 reads near, side 1 far lines", {Lines::home0, Lines::home0}, {}},
  };
  for (const Case& c : cases) {
    fmt::print("  {:40}", c.name);
    std::array<double, 2> first{}, rates{};
    for (const double mib : sizes) {
      const auto prepare = [&] {
        lab.touch(read_of(Lines::home0, 0, mib, Who::side0));
        lab.touch(read_of(Lines::home1, 0, mib, Who::side1));
      };
      rates = lab.rates(prepare, {c.lines, c.write, 0, mib});
      if (mib == sizes.front()) first = rates;
      fmt::print("  {:.0f}: {:4.0f} {:4.0f}", mib, rates[0], rates[1]);
    }
    // The difference of two sizes removes the constant start-up time of a pass.
    const auto without_start = [&](std::size_t side) {
      if (!c.lines[side]) return 0.0;
      return (sizes.back() - sizes.front()) / (sizes.back() / rates[side] - sizes.front() / first[side]);
    };
    fmt::print("  last over first: {:4.0f} {:4.0f}\n", without_start(0), without_start(1));
  }
}

}  // namespace tilescope
