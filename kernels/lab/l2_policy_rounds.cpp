// tilescope_l2_policy, rounds: working sets that are read and written repeatedly.
#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

#include "kernels/lab/l2_policy.h"

namespace tilescope {

/// Imitates the L2 accesses of a flash kernel with plain reads and writes: lines that every SM reads, and lines of one SM each.
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

/// Shows how much of partition 0 other lines occupy, and how evenly: the later the earlier lines are evicted, the less is occupied.
void occupancy(L2Lab& lab) {
  title(
      "occupancy: 2 MiB of home 0 read by side 0, then what stands there, then M of home 0 read by side 0; part of the 2 that is "
      "read from HBM again, by M");
  const auto all = [](double mib, Who who) { return read_of(Lines::all, 200, mib, who); };
  const auto home0 = [](double mib, Who who) { return read_of(Lines::home0, 100, mib, who); };
  const auto home1 = [](double mib, Who who) { return read_of(Lines::home1, 100, mib, who); };
  const auto all_written = [](double mib) { return write_of(Lines::all, 200, mib, Who::all); };
  const auto written = [](Lines home, Who who) { return write_of(home, 100, 8, who); };
  struct Kind {
    std::string_view name;
    std::vector<Touch> touches;
  };
  const std::vector<Kind> kinds = {
      {"nothing", {}},
      {"8 of all lines by all", {all(8, Who::all)}},
      {"16 of all lines by all", {all(16, Who::all)}},
      {"8 of all lines by each side", {all(8, Who::each_side)}},
      {"8 of all lines by side 0", {all(8, Who::side0)}},
      {"8 of all lines by side 1", {all(8, Who::side1)}},
      {"8 of home 0 by side 0", {home0(8, Who::side0)}},
      {"8 of home 0 by side 1", {home0(8, Who::side1)}},
      {"8 of home 0 by all", {home0(8, Who::all)}},
      {"8 of home 1 by side 0", {home1(8, Who::side0)}},
      {"8 of home 1 by side 1", {home1(8, Who::side1)}},
      {"8 of home 1 by all", {home1(8, Who::all)}},
      {"4 of home 0 and 4 of home 1 by side 0", {home0(4, Who::side0), home1(4, Who::side0)}},
      {"8 of all lines written by all", {all_written(8)}},
      {"16 of all lines written by all", {all_written(16)}},
      {"8 of home 0 written by side 1", {written(Lines::home0, Who::side1)}},
      {"8 of home 1 written by side 0", {written(Lines::home1, Who::side0)}},
      {"8 of home 1 written by side 1", {written(Lines::home1, Who::side1)}},
      {"8 of all lines read, 8 others written", {all(8, Who::all), write_of(Lines::all, 250, 8, Who::all)}},
      {"8 of all lines read, then written", {all(8, Who::all), all_written(8)}},
  };
  constexpr double probe = 2;
  for (const Kind& kind : kinds) {
    fmt::print("  {:<38}", kind.name);
    for (int m = 6; m <= 31; ++m) {
      const Touch own = read_of(Lines::home0, 0, probe, Who::side0);
      const L2Bytes b = lab.bytes(
          [&] {
            lab.touch(own);
            for (const Touch& touch : kind.touches) lab.touch(touch);
            lab.touch(read_of(Lines::home0, 4, m, Who::side0));
          },
          [&] { lab.touch(own); });
      fmt::print(" {}:{:.2f}", m, b.hbm_read / probe);
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

/// Writes a chunk, then reads the chunk written a given number of MiB earlier, as a consumer follows its producer.
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

}  // namespace tilescope
