// Fills the traffic panel's table from the ledger, the state and the closed forms.
#include "app/views/traffic/traffic_sheet.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "app/model/requests/racers.h"
#include "app/ui/say.h"
#include "sim/analysis/format.h"
#include "sim/analysis/io_complexity.h"
#include "sim/analysis/outcome.h"
#include "sim/programs/closed_form.h"
#include "sim/programs/tensor_layout.h"

namespace tilescope {
namespace {

bool contains(std::span<const Tensor> tensors, Tensor tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

std::int64_t bytes_on(const std::array<std::int64_t, link_count>& links, LinkChoice choice) {
  const auto at = [&](Link link) { return links[static_cast<std::size_t>(link)]; };
  switch (choice) {
    case LinkChoice::l2_to_sm:
      return at(Link::l2_to_sm);
    case LinkChoice::sm_to_l2:
      return at(Link::sm_to_l2);
    case LinkChoice::hbm_read:
      return at(Link::hbm_read);
    case LinkChoice::hbm_write:
      return at(Link::hbm_write);
    case LinkChoice::shared:
      return at(Link::smem_read) + at(Link::smem_write);
  }
  return 0;
}

void add_closed_form(TrafficRow& row, const ClosedForm& form, Link link) {
  row.kind = FormulaKind::exact;
  for (const ClosedFormTerm& term : form.terms) {
    if (term.tensor != row.tensor || term.link != link) continue;
    row.formula += term.bytes.value;
    if (!row.formula_text.empty()) row.formula_text += " + ";
    row.formula_text += term.formula;
  }
}

/// Every element of an input that all rows see crosses the HBM link at least once, because the L2 starts cold.
void add_least(TrafficRow& row, const Simulation& simulation) {
  const AttentionProblem& problem = simulation.program->problem();
  if (problem.causal || !contains(simulation.program->inputs(), row.tensor)) return;
  const Bytes bytes = tensor_layout(problem, simulation.program->tile(), row.tensor).bytes();
  row.kind = FormulaKind::at_least;
  row.formula = ceil_div(bytes.value, sector_size) * sector_size;
}

void add_formula(TrafficRow& row, const Simulation& simulation, const std::optional<ClosedForm>& form, LinkChoice choice) {
  const bool has_l2 = simulation.request.gpu.has_l2();
  if (choice == LinkChoice::l2_to_sm || (choice == LinkChoice::hbm_read && !has_l2)) {
    if (form) add_closed_form(row, *form, Link::l2_to_sm);
  } else if (choice == LinkChoice::sm_to_l2 || (choice == LinkChoice::hbm_write && !has_l2)) {
    if (form) add_closed_form(row, *form, Link::sm_to_l2);
  } else if (choice == LinkChoice::hbm_read) {
    add_least(row, simulation);
  }
}

/// Programs share tensors by name.
void add_pinned(TrafficSheet& sheet, const Simulation& pinned, LinkChoice choice) {
  const TrafficTable whole = pinned.ledger.table();
  sheet.total.pinned = 0;
  for (TrafficRow& row : sheet.rows) row.pinned = 0;
  for (const Tensor tensor : pinned.program->tensors()) {
    const std::int64_t bytes = bytes_on(whole[tensor.index()], choice);
    *sheet.total.pinned += bytes;
    const auto row =
        std::ranges::find_if(sheet.rows, [&](const TrafficRow& each) { return to_string(each.tensor) == to_string(tensor); });
    if (row != sheet.rows.end())
      row->pinned = bytes;
    else if (bytes > 0)
      sheet.rows.emplace_back().tensor = tensor, sheet.rows.back().pinned = bytes;
  }
}

using BytesByTensor = std::vector<std::pair<Tensor, std::int64_t>>;

BytesByTensor bytes_on(const TileProgram& program, const ClosedForm& form, Link link) {
  BytesByTensor bytes;
  for (const Tensor tensor : program.tensors()) {
    std::int64_t sum = 0;
    for (const ClosedFormTerm& term : form.terms)
      if (term.tensor == tensor && term.link == link) sum += term.bytes.value;
    bytes.emplace_back(tensor, sum);
  }
  return bytes;
}

BytesByTensor bytes_on(const Simulation& run, Link link) {
  BytesByTensor bytes;
  for (const Tensor tensor : run.program->tensors()) bytes.emplace_back(tensor, run.ledger.total(tensor, link).value);
  return bytes;
}

/// The link whose bytes closed forms give; none for HBM behind an L2, and for shared memory.
std::optional<Link> known_link(const GpuSpec& gpu, LinkChoice choice) {
  if (choice == LinkChoice::l2_to_sm || (choice == LinkChoice::hbm_read && !gpu.has_l2())) return Link::l2_to_sm;
  if (choice == LinkChoice::sm_to_l2 || (choice == LinkChoice::hbm_write && !gpu.has_l2())) return Link::sm_to_l2;
  return std::nullopt;
}

}  // namespace

TrafficSheet traffic_sheet(const Simulation& simulation, const std::optional<ClosedForm>& form, const TrafficTable& so_far,
                           LinkChoice choice, const Simulation* pinned) {
  TrafficSheet sheet;
  const TrafficTable whole = simulation.ledger.table();
  std::size_t exact = 0, known = 0;
  for (const Tensor tensor : simulation.program->tensors()) {
    const auto index = tensor.index();
    if (!contains(simulation.program->inputs(), tensor) && !contains(simulation.program->outputs(), tensor) &&
        whole[index] == std::array<std::int64_t, link_count>{})
      continue;
    TrafficRow row;
    row.tensor = tensor;
    row.so_far = bytes_on(so_far[index], choice);
    row.whole = bytes_on(whole[index], choice);
    if (choice == LinkChoice::hbm_read) row.of_sms = bytes_on(whole[index], LinkChoice::l2_to_sm);
    if (choice == LinkChoice::hbm_write) row.of_sms = bytes_on(whole[index], LinkChoice::sm_to_l2);
    if (choice == LinkChoice::hbm_write && simulation.trace != nullptr) row.dirty = dirty_bytes_at_end(simulation, tensor);
    add_formula(row, simulation, form, choice);
    exact += row.kind == FormulaKind::exact;
    known += row.kind != FormulaKind::none;
    sheet.total.so_far += row.so_far;
    sheet.total.whole += row.whole;
    sheet.total.formula += row.formula;
    sheet.rows.push_back(std::move(row));
  }
  if (known > 0) sheet.total.kind = exact == sheet.rows.size() ? FormulaKind::exact : FormulaKind::at_least;
  if (pinned != nullptr) add_pinned(sheet, *pinned, choice);
  return sheet;
}

std::vector<Rival> find_rivals(const Simulation& simulation, LinkChoice choice) {
  std::vector<Rival> rivals;
  const std::optional<Link> link = known_link(simulation.request.gpu, choice);
  if (!link) return rivals;
  const AttentionProblem& problem = simulation.program->problem();
  const auto add = [&](const ProgramInfo& info, const TileShape& tile, const BytesByTensor& bytes,
                       const std::optional<ClosedForm>& form, bool current) {
    const std::int64_t sum = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0},
                                             [](std::int64_t all, const auto& one) { return all + one.second; });
    const bool holds = form && order_holds(form->order, problem, simulation.request.gpu);
    rivals.push_back({std::string(info.id), std::string(info.title), holds ? say(order_text(form->order, problem)) : std::string(),
                      tile, sum, bytes, current, tile == info.default_tile(problem, simulation.request.gpu)});
  };
  add(*simulation.info, simulation.program->tile(), bytes_on(simulation, *link), simulation.program->closed_form(), true);

