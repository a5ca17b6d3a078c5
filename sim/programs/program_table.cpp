// The table of all programs, and the checks of their requests.
#include "sim/programs/programs.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/core/mask.h"
#include "sim/core/refuse.h"
#include "sim/masks/score_change.h"
#include "sim/programs/program_names.h"

namespace tilescope {

namespace {

const ProgramInfo& flash3_both_row(const AttentionProblem& problem);
ProgramInfo flash3_backward_row();

std::vector<ListingLine> joined(std::span<const ListingLine> forward, std::span<const ListingLine> backward) {
  std::vector<ListingLine> lines(forward.begin(), forward.end());
  lines.insert(lines.end(), backward.begin(), backward.end());
  return lines;
}

template <ProgramInfo (*forward)(), ProgramInfo (*backward)()>
Result<std::unique_ptr<TileProgram>> make_both(const AttentionProblem& problem, const ProgramTile& tile, const GpuSpec& gpu) {
  AttentionProblem half = problem;
  half.pass = Pass::forward;
  ProgramTile forward_tile = tile;
  static_cast<TileShape&>(forward_tile) = tile.forward.value_or(tile);
  forward_tile.forward.reset();
  ProgramTile backward_tile = tile;
  backward_tile.forward.reset();
  const ProgramInfo first_row = forward();
  // Both passes read the same lists.
  if (const TileShape of_forward = mask_block_of(half, forward_tile), of_backward = mask_block_of(half, backward_tile);
      first_row.has_lists && half.has_mask() && !(of_forward == of_backward))
    half.mask_block =
        std::lcm(std::lcm(of_forward.block_q, of_forward.block_kv), std::lcm(of_backward.block_q, of_backward.block_kv));
  auto first = first_row.make(half, forward_tile, gpu);
  if (!first) return first.error();
  auto second = backward().make(half, backward_tile, gpu);
  if (!second) return second.error();
  return both_passes(std::move(*first), std::move(*second), static_cast<int>(row_for(first_row, half).listing.size()));
}

/// Returns a row for both passes of an algorithm: the halves are those of the table.
template <ProgramInfo (*forward)(), ProgramInfo (*backward)()>
ProgramInfo both_program(std::string_view id, std::string_view title) {
  static const std::vector<ListingLine> listing = joined(forward().listing, backward().listing);
  ProgramInfo info = backward();
  info.id = id;
  info.title = title;
  info.summary = "Forward and backward as one run: what forward stores stays in HBM for backward.";
  info.listing = listing;
  info.pass = Pass::both;
  info.label = {};
  info.make = make_both<forward, backward>;
  return info;
}

/// Returns flash3's row for both passes with the listing of the rung that a problem gets.
const ProgramInfo& flash3_both_row(const AttentionProblem& problem) {
  static const std::vector<std::vector<ListingLine>> listings = [] {
    std::vector<std::vector<ListingLine>> made;
    for (const ProgramInfo& row : flash3_rows()) made.push_back(joined(row.listing, flash3_backward_program().listing));
    return made;
  }();
  static const std::vector<ProgramInfo> rows = [] {
    std::vector<ProgramInfo> made(listings.size(), *flash3_backward_row().both);
    for (std::size_t rung = 0; rung < made.size(); ++rung) made[rung].listing = listings[rung];
    return made;
  }();
  return rows[static_cast<std::size_t>(&row_for(flash3_rows().front(), problem) - flash3_rows().data())];
}

/// Returns the row of a backward program, with the row that runs both passes.
template <ProgramInfo (*forward)(), ProgramInfo (*backward)()>
ProgramInfo with_both_passes(std::string_view id, std::string_view title) {
  static const ProgramInfo both = both_program<forward, backward>(id, title);
  ProgramInfo row = backward();
  row.both = &both;
  return row;
}

/// The same of flash3, whose forward program is one of several.
ProgramInfo flash3_backward_row() {
  static const ProgramInfo both = [] {
    ProgramInfo info = both_program<flash3_program, flash3_backward_program>("flash3", "FlashAttention-3, both passes");
    info.row_of = flash3_both_row;
    return info;
  }();
  ProgramInfo row = flash3_backward_program();
  row.both = &both;
  return row;
}

}  // namespace

std::span<const ProgramInfo> program_table() {
  static const ProgramInfo table[] = {
      standard_program(),
      flash1_program(),
      flash2_program(),
      flex_program(),
      hopper_wgmma_program(),
      hopper_producer_program(),
      hopper_three_groups_program(),
      hopper_overlap_program(),
      hopper_ping_pong_program(),
      hopper_persistent_program(),
      hopper_causal_program(),
      flash3_program(),
      hopper_flex_program(),
      with_both_passes<standard_program, standard_backward_program>("standard", "Standard attention, both passes"),
      with_both_passes<flash1_program, flash1_backward_program>("flash1", "FlashAttention-1, both passes"),
      with_both_passes<flash2_program, flash2_backward_program>("flash2", "FlashAttention-2, both passes"),
      with_both_passes<flash2_program, flash2_backward_two_pass_program>("flash2_backward_two_pass",
                                                                         "FlashAttention-2, both passes, backward in two"),
      with_both_passes<flash2_program, flash2_backward_deterministic_program>("flash2_backward_deterministic",
                                                                              "FlashAttention-2, both passes, deterministic"),
      flash3_backward_row(),
      with_both_passes<flex_program, flex_backward_program>("flex", "FlexAttention, both passes"),
      softmax_safe_program(),
      softmax_online_program(),
      softmax_fused_program(),
      matmul_naive_program(),
      matmul_tiled_program(),
  };
  return table;
}

std::span<const ProgramFamily> program_families() {
  static constexpr ProgramFamily families[] = {
      {.id = "attention",
       .title = "Attention",
       .baseline = "standard",
       .best = "flash2",
       .takes_mask = true,
       .computes_attention = true},
      {.id = "backward", .title = "Backward pass", .baseline = "standard_backward", .best = "flex_backward", .takes_mask = true},
      {.id = "softmax", .title = "Softmax, one row", .baseline = "softmax_safe", .best = "softmax_fused"},
      {.id = "matmul", .title = "Matrix product", .baseline = "matmul_naive", .best = "matmul_tiled", .row_title = "One row of S"},
  };
  return families;
}

const ProgramFamily* family_of(const ProgramInfo& info) {
  const auto families = program_families();
  const auto found = std::find_if(families.begin(), families.end(), [&](const ProgramFamily& f) { return f.id == info.family; });
  return found != families.end() ? &*found : nullptr;
}

std::span<const LadderStep> ladder() {
  static constexpr LadderStep steps[] = {{"flash2", ""},
                                         {"hopper_wgmma", "flash2"},
                                         {"hopper_producer", "hopper_wgmma"},
                                         {"hopper_three_groups", "hopper_producer"},
                                         {"hopper_overlap", "hopper_producer"},
                                         {"hopper_ping_pong", "hopper_overlap"},
                                         {"hopper_persistent", "hopper_ping_pong"},
                                         {"hopper_causal", "hopper_persistent"},
                                         {"flash3", ""}};
  return steps;
}

std::string_view to_string(KeyOrder order) {
  return order == KeyOrder::ascending ? "ascending" : "descending";
}

std::optional<KeyOrder> key_order_from(std::string_view name) {
  for (const KeyOrder order : {KeyOrder::ascending, KeyOrder::descending})
    if (name == to_string(order)) return order;
  return std::nullopt;
}

Result<const ProgramInfo*> find_program(std::string_view id, std::span<const ProgramInfo> table) {
  std::string known;
  for (const ProgramInfo& info : table) {
    if (info.id == id) return &info;
    known += known.empty() ? "" : ", ";
    known += info.id;
  }
  return refuse("there is no algorithm '{}': choose one of {}", id, known);
}

Result<const ProgramInfo*> find_program(std::string_view id, Pass pass, std::span<const ProgramInfo> table) {
  Result<const ProgramInfo*> row = find_program(id, table);
  if (!row || (*row)->pass == pass) return row;
  if ((*row)->pass == Pass::backward && pass == Pass::forward) return row;  // its id says which pass
  for (const ProgramInfo& info : table) {
    if (info.pass != Pass::backward || (info.id != id && info.forward != id)) continue;
    if (pass == Pass::backward) return &info;
    if (info.both == nullptr) return refuse("{} has no run of both passes: use {} forward or backward", id, Setting::pass);
    return info.both;
  }
  ListedPrograms others;
  for (const ProgramInfo& info : table)
    if (std::any_of(table.begin(), table.end(), [&](const ProgramInfo& other) { return other.forward == info.id; }))
      others.add(info.id);
  return refuse("{} has no backward pass: use {} forward, or {} {} or {}", id, Setting::pass, Setting::algorithm, others.first,
                others.last);
}

Status check(const ProgramTile& tile) {
  if (tile.stages < 0 || tile.stages > ProgramTile::most_stages)
    return refuse("{} is {}: it must be 1 to {}", Setting::stages, tile.stages, ProgramTile::most_stages);
  return check(static_cast<const TileShape&>(tile));
}

Status check_request(std::string_view id, const AttentionProblem& problem, const ProgramTile& tile, Masks mask, ScoreChanges scores,
                     Pages pages) {
  if (Status status = check(problem); !status) return status;
  if (Status status = check(tile); !status) return status;
  if (problem.pass != Pass::forward) return refuse("{} has no {} pass: use {} forward", id, to_string(problem.pass), Setting::pass);
  if (problem.has_mask() && mask == Masks::refused)
    return problem.mask ? refuse("{} has no mask: leave {} out, or choose an attention algorithm", id, Setting::mask)
                        : refuse("{} has no causal mask: leave {} out, or choose an attention algorithm", id, Setting::causal);
  if (problem.score_change && scores == ScoreChanges::refused)
    return refuse("{} takes scores as they are: use {} {} with {}", id, Setting::algorithm, program_with_lists(), Setting::score);
  if (problem.page_size > 0 && pages == Pages::refused)
    return refuse("{} has no page table: leave out {}, or run {} forward", id, Setting::page_size, program_with_lists());
  if (problem.mask)
    if (Status status = problem.mask->fits(problem); !status) return status;
  if (problem.score_change)
    if (Status status = problem.score_change->fits(problem); !status) return status;
  return Done{};
}

}  // namespace tilescope
