// One row a figure: its name, what may follow it, and how it is read.
#include "app/model/lessons/lesson_figures.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/model/lessons/lesson_values.h"
#include "app/model/lessons/recorded_run.h"
#include "app/model/run_data/exactness.h"
#include "sim/analysis/bank_conflicts.h"
#include "sim/analysis/outcome.h"
#include "sim/analysis/roofline.h"
#include "sim/core/mask.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/block_mask.h"

namespace tilescope {

namespace {

/// What may stand after the dot of a figure.
enum class Part : std::uint8_t { none, tensor, spec_key, unit, cause, tiles, run, row, element, product, result, measured, access };

struct Figure {
  std::string_view name;
  Part part = Part::none;
  double (*of)(const Simulation&) = nullptr;  // null where the part or the step decides
};

double bytes_on(const Simulation& run, Link link) {
  return static_cast<double>(run.ledger.total(link).value);
}

const LaunchResult& longest(const Simulation& run) {
  return *std::max_element(run.launches.begin(), run.launches.end(),
                           [](const LaunchResult& a, const LaunchResult& b) { return a.cycles < b.cycles; });
}

/// As the Roofline view counts them: products, exponentials, maxima, sums and scalings.
double operations_of(const Simulation& run) {
  const auto points = whole_kernel_points(run, roofline_points(run));
  return points.empty() ? 0 : points.front().operations();
}

double intensity_of(const Simulation& run) {
  for (const RooflinePoint& point : whole_kernel_points(run, roofline_points(run)))
    if (point.level == Ceiling::hbm) return point.operations() / point.bytes;
  return std::numeric_limits<double>::infinity();
}

double ridge_of(const Simulation& run) {
  for (const RooflinePoint& point : roofline_points(run))
    if (point.level == Ceiling::hbm) return point.ridge;
  return 0;
}

const auto count = [](auto value) { return static_cast<double>(value); };

constexpr std::array figures = {
    Figure{"hbm", Part::tensor},
    Figure{"dirty", Part::tensor},
    Figure{"hbm_read", Part::tensor},
    Figure{"hbm_write", Part::tensor},
    Figure{"l2_to_sm", Part::tensor},
    Figure{"sm_to_l2", Part::tensor},
    Figure{"smem_read", Part::tensor},
    Figure{"smem_write", Part::tensor},
    Figure{"cycles", Part::none, [](const Simulation& run) { return run.cycles.value; }},
    Figure{"us", Part::none, [](const Simulation& run) { return run.time.value / 1e3; }},
    Figure{"flops", Part::none, [](const Simulation& run) { return count(run.flops); }},
    Figure{"exps", Part::none, [](const Simulation& run) { return count(run.exps); }},
    Figure{"peak_hbm", Part::none, [](const Simulation& run) { return count(run.peak_hbm.value); }},
    Figure{"extra_hbm", Part::none, [](const Simulation& run) { return count(run.extra_hbm.value); }},
    Figure{"blocks", Part::none, [](const Simulation& run) { return count(longest(run).blocks); }},
    Figure{"waves", Part::none, [](const Simulation& run) { return longest(run).waves; }},
    Figure{"blocks_per_sm", Part::none, [](const Simulation& run) { return count(longest(run).blocks_per_sm); }},
    Figure{"smem_per_block", Part::none, [](const Simulation& run) { return count(longest(run).shared_bytes); }},
    Figure{"launches", Part::none, [](const Simulation& run) { return count(run.launches.size()); }},
    Figure{"block_q", Part::none, [](const Simulation& run) { return count(run.program->tile().block_q); }},
    Figure{"block_kv", Part::none, [](const Simulation& run) { return count(run.program->tile().block_kv); }},
    Figure{"idle", Part::none, [](const Simulation& run) { return run.sms.idle; }},
    Figure{"useful", Part::none, &product_share},
    Figure{"B", Part::none, [](const Simulation& run) { return count(run.request.problem.batch); }},
    Figure{"H", Part::none, [](const Simulation& run) { return count(run.request.problem.heads); }},
    Figure{"N", Part::none, [](const Simulation& run) { return count(run.request.problem.seq_q); }},
    Figure{"Nk", Part::none, [](const Simulation& run) { return count(run.request.problem.seq_kv); }},
    Figure{"d", Part::none, [](const Simulation& run) { return count(run.request.problem.head_dim); }},
    Figure{"element_bytes", Part::none, [](const Simulation& run) { return count(element_bytes(run.request.problem.dtype)); }},
    Figure{"operations", Part::none, &operations_of},
    Figure{"intensity", Part::none, &intensity_of},
    Figure{"ridge", Part::none, &ridge_of},
    Figure{"steps"},
    Figure{"step"},
    Figure{"gpu", Part::spec_key},
    Figure{"busy", Part::unit},
    Figure{"waits", Part::cause},
    Figure{"tiles", Part::tiles},
    Figure{"error", Part::run},
    Figure{"row", Part::row},
    Figure{"value", Part::element},
    Figure{"dot", Part::product},
    Figure{"differ", Part::result},
    Figure{"apart", Part::result},
    Figure{"measured", Part::measured},
    Figure{"access", Part::access},
};

constexpr std::array<std::string_view, 13> cause_names = {
    "none", "program_order", "data", "buffer", "tensor", "exp", "fp32", "smem", "l2", "hbm", "barrier", "block_slot", "launch"};
constexpr std::array<std::string_view, 3> tile_names = {"empty", "partial", "full"};  // by TileVisibility
constexpr std::array<std::string_view, 5> row_names = {"m", "m_old", "l", "l_old", "alpha"};
constexpr std::array<std::string_view, 3> row_lists = {"S", "P", "O"};
constexpr std::array<std::string_view, 3> measured_names = {"hbm_read", "hbm_write", "us"};
constexpr std::array<std::string_view, 4> access_names = {"wavefronts", "least", "conflicts", "sectors"};
/// Of forward attention: what a program does not declare of these, it does not move.
constexpr std::array<std::string_view, 9> known_tensors = {"Q", "K", "V", "S", "P", "O", "L", "m", "l"};

/// "standard.hbm.K" in its pieces.
struct Name {
  std::string run;
  const Figure* figure = nullptr;
  std::string_view part;
};

const Figure* find_figure(std::string_view name) {
  const auto at = std::find_if(figures.begin(), figures.end(), [&](const Figure& figure) { return figure.name == name; });
  return at == figures.end() ? nullptr : &*at;
}

std::optional<int> index_of(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size() && value >= 0 ? std::optional(value) : std::nullopt;
}

Error no_part(const Name& name, std::span<const std::string_view> parts) {
  return refuse("there is no figure {}.{}: {}", name.figure->name, printable(name.part), name_hint(name.part, parts));
}

Status check_row_part(const Name& name) {
  const std::string_view first = name.part.substr(0, name.part.find('.'));
  const std::string_view rest = name.part.substr(std::min(name.part.size(), first.size() + 1));
  if (index_of_name(row_names, first) && rest.empty()) return Done{};
  if (index_of_name(row_lists, first)) {
    if (index_of(rest)) return Done{};
    return refuse("row.{} needs the index of a key or a column: write row.{}.0", first, first);
  }
  std::vector<std::string_view> all(row_names.begin(), row_names.end());
  all.insert(all.end(), row_lists.begin(), row_lists.end());
  return no_part(name, all);
}

Status check_part(const Name& name, std::span<const std::string> others) {
  const auto among = [&](const auto& names) -> Status {
    if (index_of_name(names, name.part)) return Done{};
    return no_part(name, names);
  };
  switch (name.figure->part) {
    case Part::none:
      if (name.part.empty()) return Done{};
      return refuse("{} has no part '{}': write {} alone", name.figure->name, printable(name.part), name.figure->name);
    case Part::tensor:
      return Done{};  // which tensors there are, the program says
    case Part::spec_key: {
      if (find_spec_key(name.part) != nullptr) return Done{};
      std::vector<std::string_view> keys;
      for (const SpecKey& key : spec_keys()) keys.push_back(key.key);
      const auto nearest = nearest_name(name.part, keys);
      return refuse("a GPU has no value '{}': {}", printable(name.part),
                    nearest ? phrase("did you mean {}?", "gpu." + *nearest) : phrase("see the keys of --set"));
    }
    case Part::unit:
      return among(bound_names);
    case Part::cause:
      return among(cause_names);
    case Part::tiles:
      return among(tile_names);
    case Part::measured:
      return among(measured_names);
    case Part::access:
      return among(access_names);
    case Part::run: {
      if (name.part == "self" || std::find(others.begin(), others.end(), name.part) != others.end()) return Done{};
      std::vector<std::string_view> runs(others.begin(), others.end());
      runs.emplace_back("self");
      return no_part(name, runs);
    }
    case Part::row:
      return check_row_part(name);
    case Part::element:
      return check_element(name.part);
    case Part::product:
      return check_product(name.part);
    case Part::result: {
      const std::string_view run = name.part.substr(0, name.part.find('.'));
      if (run == name.part) return refuse("{} needs a run and a tensor: write {}.other.dQ", name.figure->name, name.figure->name);
      if (std::find(others.begin(), others.end(), run) != others.end()) return Done{};
      const std::vector<std::string_view> runs(others.begin(), others.end());
      return no_part(name, runs);
    }
  }
  return Done{};
}

Result<Name> split(std::string_view text, std::span<const std::string> others) {
  Name name;
  std::string_view rest = text;
  const std::string_view first = rest.substr(0, rest.find('.'));
  if (std::find(others.begin(), others.end(), first) != others.end()) {
    name.run = std::string(first);
    rest.remove_prefix(std::min(rest.size(), first.size() + 1));
  }
  const std::string_view figure = rest.substr(0, rest.find('.'));
  name.part = rest.substr(std::min(rest.size(), figure.size() + 1));
  name.figure = find_figure(figure);
  if (name.figure == nullptr) {
    std::vector<std::string_view> known;
    for (const Figure& each : figures) known.push_back(each.name);
    if (name.run.empty()) known.insert(known.end(), others.begin(), others.end());
    return refuse("there is no figure '{}': {}", printable(text), name_hint(figure, known));
  }
  if (const Status part = check_part(name, others); !part) return part.error();
  return name;
}

Result<double> traffic_value(const Simulation& run, const Name& name) {
  std::optional<Link> one_link;  // none: "hbm", both ways, or "dirty", what is written after the run
  const bool dirty = name.figure->name == "dirty";
  for (const Link link : all_links)
    if (to_string(link) == name.figure->name) one_link = link;
  if (name.part.empty()) return one_link ? bytes_on(run, *one_link) : count(dirty ? dirty_bytes_at_end(run) : hbm_bytes(run));
  const auto tensors = run.program->tensors();
  const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](Tensor t) { return to_string(t) == name.part; });
  if (tensor == tensors.end()) {
    if (index_of_name(known_tensors, name.part)) return 0.0;
    std::vector<std::string_view> names;
    for (const Tensor t : tensors) names.push_back(to_string(t));
    return refuse("{} has no tensor '{}': {}", run.request.algorithm, printable(name.part), name_hint(name.part, names));
  }
  if (one_link) return count(run.ledger.total(*tensor, *one_link).value);
  return count(dirty ? dirty_bytes_at_end(run, *tensor) : hbm_bytes(run, *tensor));
}

