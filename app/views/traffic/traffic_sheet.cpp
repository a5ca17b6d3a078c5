// Fills the traffic panel's table from the ledger, the state and the closed forms.
#include "app/views/traffic/traffic_sheet.h"

#include <algorithm>
#include <numeric>

#include "app/ui/say.h"
#include "sim/analysis/format.h"
#include "sim/programs/closed_form.h"

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

using TensorBytes = std::array<std::int64_t, tensor_count>;

/// Between L2 and SMs, both directions.
TensorBytes sm_bytes(const ClosedForm& form) {
  TensorBytes bytes{};
  for (const ClosedFormTerm& term : form.terms)
    if (term.link == Link::l2_to_sm || term.link == Link::sm_to_l2)
      bytes[static_cast<std::size_t>(term.tensor)] += term.bytes.value;
  return bytes;
}

TensorBytes sm_bytes(const TrafficTable& table) {
  TensorBytes bytes{};
  for (std::size_t tensor = 0; tensor < bytes.size(); ++tensor)
    bytes[tensor] =
        table[tensor][static_cast<std::size_t>(Link::l2_to_sm)] + table[tensor][static_cast<std::size_t>(Link::sm_to_l2)];
  return bytes;
}

}  // namespace

TrafficSheet traffic_sheet(const Simulation& simulation, const std::optional<ClosedForm>& form, const TrafficTable& so_far,
                           LinkChoice choice) {
  TrafficSheet sheet;
  const TrafficTable whole = simulation.ledger.table();
  std::size_t exact = 0, known = 0;
  for (const Tensor tensor : all_tensors) {
    const auto index = static_cast<std::size_t>(tensor);
    if (!contains(simulation.program->inputs(), tensor) && !contains(simulation.program->outputs(), tensor) &&
        whole[index] == std::array<std::int64_t, link_count>{})
      continue;
    TrafficRow row;
    row.tensor = tensor;
    row.so_far = bytes_on(so_far[index], choice);
    row.whole = bytes_on(whole[index], choice);
    add_formula(row, simulation, form, choice);
    exact += row.kind == FormulaKind::exact;
    known += row.kind != FormulaKind::none;
    sheet.total.so_far += row.so_far;
    sheet.total.whole += row.whole;
    sheet.total.formula += row.formula;
    sheet.rows.push_back(std::move(row));
  }
  if (known > 0) sheet.total.kind = exact == sheet.rows.size() ? FormulaKind::exact : FormulaKind::at_least;
  return sheet;
}

std::vector<Rival> find_rivals(const Simulation& simulation) {
  std::vector<Rival> rivals;
  const auto add = [&](const ProgramInfo& info, const TileShape& tile, const TensorBytes& bytes, std::string order, bool current) {
    const std::int64_t sum = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    rivals.push_back({std::string(info.id), std::string(info.title), std::move(order), tile, sum, bytes, current});
  };
  const auto own = simulation.program->closed_form();
  add(*simulation.info, simulation.program->tile(), sm_bytes(simulation.ledger.table()), own ? own->order : std::string(), true);

  const AttentionProblem& problem = simulation.program->problem();
  const GpuSpec& gpu = simulation.request.gpu;
  const bool own_tile_is_default = simulation.program->tile() == simulation.info->default_tile(problem, gpu);
  for (const ProgramInfo& info : program_table()) {
    if (info.family != simulation.info->family || info.id == simulation.info->id) continue;
    // Like with like: a tile that was asked for is asked of the others too.
    const TileShape tile = own_tile_is_default ? info.default_tile(problem, gpu) : TileShape(simulation.program->tile());
    const auto program = info.make(problem, tile, gpu);
    if (!program) continue;
    if (const auto form = (*program)->closed_form()) add(info, tile, sm_bytes(*form), form->order, false);
  }
  return rivals;
}

NoRivals no_rivals(const Simulation& simulation) {
  const AttentionProblem& problem = simulation.program->problem();
  if (head_rows_are_whole(problem)) return {};
  const std::string row = format_capacity(Bytes(problem.head_dim * element_bytes(problem.dtype)));
  return {say(tr("Other programs are compared by closed forms, which need rows of whole {} sectors; a row of Q or K has {}."),
              format_capacity(Bytes(sector_size)), row),
          say(tr("Others: no formula for rows of {}"), row)};
}

}  // namespace tilescope