  const GpuSpec& gpu = simulation.request.gpu;
  const bool own_tile_is_default = rivals.front().default_tile;
  for (const ProgramInfo& info : program_table()) {
    if (!is_compared(info, *simulation.info) || info.id == simulation.info->id) continue;
    // Like with like: a tile that was asked for is asked of the others too.
    const TileShape tile = own_tile_is_default ? info.default_tile(problem, gpu) : TileShape(simulation.program->tile());
    const auto program = info.make(problem, tile, gpu);
    if (!program) continue;
    if (const auto form = (*program)->closed_form()) add(info, tile, bytes_on(**program, *form, *link), form, false);
  }
  return rivals;
}

NoRivals no_rivals(const Simulation& simulation, LinkChoice choice) {
  if (!known_link(simulation.request.gpu, choice))
    return {tr("Formulas of the other programs give L2↔SM bytes only. Race (R) and Sweep run them."),
            tr("Others: see Race or Sweep")};
  const AttentionProblem& problem = simulation.program->problem();
  if (head_rows_are_whole(problem)) return {};
  const std::string row = format_capacity(Bytes(problem.head_dim * element_bytes(problem.dtype)));
  return {say(tr("Other programs are compared by closed forms, which need rows of whole {} sectors; a row of Q or K has {}."),
              format_capacity(Bytes(sector_size)), row),
          say(tr("Others: no formula for rows of {}"), row)};
}

}  // namespace tilescope
