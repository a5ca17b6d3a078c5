// The sections of tilescope_l2_policy, each of which prints a table, and their shared helpers.
#pragma once

#include <string_view>

#include "kernels/lab/l2_lab.h"

namespace tilescope {

// Placement: sides and GPCs of SMs, homes of lines, SMs of blocks.   l2_policy_places.cpp
void machine(L2Lab& lab);
void order(L2Lab& lab);
void spread(L2Lab& lab);

// Reads: which lines survive while others are read.   l2_policy_reads.cpp
void copies(L2Lab& lab);
void survival(L2Lab& lab);
void cyclic(L2Lab& lab);
void hot(L2Lab& lab);
void random_order(L2Lab& lab);

// Fabric: bandwidth between the partitions.   l2_policy_fabric.cpp
void fabric(L2Lab& lab);

// Writes: where written lines are stored, and when they are written back.   l2_policy_writes.cpp
void writes(L2Lab& lab);
void parts(L2Lab& lab);
void dirty(L2Lab& lab);

// Rounds: reads and writes mixed, repeated.   l2_policy_rounds.cpp
void mixed(L2Lab& lab);
void occupancy(L2Lab& lab);
void update(L2Lab& lab);
void update_half(L2Lab& lab);
void behind(L2Lab& lab);

// Sets: which lines share a set, and how reads and writes replace lines of a set.   l2_policy_sets.cpp
void sets(L2Lab& lab);

/// Returns one pass of `who` over `mib` MiB of the lines, starting at `first` MiB; `shift` as in Touch.
Touch read_of(Lines lines, double first, double mib, Who who, int shift = 0);
Touch write_of(Lines lines, double first, double mib, Who who, int shift = 0);
inline const L2Lab::Steps nothing = [] {};

/// A choice of lines and readers, which several sections iterate over.
struct Setting {
  std::string_view name;
  Lines lines;
  Who who;
  double most;  // MiB of these lines that fit in the buffer beside 4 more
};
inline constexpr Setting settings[] = {{"all lines, SMs share them", Lines::all, Who::all, 130},
                                       {"home 0, read by side 0", Lines::home0, Who::side0, 70},
                                       {"home 1, read by side 0", Lines::home1, Who::side0, 70},
                                       {"all lines, read by side 0", Lines::all, Who::side0, 130},
                                       {"all lines, read by each side", Lines::all, Who::each_side, 130}};

void title(std::string_view text);
void row(std::string_view label, const L2Bytes& bytes);

}  // namespace tilescope
