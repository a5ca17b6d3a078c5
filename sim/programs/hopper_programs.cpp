// The ladder to Hopper: FlashAttention-2 forward on wgmma and TMA, one idea a rung, each rung a row of a table.
//
//   hopper_wgmma          K and V come in boxes of TMA; wgmma reads them from shared memory
//   hopper_producer       a thread of its own loads, two groups of four warps compute; a ring of buffers with full and empty tokens
//   hopper_three_groups   three groups of 64 rows share each K and V
//   hopper_overlap        the softmax of a tile runs under O += P V of the tile before
//   hopper_ping_pong      the groups take turns on the tensor cores
//   hopper_persistent     blocks stay: the next rows load while the last ones are stored
//   hopper_causal         the longest rows first
//   flash3                the rung that flash3_choice() names, perhaps hopper_wgmma with the longest rows first
//   hopper_flex           hopper_ping_pong over the lists of a mask's blocks, with changed scores: flex on Hopper
#include <vector>

#include "sim/programs/flash3_choice.h"
#include "sim/programs/hopper.h"
#include "sim/programs/hopper_lines.h"
#include "sim/programs/hopper_needs.h"
#include "sim/programs/programs.h"

namespace tilescope {

namespace {

template <HopperRungId id>
Result<std::unique_ptr<TileProgram>> make(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_hopper_rung(id, hopper_rung(id).id(), problem, tile, gpu);
}

template <HopperRungId id>
ProgramInfo info() {
  const HopperRung& rung = hopper_rung(id);
  ProgramInfo info{};
  info.id = rung.id();
  info.title = rung.title;
  info.family = "attention";
  info.instruction = ProductInstruction::wgmma;
  info.source = rung.lists ? "arXiv:2412.05496; arXiv:2407.08608, Algorithm 2" : "arXiv:2407.08608, Algorithms 1 and 2";
  info.summary = rung.summary;
  info.listing = hopper_listing(id).lines();
  info.default_tile = hopper_tile<id>;
  info.make = make<id>;
  info.label = rung.title;
  info.has_lists = rung.lists;
  info.takes_pages = rung.lists;
  info.compared_apart = true;
  if (!rung.lists) info.key_order = KeyOrder::descending;
  return info;
}

Result<std::unique_ptr<TileProgram>> make_flash3(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  return make_hopper_rung(flash3_choice(problem), "flash3", problem, tile, gpu);
}
TileShape flash3_tile(const AttentionProblem& problem, const GpuSpec& gpu) {
  return hopper_default_tile(flash3_choice(problem), problem, gpu);
}
const ProgramInfo& flash3_row(const AttentionProblem& problem);
ProgramInfo flash3_as(HopperRungId rung) {
  ProgramInfo row = info<HopperRungId::causal>();
  row.id = "flash3";
  row.title = row.label = "FlashAttention-3";
  row.summary = "Launches one of the rungs, chosen by head dimension, mask and length.";
  row.listing = hopper_listing(rung).lines();
  row.default_tile = flash3_tile;
  row.make = make_flash3;
  row.row_of = flash3_row;
  row.choice = [](const AttentionProblem& problem) { return hopper_rung(flash3_choice(problem)).id(); };
  row.compared_apart = false;
  return row;
}
const ProgramInfo& flash3_row(const AttentionProblem& problem) {
  return flash3_rows()[static_cast<std::size_t>(flash3_choice(problem))];
}

}  // namespace

std::span<const ProgramInfo> flash3_rows() {
  static const std::vector<ProgramInfo> rows = [] {
    std::vector<ProgramInfo> made;
    for (std::size_t rung = 0; rung < hopper_rungs().size(); ++rung) made.push_back(flash3_as(static_cast<HopperRungId>(rung)));
    return made;
  }();
  return rows;
}

ProgramInfo hopper_wgmma_program() {
  return info<HopperRungId::wgmma>();
}
ProgramInfo hopper_producer_program() {
  return info<HopperRungId::producer>();
}
ProgramInfo hopper_three_groups_program() {
  return info<HopperRungId::three_groups>();
}
ProgramInfo hopper_overlap_program() {
  return info<HopperRungId::overlap>();
}
ProgramInfo hopper_ping_pong_program() {
  return info<HopperRungId::ping_pong>();
}
ProgramInfo hopper_persistent_program() {
  return info<HopperRungId::persistent>();
}
ProgramInfo hopper_causal_program() {
  return info<HopperRungId::causal>();
}
ProgramInfo flash3_program() {
  return flash3_as(HopperRungId::causal);
}
ProgramInfo hopper_flex_program() {
  return info<HopperRungId::flex>();
}

}  // namespace tilescope
