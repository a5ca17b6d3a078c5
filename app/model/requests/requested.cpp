// Changes to the request, one function a control.
#include "app/model/requests/requested.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "app/model/requests/own_tile.h"
#include "sim/numerics/inputs.h"
#include "sim/programs/occupancy.h"
#include "sim/programs/program_names.h"

namespace tilescope {

namespace {

constexpr std::array matrices = {&InputSource::q, &InputSource::k, &InputSource::v};

/// Makes a program as a request would, and asks each of its launches.
template <class Test>
bool all_launches(std::string_view id, const SimulationRequest& request, AttentionProblem problem, const Test& test) {
  const auto row = find_program(id, problem.pass);
  if (!row || !check(problem)) return false;  // the window keeps a refused problem
  problem.mask = nullptr;
  problem.score_change = nullptr;
  const ProgramTile tile = request.tile ? *request.tile : ProgramTile((*row)->default_tile(problem, request.gpu));
  const auto program = (*row)->make(problem, tile, request.gpu);
  if (!program) return false;
  const auto launches = (*program)->launches();
  return std::all_of(launches.begin(), launches.end(), [&](const LaunchSpec& launch) { return test(**program, launch); });
}

}  // namespace

std::string program_of_masks(const SimulationRequest& request, const AttentionProblem& problem) {
  const auto is_hopper = [](const TileProgram&, const LaunchSpec& launch) {
    return launch.needs.instruction == ProductInstruction::wgmma;
  };
  const auto fits = [&](const TileProgram& program, const LaunchSpec& launch) {
    return static_cast<bool>(occupancy(program, launch, request.gpu));
  };
  const bool on_hopper = all_launches(request.algorithm, request, request.problem, is_hopper);
  for (const ProgramInfo& row : program_table())
    if (on_hopper && row.has_lists && row.pass == Pass::forward && all_launches(row.id, request, problem, is_hopper) &&
        all_launches(row.id, request, problem, fits))
      return std::string(row.id);
  return std::string(program_with_lists());
}

void Requested::set_gpu(std::string source, GpuSpec gpu) {
  gpu_source = std::move(source);
  gpu_base = request.gpu = std::move(gpu);
  take_own_tile(request);
  request.blocks_per_sm.reset();
  request.focus_sm = 0;
}

void Requested::add_gpu(std::string path) {
  if (std::find(gpu_ids.begin(), gpu_ids.end(), path) == gpu_ids.end()) gpu_ids.push_back(std::move(path));
}

void Requested::set_problem(const AttentionProblem& problem) {
  const auto row = find_program(request.algorithm);
  if (problem.page_size > 0 && request.problem.page_size == 0 && row && family_of(**row)->takes_mask &&
      (*row)->pass == Pass::forward && !(*row)->takes_pages)
    request.algorithm = program_of_masks(request, problem);
  request.problem = problem;
}

void Requested::set_masking(MaskChoice choice) {
  // flex is the mask's own program; another may be chosen afterwards.
  const auto row = find_program(request.algorithm);
  if (request.masking.empty() && !choice.empty() && row && family_of(**row)->takes_mask && (*row)->pass == Pass::forward &&
      !(*row)->has_lists)
    request.algorithm = program_of_masks(request, request.problem);
  request.masking = std::move(choice);
  request.problem.mask = nullptr;  // made anew from the choice
  request.problem.score_change = nullptr;
}

Status Requested::set_spec_value(std::string_view assignment) {
  return tilescope::set_spec_value(request.gpu, assignment);
}

void Requested::reset_spec_value(std::string_view key) {
  for (const SpecKey& row : spec_keys()) {
    if (!key.empty() && row.key != key) continue;
    request.gpu.*row.member = gpu_base.*row.member;
    if (const auto from = gpu_base.provenance.find(row.key); from != gpu_base.provenance.end())
      request.gpu.provenance[std::string(row.key)] = from->second;
    else
      request.gpu.provenance.erase(std::string(row.key));
  }
}

void Requested::open_case(std::optional<GpuSpec> other_gpu, const Counterpart& program, const AttentionProblem& problem,
                          const TileShape& tile) {
  if (other_gpu) {
    gpu_source = other_gpu->id;
    gpu_base = request.gpu = std::move(*other_gpu);
    request.focus_sm = 0;
  }
  request.algorithm = program.algorithm;
  request.block_order = program.block_order;
  request.key_order = program.key_order;
  request.problem = problem;
  request.masking = {};
  request.tile = tile;
  request.blocks_per_sm.reset();
  race = false;
}

std::string mask_control(Setting where, std::size_t index) {
  return where == Setting::score ? "score" : fmt::format("{}.{}", to_string(where), index);
}

bool is_mask_control(std::string_view control) {
  return control == "score" || control == "table" || control.starts_with("mask") || control.starts_with("preset");
}

std::shared_ptr<const Matrix>& matrix_of(InputSource& inputs, Meaning tensor) {
  return tensor == Meaning::key ? inputs.k : tensor == Meaning::value ? inputs.v : inputs.q;
}

const std::shared_ptr<const Matrix>& matrix_of(const InputSource& inputs, Meaning tensor) {
  return tensor == Meaning::key ? inputs.k : tensor == Meaning::value ? inputs.v : inputs.q;
}

Result<InputSource> Requested::with_matrix(Meaning tensor, std::string_view text, const Sentence& origin) const {
  InputSource changed = inputs;
  matrix_of(changed, tensor) = nullptr;
  if (text.empty()) return changed;
  Result<Matrix> matrix = parse_csv_matrix(text, origin);
  if (!matrix) return matrix.error();
  InputSource only;
  matrix_of(only, tensor) = matrix_of(changed, tensor) = std::make_shared<const Matrix>(std::move(*matrix));
  if (const Status status = check(only, request.problem); !status) return status.error();
  return changed;
}

InputSource Requested::fitting_inputs(const AttentionProblem& problem) const {
  InputSource out = inputs;
  for (auto member : matrices) {
    InputSource only;
    only.*member = inputs.*member;
    if (!check(only, problem)) out.*member = nullptr;
  }
  return out;
}

Status Requested::inputs_fit() const {
  for (auto member : matrices) {
    InputSource only;
    only.*member = inputs.*member;
    if (Status status = check(only, request.problem); !status) return status;
  }
  return Done{};
}

void Requested::keep_good(const SimulationRequest& simulated, Race as_race, std::string source, GpuSpec base) {
  good_request = simulated;
  good_race = std::move(as_race);
  good_gpu_source = std::move(source);
  good_gpu_base = std::move(base);
}

void Requested::back_to_good() {
  request = good_request;
  race = good_race;
  gpu_source = good_gpu_source;
  gpu_base = good_gpu_base;
}

}  // namespace tilescope
