// tilescope_l2_policy, writes: where written lines are stored, how many can be dirty, and what partial sectors cost.
#include <fmt/format.h>

#include <string>

#include "kernels/lab/l2_policy.h"

namespace tilescope {

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

}  // namespace tilescope
