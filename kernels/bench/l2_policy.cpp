// tilescope_l2_policy: what an L2 keeps, copies and writes back, by experiments on single lines; prints tables of MiB.
//
//   tilescope_l2_policy [SECTION...]     all sections when none is named
// Needs an NVIDIA GPU of two L2 partitions and permission to read its counters. The tables that sim/memory relies on are
// kernels/measured/h200-l2-*.txt.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/bench/l2_lab.h"

using namespace tilescope;

namespace {

using Clock = std::chrono::steady_clock;

const L2Lab::Steps nothing = [] {};

Touch read_of(Lines lines, double first, double mib, Who who, int shift = 0) {
  Touch touch;
  touch.lines = lines;
  touch.first_mib = first;
  touch.mib = mib;
  touch.who = who;
  touch.shift = shift;
  return touch;
}
Touch write_of(Lines lines, double first, double mib, Who who, int shift = 0) {
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

/// What a flash-like kernel does to the L2, with nothing but reads and writes: lines that all read, and lines of one SM each.
void mixed(L2Lab& lab) {
  title(
      "mixed: 4 MiB read by each side, then [M read by each side, R read once, W written once], then the 4 read by each side "
      "again");
  const Touch probe = read_of(Lines::all, 0, 4, Who::each_side);
  for (const auto& [m, r, w] : {std::array{16, 0, 0},
                                {20, 0, 0},
                                {24, 0, 0},
                                {26, 0, 0},
                                {12, 8, 0},
                                {16, 8, 0},
                                {20, 8, 0},
                                {16, 16, 0},
                                {12, 0, 8},
                                {16, 0, 8},
                                {20, 0, 8},
                                {16, 0, 16},
                                {12, 8, 8},
                                {14, 8, 8},
                                {16, 8, 8},
                                {18, 8, 8},
                                {20, 8, 8}}) {
    const L2Bytes b = lab.bytes(
        [&] {
          lab.touch(probe);
          lab.touch(write_of(Lines::all, 60, w, Who::all));
          lab.touch(read_of(Lines::all, 100, r, Who::all));
          lab.touch(read_of(Lines::all, 4, m, Who::each_side));
        },
        [&] { lab.touch(probe); });
    row(fmt::format("M {} R {} W {}", m, r, w), b);
  }
  title(
      "mixed: ten rounds of [A read, B read and written, S new read], each SM one piece of A and of B; the last eight counted, a "
      "round");
  for (const bool pieces : {false, true})
    for (const auto& [a_mib, b_mib, s_mib] : {std::array{16.1, 16.1, 2.06},
                                              {16.1, 17.1, 2.06},
                                              {0.0, 16.1, 2.06},
                                              {12.0, 12.0, 2.0},
                                              {8.0, 8.0, 2.0},
                                              {16.0, 16.0, 0.0},
                                              {20.0, 16.0, 2.0},
                                              {24.0, 16.0, 2.0}}) {
      const auto rounds = [&](int first, int end) {
        for (int i = first; i < end; ++i) {
          Touch read_a = read_of(Lines::all, 0, a_mib, Who::all), read_b = read_of(Lines::all, 40, b_mib, Who::all);
          read_a.pieces = read_b.pieces = pieces;
          Touch write_b = read_b;
          write_b.write = true;
          if (a_mib > 0) lab.touch(read_a);
          lab.touch(read_b);
          lab.touch(write_b);
          if (s_mib > 0) lab.touch(read_of(Lines::all, 80 + s_mib * i, s_mib, Who::all));
        }
      };
      L2Bytes b = lab.bytes([&] { rounds(0, 2); }, [&] { rounds(2, 10); });
      for (double* each : {&b.hbm_read, &b.hbm_write, &b.fabric_read, &b.fabric_write}) *each /= 8;
      row(fmt::format("A {} B {} S {}{}", a_mib, b_mib, s_mib, pieces ? ", pieces" : ""), b);
    }
  title(
      "mixed: 12 MiB written, then so many others written; the 12 read between or not; the 12 again and flush (what was cleaned of "
      "them counts twice)");
  for (const double mib : {8.0, 12.0, 16.0, 20.0})
    for (const bool again : {false, true}) {
      const Touch twelve = write_of(Lines::all, 0, 12, Who::all);
      const auto prepare = [&] {
        lab.touch(twelve);
        lab.touch(write_of(Lines::all, 12, 10, Who::all));
        if (again) lab.touch(read_of(Lines::all, 0, 12, Who::all));
        lab.touch(write_of(Lines::all, 22, mib, Who::all));
      };
      row(fmt::format("10 and {:.0f} others{}", mib, again ? ", the 12 read between" : ""), lab.bytes(prepare, [&] {
        lab.touch(twelve);
        lab.flush();
      }));
    }
  title("mixed, repeated: the same reading five times: 28 MiB read by each side, then 4 of them again");
  for (int i = 0; i < 5; ++i)
    row("", lab.bytes([&] { lab.touch(read_of(Lines::all, 0, 28, Who::each_side)); },
                      [&] { lab.touch(read_of(Lines::all, 0, 4, Who::each_side)); }));
}

struct Setting {
  std::string_view name;
  Lines lines;
  Who who;
  double most;  // MiB of it that fit the buffer beside 4 more
};
constexpr Setting settings[] = {{"all lines, SMs share them", Lines::all, Who::all, 130},
                                {"home 0, read by side 0", Lines::home0, Who::side0, 70},
                                {"home 1, read by side 0", Lines::home1, Who::side0, 70},
                                {"all lines, read by side 0", Lines::all, Who::side0, 130},
                                {"all lines, read by each side", Lines::all, Who::each_side, 130}};

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

void writes(L2Lab& lab) {
  for (const Lines home : {Lines::home0, Lines::home1}) {
    title(fmt::format("writes: 4 MiB homed in {}, written by side 0", home == Lines::home0 ? 0 : 1));
    const Touch write = write_of(home, 0, 4, Who::side0), same = read_of(home, 0, 4, Who::side0),
                other_sm = read_of(home, 0, 4, Who::side0, 7), other_side = read_of(home, 0, 4, Who::side1);
    const auto w = [&] { lab.touch(write); };
    row("write", lab.bytes(nothing, w));
    row("write; again", lab.bytes(w, w));
    row("write; same SM reads", lab.bytes(w, [&] { lab.touch(same); }));
    row("write; another of its side reads", lab.bytes(w, [&] { lab.touch(other_sm); }));
    row("write; another of its side reads; again", lab.bytes(
                                                       [&] {
                                                         w();
                                                         lab.touch(other_sm);
                                                       },
                                                       [&] { lab.touch(other_sm); }));
    row("write; side 1 reads", lab.bytes(w, [&] { lab.touch(other_side); }));
    row("write; side 1 reads; again", lab.bytes(
                                          [&] {
                                            w();
                                            lab.touch(other_side);
                                          },
                                          [&] { lab.touch(other_side); }));
    row("write; side 1 reads; side 0 writes", lab.bytes(
                                                  [&] {
                                                    w();
                                                    lab.touch(other_side);
                                                  },
                                                  w));
    row("write, side 1 reads, write; side 1 reads", lab.bytes(
                                                        [&] {
                                                          w();
                                                          lab.touch(other_side);
                                                          w();
                                                        },
                                                        [&] { lab.touch(other_side); }));
    row("side 0 reads; it writes", lab.bytes([&] { lab.touch(same); }, w));
    row("side 0 reads, writes; it reads", lab.bytes(
                                              [&] {
                                                lab.touch(same);
                                                w();
                                              },
                                              [&] { lab.touch(same); }));
    row("write; 64 of home 0 by side 0", lab.bytes(w, [&] { lab.touch(read_of(Lines::home0, 8, 64, Who::side0)); }));
    row("write; 64 of home 1 by side 1", lab.bytes(w, [&] { lab.touch(read_of(Lines::home1, 8, 64, Who::side1)); }));
    row("write, 64 of home 0 by side 0; side 0 reads", lab.bytes(
                                                           [&] {
                                                             w();
                                                             lab.touch(read_of(Lines::home0, 8, 64, Who::side0));
                                                           },
                                                           [&] { lab.touch(same); }));
    row("write, 64 of home 1 by side 1; side 0 reads", lab.bytes(
                                                           [&] {
                                                             w();
                                                             lab.touch(read_of(Lines::home1, 8, 64, Who::side1));
                                                           },
                                                           [&] { lab.touch(same); }));
  }
}

void dirty(L2Lab& lab) {
  title("dirty: MiB written : to HBM meanwhile / by a flush after it / read from HBM when read again");
  for (const Setting& s : {settings[0], settings[1], settings[2], settings[3]}) {
    fmt::print("  {}\n   ", s.name);
    for (const double part : {8, 16, 20, 24, 28, 30, 32, 36, 40, 48, 56, 60, 64, 80, 96, 120}) {
      const double mib = s.most < 100 ? part / 2 : part;
      const Touch write = write_of(s.lines, 0, mib, s.who), read = read_of(s.lines, 0, mib, s.who);
      const L2Bytes now = lab.bytes(nothing, [&] { lab.touch(write); });
      const L2Bytes left = lab.bytes([&] { lab.touch(write); }, [&] { lab.flush(); });
      const L2Bytes again = lab.bytes([&] { lab.touch(write); }, [&] { lab.touch(read); });
      fmt::print(" {:.0f}:{:.2f}/{:.2f}/{:.2f}", mib, now.hbm_write, left.hbm_write, again.hbm_read);
    }
    fmt::print("\n");
  }
  title("dirty, slowly: one SM writes");
  for (const double mib : {24.0, 40.0, 56.0}) {
    const Touch write = write_of(Lines::all, 0, mib, Who::one);
    row(fmt::format("{:.0f} MiB", mib), lab.bytes(nothing, [&] { lab.touch(write); }));
    row(fmt::format("{:.0f} MiB; flush", mib), lab.bytes([&] { lab.touch(write); }, [&] { lab.flush(); }));
  }
  title("dirty, and time: 48 MiB written by all");
  const Touch write = write_of(Lines::all, 0, 48, Who::all);
  for (const double ms : {0.1, 1.0, 20.0})
    row(fmt::format("idle for {} ms; flush", ms), lab.bytes(
                                                      [&] {
                                                        lab.touch(write);
                                                        lab.idle(ms);
                                                      },
                                                      [&] { lab.flush(); }));
  title("dirty, which: 4 MiB written, then others written");
  const Touch first = write_of(Lines::all, 0, 4, Who::all);
  for (const double mib : {8.0, 16.0, 24.0, 28.0, 32.0, 36.0, 40.0, 48.0, 56.0, 64.0}) {
    const Touch others = write_of(Lines::all, 4, mib, Who::all);
    const auto prepare = [&] {
      lab.touch(first);
      lab.touch(others);
    };
    row(fmt::format("{:.0f} others; flush", mib), lab.bytes(prepare, [&] { lab.flush(); }));
    row(fmt::format("{:.0f} others; the 4 again and flush", mib), lab.bytes(prepare, [&] {
      lab.touch(first);
      lab.flush();
    }));
    row(fmt::format("{:.0f} others; the 4 read", mib), lab.bytes(prepare, [&] { lab.touch(read_of(Lines::all, 0, 4, Who::all)); }));
  }
  title("dirty, and reads: 20 MiB written by all; so many others read");
  const Touch twenty = write_of(Lines::all, 0, 20, Who::all);
  for (const double mib : {8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 64.0, 96.0})
    row(fmt::format("{:.0f} read", mib),
        lab.bytes([&] { lab.touch(twenty); }, [&] { lab.touch(read_of(Lines::all, 20, mib, Who::all)); }));
  title("dirty, over and over: eight rounds over a footprint");
  for (const double mib : {8.0, 16.0, 20.0, 24.0, 26.0, 28.0, 30.0, 32.0, 40.0, 48.0})
    row(fmt::format("{:.0f} MiB written", mib), lab.bytes(nothing, [&] {
      for (int i = 0; i < 8; ++i) lab.touch(write_of(Lines::all, 0, mib, Who::all));
    }));
}

/// A chunk written, and the chunk that was written so many MiB before read: what a consumer behind its producer finds.
void behind(L2Lab& lab) {
  title("behind: 80 rounds of [2 MiB written, the 2 MiB written so many MiB before read], the last 40 counted, a byte of them");
  constexpr double chunk = 2;
  const auto rounds = [&](Lines lines, Who who, int shift, double lag, int first, int end) {
    for (int i = first; i < end; ++i) {
      const auto at = [&](double position) { return position - 140 * static_cast<int>(position / 140); };
      lab.touch(write_of(lines, at(i * chunk), chunk, who));
      if (i * chunk >= lag) lab.touch(read_of(lines, at(i * chunk - lag), chunk, who, shift));
    }
  };
  struct Kind {
    std::string_view name;
    Lines lines;
    Who who;
    int shift;
  };
  for (const Kind& kind :
       {Kind{"all lines, the same SM reads", Lines::all, Who::all, 0},
        Kind{"all lines, another SM reads", Lines::all, Who::all, 61}, Kind{"home 0, side 0", Lines::home0, Who::side0, 0},
        Kind{"home 1, side 0", Lines::home1, Who::side0, 0}}) {
    fmt::print("  {}: lag : hbm rd/wr, fabric rd/wr\n   ", kind.name);
    for (const double lag :
         {2.0, 8.0, 12.0, 16.0, 20.0, 24.0, 26.0, 28.0, 30.0, 32.0, 36.0, 40.0, 44.0, 48.0, 52.0, 56.0, 60.0, 72.0}) {
      const L2Bytes b = lab.bytes([&] { rounds(kind.lines, kind.who, kind.shift, lag, 0, 40); },
                                  [&] { rounds(kind.lines, kind.who, kind.shift, lag, 40, 80); });
      const double all = 40 * chunk;
      fmt::print(" {:.0f}:{:.2f}/{:.2f},{:.2f}/{:.2f}", lag, b.hbm_read / all, b.hbm_write / all, b.fabric_read / all,
                 b.fabric_write / all);
    }
    fmt::print("\n");
  }
}

void update(L2Lab& lab) {
  title("update: ten rounds of [a footprint read, then written by the same SMs, so many new MiB read], the last eight counted");
  for (const double stream : {0.0, 4.0, 8.0})
    for (const double mib : {8.0, 16.0, 20.0, 24.0, 28.0, 32.0, 40.0, 48.0}) {
      const auto rounds = [&](int first, int end) {
        for (int i = first; i < end; ++i) {
          lab.touch(read_of(Lines::all, 0, mib, Who::all));
          lab.touch(write_of(Lines::all, 0, mib, Who::all));
          if (stream > 0) lab.touch(read_of(Lines::all, 64 + stream * i, stream, Who::all));
        }
      };
      row(fmt::format("{:.0f} MiB, {:.0f} new a round", mib, stream), lab.bytes([&] { rounds(0, 2); }, [&] { rounds(2, 10); }));
    }
}

void update_half(L2Lab& lab) {
  for (const Lines home : {Lines::home0, Lines::home1}) {
    title(fmt::format("update, homed in {}, side 0", home == Lines::home0 ? 0 : 1));
    for (const double stream : {0.0, 2.0, 4.0})
      for (const double mib : {4.0, 8.0, 10.0, 12.0, 14.0, 16.0, 20.0, 24.0}) {
        const auto rounds = [&](int first, int end) {
          for (int i = first; i < end; ++i) {
            lab.touch(read_of(home, 0, mib, Who::side0));
            lab.touch(write_of(home, 0, mib, Who::side0));
            if (stream > 0) lab.touch(read_of(home, 32 + stream * i, stream, Who::side0));
          }
        };
        row(fmt::format("{:.0f} MiB, {:.0f} new a round", mib, stream), lab.bytes([&] { rounds(0, 2); }, [&] { rounds(2, 10); }));
      }
  }
}

void parts(L2Lab& lab) {
  title("parts of lines: 4 MiB of lines homed in 0, side 0");
  for (const int bytes : {32, 64, 128}) {
    Touch touch = read_of(Lines::home0, 0, 4, Who::side0);
    touch.bytes = bytes;
    row(fmt::format("{} bytes of each line read", bytes), lab.bytes(nothing, [&] { lab.touch(touch); }));
  }
  for (const int bytes : {4, 16, 32, 64, 128}) {
    Touch write = write_of(Lines::home0, 0, 4, Who::side0);
    write.bytes = bytes;
    const Touch read = read_of(Lines::home0, 0, 4, Who::side0);
    const std::string what =
        bytes < 32 ? fmt::format("{} bytes of each sector", bytes) : fmt::format("{} bytes of each line", bytes);
    row(what + " written", lab.bytes(nothing, [&] { lab.touch(write); }));
    row(what + " written; all read", lab.bytes([&] { lab.touch(write); }, [&] { lab.touch(read); }));
    row(what + " written; flush", lab.bytes([&] { lab.touch(write); }, [&] { lab.flush(); }));
    row(what + " written, all read; flush", lab.bytes(
                                                [&] {
                                                  lab.touch(write);
                                                  lab.touch(read);
                                                },
                                                [&] { lab.flush(); }));
  }
  row("flush alone", lab.bytes(nothing, [&] { lab.flush(); }));
}

struct Section {
  std::string_view name;
  void (*run)(L2Lab&);
};
constexpr Section sections[] = {{"machine", machine}, {"order", order},   {"spread", spread},      {"mixed", mixed},
                                {"copies", copies},   {"writes", writes}, {"parts", parts},        {"survival", survival},
                                {"cyclic", cyclic},   {"dirty", dirty},   {"update", update},      {"update_half", update_half},
                                {"behind", behind},   {"hot", hot},       {"random", random_order}};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
  const auto start = Clock::now();
  constexpr int buffer_mib = 320;
  Result<L2Lab> lab = L2Lab::make(buffer_mib);
  if (!lab) {
    fmt::print(stderr, "{}\n", lab.error().sentence);
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
      fmt::print(stderr, "{}\n", lab->status().error().sentence);
      return 1;
    }
  }
  return 0;
}