/// Cycles that the operations of the SM in focus waited for one cause.
double waited(const FigureRun& run, std::size_t cause) {
  double cycles = 0;
  for (const Interval& interval : run.simulation->trace->intervals(run.focus_sm))
    if (static_cast<std::size_t>(interval.cause) == cause) cycles += std::max(0.0, interval.start - interval.ready);
  return cycles;
}

Result<double> tiles_value(const Simulation& run, std::size_t kind) {
  const AttentionProblem& problem = run.request.problem;
  const TileShape tile = run.program->tile();
  const double all =
      count(problem.query_planes() * ceil_div(problem.seq_q, tile.block_q) * ceil_div(problem.seq_kv, tile.block_kv));
  const std::shared_ptr<const Mask> mask = mask_of(problem);
  if (mask == nullptr) return kind == static_cast<std::size_t>(TileVisibility::full) ? all : 0.0;
  const BlockMask blocks = block_mask_of(*mask, problem, tile);
  const std::array counts = {blocks.empty_blocks, blocks.partial_blocks, blocks.full_blocks};
  return count(counts[kind]);
}

/// Wavefronts of an access to shared memory, sectors of one to global memory.
Result<double> access_value(const BankChoice& choice, std::string_view part) {
  const AccessPattern& pattern = pattern_of(choice);
  const WarpAccess access = pattern.access(choice.swizzled);
  if (pattern.is_global != (part == "sectors"))
    return refuse("the access {} has no {}: write access= of another one in the link", pattern.id, part);
  if (part == "sectors") return count(sectors_of(access).size());
  const BankUse use = bank_use(access);
  return count(part == "wavefronts" ? use.total : part == "least" ? use.least : use.conflicts());
}

