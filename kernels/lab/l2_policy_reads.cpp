// tilescope_l2_policy, reads: which lines stay in the L2 while others are read.
#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/lab/l2_policy.h"

namespace tilescope {

void copies(L2Lab& lab) {
  title("copies: 4 MiB homed in 1");
  const Touch by0 = read_of(Lines::home1, 0, 4, Who::side0), by1 = read_of(Lines::home1, 0, 4, Who::side1);
  row("side 0 reads", lab.bytes(nothing, [&] { lab.touch(by0); }));
  row("side 0 reads; again", lab.bytes([&] { lab.touch(by0); }, [&] { lab.touch(by0); }));
  row("side 0 reads; side 1 reads", lab.bytes([&] { lab.touch(by0); }, [&] { lab.touch(by1); }));
  row("side 1 reads; side 0 reads", lab.bytes([&] { lab.touch(by1); }, [&] { lab.touch(by0); }));
  row("side 1 reads", lab.bytes(nothing, [&] { lab.touch(by1); }));
  for (const double mib : {8.0, 16.0, 20.0, 24.0, 28.0, 32.0, 40.0, 64.0}) {
    const auto others1 = read_of(Lines::home1, 8, mib, Who::side1);
    row(fmt::format("side 0, {:.0f} of home 1 by side 1; side 0", mib), lab.bytes(
                                                                            [&] {
                                                                              lab.touch(by0);
                                                                              lab.touch(others1);
                                                                            },
                                                                            [&] { lab.touch(by0); }));
  }
  for (const double mib : {8.0, 16.0, 20.0, 24.0, 28.0, 32.0, 40.0, 64.0}) {
    const auto others0 = read_of(Lines::home0, 8, mib, Who::side0);
    row(fmt::format("side 0, {:.0f} of home 0 by side 0; side 0", mib), lab.bytes(
                                                                            [&] {
                                                                              lab.touch(by0);
                                                                              lab.touch(others0);
                                                                            },
                                                                            [&] { lab.touch(by0); }));
  }
  for (const double mib : {16.0, 24.0, 28.0, 32.0, 40.0, 64.0}) {
    const auto others1 = read_of(Lines::home1, 8, mib / 4, Who::side1);
    const auto prepare = [&] {
      for (int i = 0; i < 4; ++i) {
        lab.touch(by0);
        lab.touch(read_of(Lines::home1, 8 + i * mib / 4, mib / 4, Who::side1));
      }
    };
    row(fmt::format("4 x (side 0, {:.0f} of home 1 by side 1); side 1", mib / 4), lab.bytes(prepare, [&] { lab.touch(by1); }));
    row(fmt::format("4 x (side 0, {:.0f} of home 1 by side 1); side 0", mib / 4), lab.bytes(prepare, [&] { lab.touch(by0); }));
  }
}

void survival(L2Lab& lab) {
  title("survival: part of 2 MiB that is read from HBM again after so many MiB of other lines were read");
  const std::vector<double> whole = {8, 16, 24, 28, 32, 36, 40, 44, 48, 52, 54, 56, 58, 60, 64, 72, 80, 96, 120};
  const std::vector<double> half = {4, 8, 12, 16, 20, 22, 24, 26, 27, 28, 29, 30, 32, 36, 40, 48, 60};
  constexpr double probe = 2;
  const auto curve = [&](std::string_view name, const Setting& s, const std::vector<double>& sizes, auto before,
                         bool stream_writes) {
    fmt::print("  {}: {}\n   ", s.name, name);
    for (const double mib : sizes) {
      const Touch own = read_of(s.lines, 0, probe, s.who);
      Touch stream = read_of(s.lines, 4, mib, s.who);
      stream.write = stream_writes;
      const L2Bytes b = lab.bytes(
          [&] {
            before(own);
            lab.touch(stream);
          },
          [&] { lab.touch(own); });
      fmt::print(" {:.0f}:{:.3f}/{:.3f}", mib, b.hbm_read / probe, b.fabric_read / probe);
    }
    fmt::print("\n");
  };
  const auto once = [&](const Touch& own) { lab.touch(own); };
  const auto four = [&](const Touch& own) {
    for (int i = 0; i < 4; ++i) lab.touch(own);
  };
  const auto written = [&](Touch own) {
    own.write = true;
    lab.touch(own);
  };
  for (const Setting& s : settings) curve("read once", s, s.most < 100 ? half : whole, once, false);
  curve("read four times", settings[1], half, four, false);
  curve("written", settings[1], half, written, false);
  curve("read once, the others written", settings[1], half, once, true);
  curve("read four times", settings[0], whole, four, false);
  curve("written", settings[0], whole, written, false);
  curve("read once, the others written", settings[0], whole, once, true);
  fmt::print("  home 0, side 0: read once; the others homed in 1, so copies\n   ");
  for (const double mib : half) {
    const Touch own = read_of(Lines::home0, 0, probe, Who::side0);
    const L2Bytes b = lab.bytes(
        [&] {
          lab.touch(own);
          lab.touch(read_of(Lines::home1, 4, mib, Who::side0));
        },
        [&] { lab.touch(own); });
    fmt::print(" {:.0f}:{:.3f}", mib, b.hbm_read / probe);
  }
  fmt::print("\n");
  fmt::print("  home 0, side 0: read, half of the others, read, the other half\n   ");
  for (const double mib : half) {
    const Touch own = read_of(Lines::home0, 0, probe, Who::side0);
    const L2Bytes b = lab.bytes(
        [&] {
          lab.touch(own);
          lab.touch(read_of(Lines::home0, 4, mib / 2, Who::side0));
          lab.touch(own);
          lab.touch(read_of(Lines::home0, 4 + mib / 2, mib / 2, Who::side0));
        },
        [&] { lab.touch(own); });
    fmt::print(" {:.0f}:{:.3f}", mib, b.hbm_read / probe);
  }
  fmt::print("\n");
}

void cyclic(L2Lab& lab) {
  title("cyclic: part of a footprint read from HBM, and over the fabric, in the fourth round over it");
  const std::vector<double> whole = {24, 28, 32, 36, 40, 44, 48, 52, 54, 56, 58, 60, 62, 64, 68, 72, 80, 96, 120};
  const std::vector<double> half = {12, 16, 20, 22, 24, 26, 27, 28, 29, 30, 31, 32, 34, 36, 40, 48, 60};
  for (const Setting& s : settings) {
    fmt::print("  {}\n   ", s.name);
    for (const double mib : s.most < 100 ? half : whole) {
      const Touch touch = read_of(s.lines, 0, mib, s.who);
      const L2Bytes b = lab.bytes(
          [&] {
            for (int i = 0; i < 3; ++i) lab.touch(touch);
          },
          [&] { lab.touch(touch); });
      fmt::print(" {:.0f}:{:.3f}/{:.3f}", mib, b.hbm_read / mib, b.fabric_read / mib);
    }
    fmt::print("\n");
  }
}

void hot(L2Lab& lab) {
  title("hot: part of a hot set that is read from HBM after six rounds of [hot set, so many new MiB]; home 0, side 0");
  for (const int times : {1, 2})
    for (const double size : {8.0, 16.0}) {
      fmt::print("  {:.0f} MiB hot, read {} a round:", size, times == 1 ? "once" : "twice");
      for (const double stream : {2.0, 4.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0, 32.0, 48.0}) {
        const L2Bytes b = lab.bytes(
            [&] {
              double at = 17;
              for (int i = 0; i < 6; ++i) {
                for (int k = 0; k < times; ++k) lab.touch(read_of(Lines::home0, 0, size, Who::side0));
                if (at + stream > 150) at = 17;
                lab.touch(read_of(Lines::home0, at, stream, Who::side0));
                at += stream;
              }
            },
            [&] { lab.touch(read_of(Lines::home0, 0, size, Who::side0)); });
        fmt::print(" {:.0f}:{:.3f}", stream, b.hbm_read / size);
      }
      fmt::print("\n");
    }
}

void random_order(L2Lab& lab) {
  title(
      "random: part of the look-ups in random order that go to HBM, sixth round; a footprint of F MiB and as many look-ups a "
      "round");
  for (const auto& [setting, sizes] :
       {std::pair{0, std::vector<double>{40, 48, 56, 64, 80, 120}}, std::pair{1, std::vector<double>{20, 24, 28, 32, 40, 60}},
        std::pair{4, std::vector<double>{20, 30, 40, 60, 80}}}) {
    const Setting& s = settings[setting];
    fmt::print("  {}:", s.name);
    for (const double mib : sizes) {
      Touch touch = read_of(s.lines, 0, mib, s.who);
      touch.random = true;
      const L2Bytes b = lab.bytes(
          [&] {
            for (std::uint32_t i = 1; i < 6; ++i) {
              touch.seed = i;
              lab.touch(touch);
            }
          },
          [&] {
            touch.seed = 6;
            lab.touch(touch);
          });
      fmt::print(" {:.0f}:{:.3f}/{:.3f}", mib, b.hbm_read / mib, b.fabric_read / mib);
    }
    fmt::print("\n");
  }
}

}  // namespace tilescope
