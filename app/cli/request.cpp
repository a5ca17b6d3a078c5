// Turns a CommandLine into a request.
#include "app/cli/request.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/requests/assets.h"
#include "app/model/requests/mask_tables.h"
#include "app/model/requests/racers.h"
#include "app/model/session/opening.h"
#include "app/model/state/state_file.h"
#include "app/platform/files.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/presets.h"
#include "sim/programs/program_names.h"

namespace tilescope {

namespace {

constexpr std::int64_t default_seq = 64, default_head_dim = 16;

/// A size given by a flag or a matrix, and its first source.
class Size {
 public:
  Size(std::string_view flag, std::optional<std::int64_t> given) : value_(given), giver_(flag) {}

  Status take(std::int64_t value, std::string_view giver, std::string_view what) {
    if (value_ && *value_ != value)
      return Error{
          fmt::format("{} has {} {}, but {} says {}: make them agree", printable(giver, 100), value, what, giver_, *value_)};
    if (!value_) giver_ = printable(giver, 100);
    value_ = value;
    return Done{};
  }
  std::int64_t value_or(std::int64_t other) const { return value_.value_or(other); }

 private:
  std::optional<std::int64_t> value_;
  std::string giver_;
};

using Rows = std::shared_ptr<const Matrix>;

/// Reads a user's matrix and its sizes.
Result<Rows> read_matrix(const std::string& file, Size& rows, Size& columns) {
  const auto text = read_text_file(file);
  if (!text) return text.error();
  auto matrix = parse_csv_matrix(*text, file);
  if (!matrix) return matrix.error();
  if (const auto took = rows.take(matrix->rows, file, "rows"); !took) return took.error();
  if (const auto took = columns.take(matrix->cols, file, "columns"); !took) return took.error();
  return Rows(std::make_shared<const Matrix>(std::move(*matrix)));
}

/// Fills in matrices and sizes.
Status settle_sizes(const CommandLine& line, AttentionProblem& problem, InputSource& inputs) {
  Size queries("--seq", line.seq), keys("--seq-kv", line.seq_kv), head_dim("--head-dim", line.head_dim);
  struct Input {
    const std::string& file;
    Size& rows;
    Rows& matrix;
  };
  for (const Input& input :
       {Input{line.q_file, queries, inputs.q}, Input{line.k_file, keys, inputs.k}, Input{line.v_file, keys, inputs.v}}) {
    if (input.file.empty()) continue;
    auto matrix = read_matrix(input.file, input.rows, head_dim);
    if (!matrix) return matrix.error();
    input.matrix = std::move(*matrix);
  }
  // Self-attention by default: a key matrix also sets the number of queries.
  const bool keys_are_given = !line.k_file.empty() || !line.v_file.empty();
  problem.seq_q = queries.value_or(keys_are_given ? keys.value_or(default_seq) : default_seq);
  problem.seq_kv = keys.value_or(problem.seq_q);
  problem.head_dim = head_dim.value_or(default_head_dim);
  return Done{};
}

Status check_algorithm(const std::string& id) {
  std::vector<std::string_view> names;
  for (const ProgramInfo& row : program_table()) {
    if (row.id == id) return Done{};
    names.push_back(row.id);
  }
  return Error{fmt::format("unknown algorithm '{}': {}", printable(id), name_hint(id, names))};
}

/// The tile of the flags; the program's own side where a flag is absent. What a tile may be, simulate() checks.
ProgramTile tile_of(const CommandLine& line, const SimulationRequest& without_tile) {
  const bool whole = line.block_q && line.block_kv;
  ProgramTile tile = whole ? ProgramTile() : chosen_tile(without_tile).value_or(ProgramTile());
  tile.block_q = line.block_q.value_or(tile.block_q);
  tile.block_kv = line.block_kv.value_or(tile.block_kv);
  tile.stages = line.stages.value_or(0);
  return tile;
}

/// A column counts in the preset's own text, which nobody typed.
std::string without_column(const Error& error, const std::string& preset) {
  std::string text = error.sentence.text();
  if (text.starts_with("column ")) text.erase(0, std::min(text.size(), text.find(": ") + 2));
  return fmt::format("--preset '{}': {}", preset, text);
}

/// The numbers of a link, where no file is given in their place.
void take_inputs(const WindowState& base, const CommandLine& line, InputSource& inputs) {
  inputs.spread = base.spread;
  if (line.q_file.empty()) inputs.q = base.q.pointer();
  if (line.k_file.empty()) inputs.k = base.k.pointer();
  if (line.v_file.empty()) inputs.v = base.v.pointer();
}

}  // namespace

bool changes_attention(const CommandLine& line) {
  return !line.masks.empty() || !line.presets.empty() || line.score;
}

bool hides_keys(const CommandLine& line) {
  return line.causal || !line.masks.empty() || std::any_of(line.presets.begin(), line.presets.end(), [](const std::string& preset) {
           const auto text = preset_text(preset);
           return text && !text->mask.empty();
         });
}

bool needs_flex(const CommandLine& line) {
  return changes_attention(line) || line.mask_block || line.page_size;
}

std::string algorithm_of(const CommandLine& line) {
  return needs_flex(line) && !line.algorithm_given ? std::string(program_with_lists()) : line.algorithm;
}

Result<std::vector<std::string>> algorithms_of(const CommandLine& line) {
  std::vector<std::string> ids;
  if (!line.algorithm_given) {
    for (const ProgramInfo& row : program_table())
      if (!row.button.empty()) ids.emplace_back(row.id);
    if (changes_attention(line) || line.page_size) ids.emplace_back(program_with_lists());
    return ids;
  }
  std::string_view rest = line.algorithm;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string id(rest.substr(0, comma));
    if (const auto known = find_program(id); !known) return known.error();
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    if (comma == std::string_view::npos) return ids;
    rest.remove_prefix(comma + 1);
  }
}

