// Turns a CommandLine into a request.
#include "app/cli/request.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "app/model/assets.h"
#include "app/platform/files.h"
#include "sim/core/text.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/presets.h"
#include "sim/masks/score_change.h"

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

bool has_mask_flags(const CommandLine& line) {
  return !line.masks.empty() || !line.presets.empty() || line.score || line.mask_block;
}

/// Reads the tables of --table.
Result<TableList> read_tables(const CommandLine& line) {
  TableList tables;
  for (const std::string& given : line.tables) {
    const std::size_t at = given.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == given.size())
      return Error{fmt::format("--table is '{}': write NAME=FILE, for example doc=documents.csv", printable(given))};
    const std::string name = given.substr(0, at), file = given.substr(at + 1);
    if (const std::string why = table_name_fault(name); !why.empty()) return Error{fmt::format("--table: {}", why)};
    for (const auto& other : tables)
      if (other->name == name) return Error{fmt::format("--table: {} is given twice", name)};
    const bool binary = file.ends_with(".npy");
    const auto content = binary ? read_binary_file(file) : read_text_file(file);
    if (!content) return content.error();
    auto table = binary ? parse_npy_table(name, *content, file) : parse_csv_table(name, *content, file);
    if (!table) return table.error();
    tables.push_back(std::make_shared<const CapturedTable>(std::move(*table)));
  }
  return tables;
}

Error in_flag(std::string_view flag, std::string_view text, const Error& error) {
  constexpr std::size_t most_shown = 60;
  return Error{fmt::format("{} '{}': {}", flag, printable(text, most_shown), error.sentence.text())};
}

/// Fills in the mask and the change of scores. All masks must hold, and --causal is one of them.
Status settle_mask(const CommandLine& line, AttentionProblem& problem) {
  const auto tables = read_tables(line);
  if (!tables) return tables.error();
  const ExprSizes sizes = sizes_of(problem);
  struct Source {
    std::string flag, shown, text;
  };
  std::vector<Source> masks, scores;
  for (const std::string& text : line.masks) masks.push_back({"--mask", text, text});
  for (const std::string& name : line.presets) {
    const auto text = preset_text(name);
    if (!text) return Error{fmt::format("--preset: {}", text.error().sentence.text())};
    if (!text->mask.empty()) masks.push_back({"--preset", name, text->mask});
    if (!text->score.empty()) scores.push_back({"--preset", name, text->score});
  }
  if (line.score) scores.push_back({"--score", *line.score, *line.score});
  if (scores.size() > 1)
    return Error{fmt::format("{} {} and {} {} both change the score: write one --score", scores[0].flag, printable(scores[0].shown),
                             scores[1].flag, printable(scores[1].shown))};
  std::vector<Expression> conditions;
  if (line.causal && !masks.empty()) masks.insert(masks.begin(), {"--causal", "", "kv <= q + NK - N"});
  for (const Source& source : masks) {
    auto expression = parse_mask_expression(source.text, sizes, *tables);
    if (!expression) return in_flag(source.flag, source.shown, expression.error());
    conditions.push_back(std::move(*expression));
  }
  problem.mask_block = line.mask_block.value_or(0);
  if (!conditions.empty()) {
    auto mask = ExpressionMask::make(all_of(conditions));
    if (!mask)
      return in_flag(masks.size() > 1 ? "--mask and others" : masks.front().flag,
                     masks.size() > 1 ? all_of(conditions).text : masks.front().shown, mask.error());
    problem.mask = *mask;
  }
  for (const Source& source : scores) {
    auto expression = parse_score_expression(source.text, sizes, *tables);
    if (!expression) return in_flag(source.flag, source.shown, expression.error());
    auto change = ScoreChange::make(std::move(*expression), mask_of(problem).get());
    if (!change) return in_flag(source.flag, source.shown, change.error());
    problem.score_change = *change;
  }
  return Done{};
}

}  // namespace

Result<std::vector<std::string>> algorithms_of(const CommandLine& line) {
  std::vector<std::string> ids;
  if (!line.algorithm_given) {
    for (const ProgramInfo& row : program_table())
      if (!row.button.empty()) ids.emplace_back(row.id);
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

Result<Request> make_request(const CommandLine& line) {
  if (const auto known = check_algorithm(line.algorithm); !known) return known.error();
  auto gpu = load_gpu(line.gpu);
  if (!gpu) return gpu.error();
  for (const std::string& assignment : line.overrides)
    if (const auto set = set_spec_value(*gpu, assignment); !set) return Error{set.error().sentence.after("--set: ")};

  Request request;
  AttentionProblem& problem = request.simulation.problem;
  problem.batch = line.batch;
  problem.heads = line.heads;
  problem.kv_heads = line.kv_heads.value_or(line.heads);
  problem.dtype = line.dtype;
  problem.causal = line.causal;
  problem.pass = line.pass.value_or(Pass::forward);
  request.inputs.seed = line.seed;
  if (const auto settled = settle_sizes(line, problem, request.inputs); !settled) return settled.error();
  if (const auto good = check(problem); !good) return good.error();
  // Only flex has lists and changes of scores, and it is the mask's own kernel.
  const std::string algorithm = has_mask_flags(line) && !line.algorithm_given ? "flex" : line.algorithm;
  if (line.mask_block && algorithm != "flex")
    return Error{fmt::format("--mask-block is the block of flex's lists: {} has none", algorithm)};
  if (!line.tables.empty() && !has_mask_flags(line))
    return Error{"--table is read by --mask, --score and --preset: give one of them"};
  if (has_mask_flags(line))
    if (const auto settled = settle_mask(line, problem); !settled) return settled.error();

  request.simulation.algorithm = algorithm;
  if (const auto settled = settle_program(request.simulation); !settled) return settled.error();
  if (line.pass && *line.pass != problem.pass)
    return Error{fmt::format("{} is a backward pass, but --pass is {}: leave --pass out, or use --algorithm {}", line.algorithm,
                             to_string(*line.pass), (*find_program(line.algorithm))->forward)};
  request.simulation.blocks_per_sm = line.blocks_per_sm;
  request.simulation.block_order = line.block_order;
  request.simulation.key_order = line.key_order;
  request.simulation.gpu = std::move(*gpu);
  if (line.block_q || line.block_kv || line.stages) request.simulation.tile = tile_of(line, request.simulation);
  return request;
}

}  // namespace tilescope