Tensor output_of(const TileProgram& program) {
  for (const Tensor tensor : program.outputs())
    if (tensor.means(Meaning::output)) return tensor;
  return {};
}

/// The row's values after the last operation that was done by the step.
Result<SoftmaxRow> row_of(const FigureRun& run) {
  if (!run.row) return refuse("a figure of a row needs the row: write row= in the link of the scene");
  const Result<StepValues> values = values_at(run);
  if (!values) return values.error();
  return softmax_row(*run.simulation->program, *values->block, values->op, *run.row);
}

Result<double> there(const std::optional<float>& value, std::string_view part) {
  if (value) return static_cast<double>(*value);
  return refuse("row.{} is not computed by this step: choose a later one", part);
}

}  // namespace

Status check_figure(std::string_view name, std::span<const std::string> others) {
  const Result<Name> found = split(name, others);
  if (!found) return found.error();
  return Done{};
}

void FigureRuns::set(const std::string& name, FigureRun run) {
  runs_.insert_or_assign(name, Known{std::move(run), std::nullopt, std::nullopt});
}

Result<double> FigureRuns::value(std::string_view text) {
  std::vector<std::string> others;
  for (const auto& [name, known] : runs_)
    if (!name.empty()) others.push_back(name);
  const Result<Name> found = split(text, others);
  if (!found) return found.error();
  const Name& name = *found;
  const auto at = runs_.find(name.run);
  if (at == runs_.end() || at->second.run.simulation == nullptr) return refuse("nothing is simulated yet");
  Known& known = at->second;
  const FigureRun& run = known.run;
  const Simulation& simulation = *run.simulation;
  switch (name.figure->part) {
    case Part::tensor:
      return traffic_value(simulation, name);
    case Part::spec_key:
      return simulation.request.gpu.*find_spec_key(name.part)->member;
    case Part::unit:
      return simulation.utilisation[*index_of_name(bound_names, name.part)];
    case Part::cause:
      return waited(run, *index_of_name(cause_names, name.part));
    case Part::tiles:
      return tiles_value(simulation, *index_of_name(tile_names, name.part));
    case Part::run:
      return error_value(name.part == "self" ? known : runs_.find(name.part)->second);
    case Part::row:
      return row_value(known, name.part);
    case Part::element:
    case Part::product: {
      const Result<StepValues> values = values_at(run);
      if (!values) return values.error();
      return name.figure->part == Part::element ? element_of(*values, name.part) : product_of(*values, name.part);
    }
    case Part::result: {
      const std::size_t dot = name.part.find('.');
      const auto other = runs_.find(name.part.substr(0, dot));
      const auto difference = difference_of(run, other->second.run, name.part.substr(dot + 1));
      if (!difference) return difference.error();
      return name.figure->name == "differ" ? count(difference->elements) : difference->largest;
    }
    case Part::measured:
      return measured_value(known, name.part);
    case Part::access:
      return access_value(run.banks, name.part);
    case Part::none:
      break;
  }
  if (name.figure->of != nullptr) return name.figure->of(simulation);
  if (name.figure->name == "step") return count(run.step);
  return count(simulation.trace->step_count(run.focus_sm));
}