Status check_key_order(const CommandLine& line, std::string_view algorithm, Pass pass) {
  const auto program = find_program(algorithm, pass);
  if (!program || !line.given.contains("--key-order") || (*program)->key_order.value_or(line.key_order) == line.key_order)
    return Done{};
  return refuse("--key-order is {}, and the blocks of {} walk their keys in {} order alone: leave it out",
                to_string(line.key_order), algorithm, to_string(*(*program)->key_order));
}

Status check_race(const CommandLine& line, std::string_view algorithm) {
  if (line.race.with.empty() || racers(algorithm, line.race.with) != racers(algorithm)) return Done{};
  std::vector<std::string_view> ids;
  for (const ProgramInfo* partner : partners_of(algorithm)) ids.push_back(partner->id);
  if (std::find(ids.begin(), ids.end(), line.race.with) != ids.end()) return Done{};
  return refuse("--race-with: {} does not race against {}: {}", printable(line.race.with), algorithm,
                name_hint(line.race.with, ids));
}

Result<Request> make_request(const CommandLine& line) {
  if (const auto known = check_algorithm(line.algorithm); !known) return known.error();
  auto gpu = load_gpu(line.gpu);
  if (!gpu) return gpu.error();
  for (const std::string& assignment : line.overrides)
    if (const auto set = set_spec_value(*gpu, assignment); !set) return refuse("--set: {}", set.error().sentence);
  if (const auto held = check(*gpu); !held) return refuse("--set: {}", held.error().sentence);

  Request request;
  AttentionProblem& problem = request.simulation.problem;
  problem.batch = line.batch;
  problem.heads = line.heads;
  problem.kv_heads = line.kv_heads.value_or(line.heads);
  problem.dtype = line.dtype;
  problem.causal = line.causal;
  problem.pass = line.pass.value_or(Pass::forward);
  request.inputs.seed = line.seed;
  if (line.base) take_inputs(*line.base, line, request.inputs);
  if (const auto settled = settle_sizes(line, problem, request.inputs); !settled) return settled.error();
  if (const auto good = check(problem); !good) return good.error();
  const std::string algorithm = algorithm_of(line);
  if (const auto info = find_program(algorithm);
      line.mask_block && info && !(*info)->has_lists && line.command != CommandKind::sweep) {
    const ListedPrograms with_lists =
        programs_where([](const ProgramInfo& row) { return row.has_lists && row.pass == Pass::forward; });
    return refuse("{} is the block of the lists of {} and {}: {} has none", Setting::mask_block, with_lists.first, with_lists.last,
                  algorithm);
  }
  MaskChoice& masking = request.simulation.masking;
  masking.masks = line.masks;
  masking.presets = line.presets;
  masking.score = line.score.value_or("");
  masking.table_gradients = line.table_gradients;
  if (!line.tables.empty() && masking.empty())
    return refuse("{} is read by {}, {} and {}: give one of them", Setting::table, Setting::mask, Setting::score, Setting::preset);
  auto tables = load_tables(line.tables);
  if (!tables) return tables.error();
  masking.tables = std::move(*tables);
  problem.mask_block = line.mask_block.value_or(0);
  problem.page_size = line.page_size.value_or(0);
  problem.page_order = line.page_order.value_or(PageOrder::shuffled);
  if (const auto fault = find_mask_fault(masking, problem)) {
    constexpr std::size_t most_shown = 60;
    if (fault->text.empty()) return fault->error;
    const std::string shown = printable(fault->text, most_shown);
    if (fault->where == Setting::preset) return Error{without_column(fault->error, shown)};
    return refuse("--{} '{}': {}", to_string(fault->where), shown, fault->error.sentence);
  }
  if (line.given.contains("--mask-block") && !hides_keys(line))
    return refuse("{} is the block of a mask's lists, and there is no mask: give {}, {} or {}", Setting::mask_block, Setting::mask,
                  Setting::preset, Setting::causal);

  request.simulation.algorithm = algorithm;
  if (const auto settled = settle_program(request.simulation); !settled) return settled.error();
  if (line.pass && *line.pass != problem.pass)
    return Error{fmt::format("{} is a backward pass, but --pass is {}: leave --pass out, or use --algorithm {}", line.algorithm,
                             to_string(*line.pass), (*find_program(line.algorithm))->forward)};
  if (const Status possible = check_race(line, request.simulation.algorithm); !possible) return possible.error();
  request.simulation.blocks_per_sm = line.blocks_per_sm;
  request.simulation.block_order = line.block_order;
  if (const Status possible = check_key_order(line, request.simulation.algorithm, problem.pass); !possible) return possible.error();
  const auto program = find_program(request.simulation.algorithm, problem.pass);
  if (!program || !(*program)->key_order) request.simulation.key_order = line.key_order;
  request.simulation.gpu = std::move(*gpu);
  if (line.block_q || line.block_kv || line.stages) request.simulation.tile = tile_of(line, request.simulation);
  if (line.base) {
    request.simulation.focus_sm = line.base->focus_sm;
    for (const auto& check : {&check_focus, &check_row})
      if (const Status there = check(*line.base, request.simulation); !there) return there.error();
  }
  return request;
}

