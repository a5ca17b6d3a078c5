// tilescope_l2_policy: experiments on single lines that show what an L2 keeps, copies and writes back; prints tables of MiB.
//
//   tilescope_l2_policy [SECTION...]     all sections when none is named
// Needs an NVIDIA GPU with two L2 partitions and permission to read its counters. The tables that sim/memory relies on are
// kernels/lab/measured/h200-l2-*.txt.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

#include "kernels/lab/l2_policy.h"

namespace tilescope {

Touch read_of(Lines lines, double first, double mib, Who who, int shift) {
  Touch touch;
  touch.lines = lines;
  touch.first_mib = first;
  touch.mib = mib;
  touch.who = who;
  touch.shift = shift;
  return touch;
}
Touch write_of(Lines lines, double first, double mib, Who who, int shift) {
  Touch touch = read_of(lines, first, mib, who, shift);
  touch.write = true;
  return touch;
}

void title(std::string_view text) {
  fmt::print("\n{}\n", text);
}
void row(std::string_view label, const L2Bytes& b) {
  fmt::print("  {:<44} hbm rd {:8.2f} wr {:8.2f}   fabric rd {:8.2f} wr {:8.2f}\n", label, b.hbm_read, b.hbm_write, b.fabric_read,
             b.fabric_write);
}

}  // namespace tilescope

using namespace tilescope;

namespace {

using Clock = std::chrono::steady_clock;

struct Section {
  std::string_view name;
  void (*run)(L2Lab&);
};
constexpr Section sections[] = {{"machine", machine},     {"order", order},
                                {"spread", spread},       {"mixed", mixed},
                                {"occupancy", occupancy}, {"copies", copies},
                                {"fabric", fabric},       {"writes", writes},
                                {"parts", parts},         {"survival", survival},
                                {"cyclic", cyclic},       {"dirty", dirty},
                                {"update", update},       {"update_half", update_half},
                                {"behind", behind},       {"hot", hot},
                                {"random", random_order}, {"sets", sets}};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  const auto start = Clock::now();
  constexpr int buffer_mib = 320;
  Result<L2Lab> lab = L2Lab::make(buffer_mib);
  if (!lab) {
    fmt::print(stderr, "{}\n", lab.error().sentence.text());
    return lab.error().kind == Error::Kind::machine_lacks ? 3 : 1;
  }
  fmt::print("{}, L2 of {} bytes, CUDA driver {}; set up in {:.1f} s\n", lab->device().name, lab->device().l2_bytes,
             lab->device().driver_version, std::chrono::duration<double>(Clock::now() - start).count());
  for (const Section& section : sections) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), section.name) == wanted.end()) continue;
    const auto began = Clock::now();
    section.run(*lab);
    fmt::print("  ({} took {:.1f} s)\n", section.name, std::chrono::duration<double>(Clock::now() - began).count());
    std::fflush(stdout);
    if (!lab->status()) {
      fmt::print(stderr, "{}\n", lab->status().error().sentence.text());
      return 1;
    }
  }
  return 0;
}
