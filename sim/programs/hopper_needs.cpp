// The table of the rungs; threads, registers and shared memory of each.
#include "sim/programs/hopper_needs.h"

#include <algorithm>
#include <array>

#include "sim/core/units.h"
#include "sim/programs/kernel_needs.h"
#include "sim/programs/kernel_profile.h"
#include "sim/programs/needs_parts.h"

namespace tilescope {

namespace {

constexpr int group_threads = 128;
constexpr std::int64_t barrier_bytes = 8;

constexpr std::array rungs = {
    HopperRung{.number = HopperRungId::wgmma,
               .title = "Hopper 1: wgmma and TMA",
               .summary = "Over FlashAttention-2: products by wgmma, straight from shared memory, which TMA fills.",
               .producer = false},
    HopperRung{.number = HopperRungId::producer,
               .title = "Hopper 2: a producer",
               .summary = "Over rung 1: one warp only loads. Full and empty tokens tie it to two groups that compute."},
    HopperRung{.number = HopperRungId::three_groups,
               .title = "Hopper 3: three groups",
               .summary = "Over rung 2: a third group of 64 rows shares each K and V tile.",
               .groups = 3,
               .groups_d64 = 3},
    HopperRung{.number = HopperRungId::overlap,
               .title = "Hopper 4: softmax under products",
               .summary = "Over rung 2: a group issues its next products before the softmax that they run under.",
               .groups_d64 = 3,
               .overlap = true},
    HopperRung{.number = HopperRungId::ping_pong,
               .title = "Hopper 5: ping-pong",
               .summary = "Over rung 4: the groups take turns to issue products, so that one computes softmax meanwhile.",
               .groups_d64 = 3,
               .overlap = true,
               .ping_pong = true},
    HopperRung{.number = HopperRungId::persistent,
               .title = "Hopper 6: persistent blocks",
               .summary = "Over rung 5: blocks stay on their SM. The next Q loads while the last O is stored.",
               .groups_d64 = 3,
               .overlap = true,
               .ping_pong = true,
               .persistent = true},
    HopperRung{.number = HopperRungId::causal,
               .title = "Hopper 7: longest first",
               .summary = "Over rung 6: with a mask, the longest rows go first, by heads that fit the L2 together.",
               .groups_d64 = 3,
               .overlap = true,
               .ping_pong = true,
               .persistent = true,
               .grouped = true},
    HopperRung{.number = HopperRungId::flex,
               .title = "FlexAttention on Hopper",
               .summary = "Over flex: a producer, and two groups that take turns, follow the lists of key blocks.",
               .overlap = true,
               .ping_pong = true,
               .lists = true},
    HopperRung{.number = HopperRungId::wgmma_longest,
               .title = "Hopper 1, longest first",
               .summary = "Over rung 1: with a mask, the longest rows go first, by heads that fit the L2 together.",
               .loop = HopperRungId::wgmma,
               .producer = false,
               .grouped = true},
};
static_assert(std::ranges::all_of(rungs,
                                  [](const HopperRung& row) { return &rungs[static_cast<std::size_t>(row.number)] == &row; }),
              "every rung has one row, in the order of HopperRungId");

constexpr std::array<std::string_view, hopper_most_groups> consumer_names = {"consumer 0", "consumer 1", "consumer 2"},
                                                           group_names = {"group 0", "group 1", "group 2"};

}  // namespace

std::span<const HopperRung> hopper_rungs() {
  return rungs;
}
const HopperRung& hopper_rung(HopperRungId id) {
  return rungs[static_cast<std::size_t>(id)];
}

const KernelProfile& hopper_profile(const HopperRung& rung) {
  return kernel_profile(to_string(rung.loop));
}

const KernelProfile& hopper_overheads(const HopperRung& rung) {
  return rung.lists ? hopper_profile(hopper_rung(HopperRungId::ping_pong)) : hopper_profile(rung);
}

int hopper_groups(const HopperRung& rung, const AttentionProblem& problem) {
  return compiled_head_dim(problem) <= 64 ? rung.groups_d64 : rung.groups;
}

std::int64_t hopper_strip_rows(const HopperRung& rung, const AttentionProblem& problem, const TileShape& tile) {
  return ceil_div(tile.block_q, std::int64_t{hopper_groups(rung, problem)});
}

namespace {

/// Returns the registers that a thread of a group holds of S and O, and of P where the next S is issued before P is used up.
std::int64_t sum_registers(const HopperRung& rung, const AttentionProblem& problem, const TileShape& tile, std::int64_t head_dim) {
  const std::int64_t rows = hopper_strip_rows(rung, problem, tile), bytes = element_bytes(problem.dtype);
  const std::int64_t elements = rows * (tile.block_kv + head_dim), packed = rung.overlap ? rows * tile.block_kv * bytes / 4 : 0;
  return ceil_div(elements + packed, std::int64_t{group_threads});
}

/// Sets the registers that a thread wants with another tile. What it needs besides S, P and O was compiled into the first rung,
/// whose groups pass no registers on. The kernel's own tile fits: it was compiled.
void set_registers_wanted(KernelNeeds& needs, const HopperRung& rung, const AttentionProblem& problem, const TileShape& tile) {
  const HopperRung& plain = hopper_rung(HopperRungId::wgmma);
  const std::int64_t head_dim = compiled_head_dim(problem);
  const auto own = [&](const HopperRung& of) {
    return sum_registers(of, problem, {std::int64_t{64} * hopper_groups(of, problem), 128}, head_dim);
  };
  const int compiled = hopper_profile(rung).build("attention", problem).setmaxnreg_inc;
  needs.registers_limit = compiled > 0 ? compiled : static_cast<int>(most_registers);
  const std::int64_t besides = hopper_profile(plain).build("attention", problem).registers - own(plain);
  const std::int64_t of_own = std::min<std::int64_t>(needs.registers_limit, besides + own(rung));
  needs.registers_wanted = static_cast<int>(of_own + sum_registers(rung, problem, tile, problem.head_dim) - own(rung));
}

}  // namespace

KernelNeeds hopper_needs(HopperRungId id, const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  const HopperRung& rung = hopper_rung(id);
  const int groups = hopper_groups(rung, problem);
  const KernelBuild& build = hopper_profile(rung).build("attention", problem);
  // The stalls were read in flash2, where they are alike.
  KernelNeeds needs = compiled_needs(build, kernel_profile("flash2").reading("attention", problem));
  needs.instruction = ProductInstruction::wgmma;
  needs.uses_tma = true;
  needs.threads = group_threads * (groups + (rung.producer ? 1 : 0));
  // Without a producer a thread of the first group asks for the copies.
  if (rung.producer) needs.groups.push_back({"producer", group_threads / warp_lanes, build.setmaxnreg_dec, false});
  for (int g = 0; g < groups; ++g)
    needs.groups.push_back({(rung.producer ? consumer_names : group_names)[static_cast<std::size_t>(g)], group_threads / warp_lanes,
                            build.setmaxnreg_inc});
  const std::int64_t row_bytes = problem.head_dim * element_bytes(problem.dtype);
  // Each buffer of the ring has a full barrier, and an empty one for the producer. Q has both for each group, or one for all.
  const std::int64_t barriers_of_buffer = rung.producer ? 2 : 1, q_barriers = rung.producer ? 2 * groups : 1;
  const std::int64_t stage_bytes = 2 * (tile.block_kv * row_bytes + barriers_of_buffer * barrier_bytes);
  const std::int64_t own_output = rung.persistent ? tile.block_q * row_bytes : 0;  // otherwise O leaves over Q
  constexpr std::int64_t statistic_bytes = 4, ticket_bytes = 40;
  constexpr std::int64_t count_bytes = 16;  // the lengths of the lists; those of a mask and a score come on top
  const std::int64_t fixed = tile.block_q * (row_bytes + statistic_bytes) + own_output + q_barriers * barrier_bytes +
                             (rung.draws() ? ticket_bytes : 0) + (rung.lists ? count_bytes : 0);
  set_stages(needs, fixed, stage_bytes, tile, gpu);
  set_registers_wanted(needs, rung, problem, tile);
  if (rung.lists) set_element_costs(needs, problem, gpu, true);
  return needs;
}

TileShape hopper_default_tile(HopperRungId id, const AttentionProblem& problem, const GpuSpec& gpu) {
  const HopperRung& rung = hopper_rung(id);
  const int groups = hopper_groups(rung, problem);
  TileShape tile = is_large(gpu) ? TileShape{64 * groups, 128} : TileShape{8 * groups, 16};
  if (problem.dtype == DataType::fp32) tile.block_kv = std::min<std::int64_t>(tile.block_kv, 32);
  while (!fits(hopper_needs(id, problem, tile, gpu), gpu) && (tile.block_kv > 1 || tile.block_q > 1)) {
    std::int64_t& longer = tile.block_kv > 1 ? tile.block_kv : tile.block_q;
    longer = ceil_div(longer, std::int64_t{2});
  }
  return tile;
}

}  // namespace tilescope