Result<double> FigureRuns::row_value(Known& known, std::string_view part) {
  if (!known.row) known.row = row_of(known.run);
  if (!*known.row) return known.row->error();
  const SoftmaxRow& row = **known.row;
  if (part == "m") return there(row.m_new ? row.m_new : row.m_old, part);
  if (part == "m_old") return there(row.m_old, part);
  if (part == "l") return there(row.l_new ? row.l_new : row.l_old, part);
  if (part == "l_old") return there(row.l_old, part);
  if (part == "alpha") return there(row.alpha, part);
  const auto index = index_of(part.substr(2));
  if (!index) return refuse("row.{} has no such index", printable(part));
  if (part.front() == 'O') {
    const std::vector<float>& o = row.o_after.empty() ? row.o_before : row.o_after;
    if (static_cast<std::size_t>(*index) < o.size()) return static_cast<double>(o[static_cast<std::size_t>(*index)]);
    return refuse("row.{} is not there: O has {} columns at this step", part, o.size());
  }
  for (const RowScore& score : row.scores) {
    if (score.key != *index) continue;
    if (part.front() == 'S') return static_cast<double>(score.value);
    return there(score.weight, part);
  }
  return refuse("row.{} is not there: the row has {} scores at this step", part, row.scores.size());
}

Result<double> FigureRuns::error_value(Known& known) {
  const FigureRun& run = known.run;
  if (!known.error) {
    const auto measure = [&]() -> Result<double> {
      if (!can_compare_outputs(*run.simulation, *run.simulation))
        return refuse("O is too large to be compared with float64 here: use a smaller problem");
      const TileProgram& program = *run.simulation->program;
      const Result<Matrix> made = run_plane(program, run.inputs, 0, output_of(program));
      if (!made) return made.error();
      const Matrix exact = reference_plane(program, run.inputs, 0, output_of(program));
      double largest = 0;
      for (std::size_t i = 0; i < exact.values.size(); ++i)
        largest = std::max(largest, std::fabs(static_cast<double>(made->values[i]) - static_cast<double>(exact.values[i])));
      return largest;
    };
    known.error = measure();
  }
  return *known.error;
}

Result<double> FigureRuns::measured_value(const Known& known, std::string_view part) const {
  const auto found = recording_of(measured_, *known.run.simulation);
  if (!found) return refuse("nothing is recorded of this problem on {}", known.run.simulation->request.gpu.id);
  const MeasuredCase& measured = found->measured();
  if (part == "us") return measured.time_cold_ns.median / 1e3;
  const auto counter = measured.counters.find(fmt::format("{}_bytes", part));
  if (counter == measured.counters.end()) return refuse("{} was not recorded of this problem", part);
  return counter->second.median;
}

}  // namespace tilescope