Result<CommandLine> open_base(CommandLine line) {
  if (line.open.empty() && line.deck.empty()) return line;
  if (!line.open.empty() && !line.deck.empty()) return Error{"--open and --deck each say what to begin with: give one of them"};
  std::optional<LessonList> lessons;  // read for the first page of one
  const FindLesson find_lesson = [&](const std::string& lesson) {
    if (!lessons) lessons = load_lesson_list();
    return named_lesson(*lessons, lesson, "en");
  };
  if (line.deck.empty()) {
    const Result<WindowState> state = state_from(line.open, find_lesson);
    if (!state) return refuse("--open: {}", state.error().sentence);
    return on_top_of(*state, line);
  }
  const auto text = read_text_file(line.deck);
  if (!text) return text.error();
  Result<Deck> deck = parse_deck(*text, line.deck, find_lesson);
  if (!deck) return deck.error();
  const int scene = line.scene.value_or(1), count = static_cast<int>(deck->scenes.size());
  if (scene > std::max(count, 1))
    return Error{fmt::format("there is no scene {}: {} has {}", scene, printable(line.deck, 100), count)};
  line.scenes = std::make_shared<const Deck>(*deck);
  if (count == 0) return line;
  Lecture lecture;
  lecture.take(std::move(*deck), line.deck);
  return on_top_of(lecture.state_of(scene - 1, false), line);
}

std::shared_ptr<const WindowState> state_of(const CommandLine& line, const Request& request) {
  if (!line.base) return nullptr;
  WindowState state = *line.base;
  const SimulationRequest& asked = request.simulation;
  state.algorithm = asked.algorithm;
  state.gpu = line.gpu;
  state.spec_values = changed_values(asked.gpu);
  state.problem = asked.problem;
  state.problem.mask = nullptr;  // its text is in the state
  state.problem.score_change = nullptr;
  state.masks = asked.masking.masks;
  state.presets = asked.masking.presets;
  state.score = asked.masking.score;
  state.tables = line.tables;
  state.table_gradients = line.table_gradients;
  state.tile = asked.tile;
  if (state.tile) state.tile->key_order = KeyOrder::ascending;
  state.blocks_per_sm = asked.blocks_per_sm;
  state.block_order = asked.block_order;
  state.key_order = asked.key_order;
  state.seed = request.inputs.seed;
  state.q = request.inputs.q;
  state.k = request.inputs.k;
  state.v = request.inputs.v;
  state.race = line.race;
  state.center = line.view;
  if (line.step) state.position = WindowState::Step{*line.step};
  if (line.by_sm) state.by_sm = *line.by_sm;
  if (line.theme) state.theme = *line.theme;
  if (line.language) state.language = *line.language;
  return std::make_shared<const WindowState>(std::move(state));
}

}  // namespace tilescope
