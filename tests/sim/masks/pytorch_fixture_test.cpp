// Masks and score changes against PyTorch's FlexAttention: block lists, O and L that kernels/lab/pytorch_masks.py wrote on a GPU.
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/masks/block_mask.h"
#include "sim/masks/expression_mask.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/presets.h"
#include "sim/masks/score_change.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/backward_tensors.h"
#include "sim/programs/tile_program.h"
#include "sim/reference/attention_reference.h"
#include "sim/reference/reference_gradients.h"
#include "tests/rounds.h"
#include "tests/sim/test_gpus.h"

namespace tilescope {
namespace {

std::shared_ptr<const CapturedTable> table(std::string name, std::vector<std::int64_t> shape, std::vector<std::int32_t> values) {
  CapturedTable made = make_table(std::move(name), std::move(values));
  made.shape = std::move(shape);
  return std::make_shared<const CapturedTable>(std::move(made));
}

/// The tables of pytorch_masks.py, by the same formulas.
TableList tables_of(std::int64_t n) {
  constexpr std::int64_t lengths[] = {700, 300, 1100, 50, 513};
  std::vector<std::int32_t> doc, offsets = {0}, is_global, prefix_of, chosen, intervals, ancestor(static_cast<std::size_t>(n * n));
  while (static_cast<std::int64_t>(doc.size()) < n) {
    const auto number = static_cast<std::int32_t>(offsets.size()) - 1;
    const std::int64_t length = std::min(lengths[number % 5], n - static_cast<std::int64_t>(doc.size()));
    doc.insert(doc.end(), static_cast<std::size_t>(length), number);
    offsets.push_back(static_cast<std::int32_t>(doc.size()));
  }
  for (std::int64_t i = 0; i < n; ++i) is_global.push_back(i % 173 == 0 ? 1 : 0);
  for (std::int32_t d = 0; d + 1 < static_cast<std::int32_t>(offsets.size()); ++d) prefix_of.push_back(d - d % 3);
  const std::int64_t key_tiles = n / 64;
  for (std::int64_t b = 0; b < 2; ++b)
    for (std::int64_t h = 0; h < 2; ++h)
      for (std::int64_t t = 0; t < key_tiles; ++t)
        for (std::int64_t i = 0; i < 8; ++i)
          chosen.push_back(static_cast<std::int32_t>((17 * (t + 1) * (i + 1) + 5 * h + 3 * b) % key_tiles));
  for (std::int64_t k = 0; k < key_tiles; ++k) {
    intervals.push_back(static_cast<std::int32_t>(k * 100));
    intervals.push_back(static_cast<std::int32_t>(k * 100 + 250));
  }
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t at = i;; at = (at - 1) / 2) {
      ancestor[static_cast<std::size_t>(i * n + at)] = 1;
      if (at == 0) break;
    }
  const auto documents = static_cast<std::int64_t>(prefix_of.size());
  return {table("doc", {n}, doc),
          table("offsets", {documents + 1}, offsets),
          table("is_global", {n}, is_global),
          table("prefix_of", {documents}, prefix_of),
          table("chosen", {2, 2, key_tiles, 8}, chosen),
          table("intervals", {key_tiles, 2}, intervals),
          table("ancestor", {n, n}, ancestor)};
}

constexpr std::int64_t small = 160;

constexpr std::int64_t small_heads = 4, small_kv_heads = 2;

/// A table whose element is `whole(its indices)`, divided by `divisor` into a float where that is not 0. The first index is 0.
template <class Whole>
std::shared_ptr<const CapturedTable> filled(std::string name, std::vector<std::int64_t> shape, int divisor, Whole whole) {
  CapturedTable made;
  made.name = std::move(name);
  made.type = divisor == 0 ? ValueType::integer : ValueType::real;
  std::vector<std::int64_t> at(shape.size());
  std::int64_t elements = 1;
  for (const std::int64_t length : shape) elements *= length;
  for (std::int64_t element = 0; element < elements; ++element) {
    std::int64_t rest = element;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) at[axis] = rest % shape[axis];
    const auto value = static_cast<std::int32_t>(whole(at));
    if (divisor == 0)
      made.integers.push_back(value);
    else
      made.reals.push_back(static_cast<float>(value) / static_cast<float>(divisor));
  }
  made.shape = std::move(shape);
  return std::make_shared<const CapturedTable>(std::move(made));
}

TableList small_tables() {
  using At = const std::vector<std::int64_t>&;
  return {
      filled("bias", {2 * small - 1}, 16, [](At at) { return at[0] * 37 % 64 - 32; }),
      filled("distance", {1, small, small}, 0, [](At at) { return (at[1] * 3 + at[2] * 5) % 8; }),
      filled("spatial", {small_heads, 8}, 16, [](At at) { return (at[0] * 5 + at[1] * 11) % 32 - 16; }),
      filled("path_length", {1, small, small}, 0, [](At at) { return at[1] * at[2] % 6; }),
      filled("path", {1, small, small, 4}, 0, [](At at) { return (at[1] + 2 * at[2] + 3 * at[3]) % 6; }),
      filled("edge", {small_heads, 4, 6}, 16, [](At at) { return (at[0] * 13 + at[1] * 7 + at[2] * 3) % 32 - 16; }),
      filled("q_rope", {1, small_heads, small, 16}, 64, [](At at) { return (at[1] * 5 + at[2] * 7 + at[3] * 3) % 64 - 32; }),
      filled("k_rope", {1, small_kv_heads, small, 16}, 64, [](At at) { return (at[1] * 3 + at[2] * 5 + at[3] * 11) % 64 - 32; })};
}

std::shared_ptr<const Mask> mask_from(const AttentionProblem& problem, const std::string& text, const TableList& tables) {
  auto expression = parse_mask_expression(text, sizes_of(problem), tables);
  REQUIRE_MESSAGE(expression, (expression ? std::string() : expression.error().sentence.text()));
  const auto mask = ExpressionMask::make(std::move(*expression));
  REQUIRE_MESSAGE(mask, (mask ? std::string() : mask.error().sentence.text()));
  return *mask;
}

std::vector<std::int32_t> numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::int32_t> found;
  for (std::int32_t number = 0; in >> number;) found.push_back(number);
  return found;
}

/// Rows of Q, K or V of one head, as pytorch_masks.py makes them.
std::shared_ptr<const Matrix> input(std::int64_t which, std::int64_t head, std::int64_t rows = small) {
  Matrix made;
  made.rows = static_cast<int>(rows);
  made.cols = 16;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t c = 0; c < 16; ++c)
      made.values.push_back(static_cast<float>((i * 31 + c * 17 + head * 7 + which * 13 + i * c) % 64 - 32) / 32);
  return std::make_shared<const Matrix>(std::move(made));
}

std::vector<std::string> fixture(const std::string& name = "pytorch_flex.txt") {
  std::ifstream file(TILESCOPE_SOURCE_DIR "/tests/sim/masks/" + name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  REQUIRE(lines.size() > 600);
  return lines;
}

/// The problem of a line "KIND TEXT": a preset, a mask or a score change at the small size.
AttentionProblem problem_of(std::istringstream& in) {
  AttentionProblem problem = {
      .heads = small_heads, .kv_heads = small_kv_heads, .seq_q = small, .seq_kv = small, .head_dim = 16, .dtype = DataType::fp32};
  std::string kind, text;
  in >> kind;
  std::getline(in, text);
  text.erase(0, 1);
  if (kind == "preset") {
    const auto preset = preset_text(text);
    REQUIRE_MESSAGE(preset, text);
    text = preset->score;
  }
  if (kind == "mask") {
    problem.mask = mask_from(problem, text, {});
  } else {
    auto expression = parse_score_expression(text, sizes_of(problem), small_tables());
    REQUIRE_MESSAGE(expression, text);
    const auto change = ScoreChange::make(std::move(*expression), nullptr);
    REQUIRE_MESSAGE(change, text);
    problem.score_change = *change;
  }
  return problem;
}

/// Those of all heads, one below the other.
std::shared_ptr<const Matrix> all_heads(std::int64_t which, std::int64_t heads, std::int64_t rows = small) {
  auto all = std::make_shared<Matrix>(0, 16);
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto one = input(which, head, rows);
    all->rows += one->rows;
    all->values.insert(all->values.end(), one->values.begin(), one->values.end());
  }
  return all;
}

InputSource inputs_of_all_heads(std::int64_t heads = small_heads, std::int64_t kv_heads = small_kv_heads,
                                std::int64_t rows = small) {
  InputSource inputs;
  inputs.q = all_heads(0, heads, rows), inputs.k = all_heads(1, kv_heads, rows), inputs.v = all_heads(2, kv_heads, rows);
  inputs.d_o = all_heads(3, heads, rows);
  return inputs;
}

std::unique_ptr<TileProgram> program_of(std::string_view id, const AttentionProblem& problem, int side = 32) {
  auto program = (*find_program(id))->make(problem, ProgramTile(side, side), toy_gpu());
  REQUIRE_MESSAGE(program, (program ? std::string() : program.error().sentence.text()));
  return std::move(*program);
}

FinishedRun of(Result<FinishedRun> run) {
  REQUIRE_MESSAGE(run, (run ? std::string() : run.error().sentence.text()));
  return *run;
}

/// dK and dV of a key head by the float64 reference.
std::pair<std::vector<double>, std::vector<double>> reference_of(const AttentionProblem& problem, std::int64_t kv_head) {
  std::pair<std::vector<double>, std::vector<double>> sums;
  const auto add = [](std::vector<double>& sum, const std::vector<double>& of) {
    sum.resize(of.size());
    for (std::size_t i = 0; i < of.size(); ++i) sum[i] += of[i];
  };
  constexpr std::int64_t group = small_heads / small_kv_heads;
  const auto k = input(1, kv_head), v = input(2, kv_head);
  for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    const auto q = input(0, head), d_o = input(3, head);
    const AttentionReference forward(problem, head, AttentionReference::Masked::yes, k->values, v->values);
    const ReferenceGradients all =
        reference_gradients(problem, q->values, k->values, v->values, d_o->values, [&](std::int64_t query) {
          return forward.row_of_query(query, std::span(q->values).subspan(static_cast<std::size_t>(query) * 16, 16), small);
        });
    add(sums.first, all.d_k);
    add(sums.second, all.d_v);
  }
  return sums;
}

}  // namespace

/// Reads "L | O" of one row and holds it against ours.
void check_row(std::istringstream& in, std::int64_t row, const Matrix& o, const Matrix& lse) {
  std::string theirs, bar;
  in >> theirs >> bar;
  const double expected = std::stod(theirs), ours = lse.values[static_cast<std::size_t>(row)];
  if (std::isinf(expected))
    CHECK(ours == expected);
  else
    CHECK(std::abs(ours - expected) <= 3e-5 * std::max(1.0, std::abs(expected)));
  for (std::int64_t c = 0; c < 16; ++c) {
    double number = NAN;
    in >> number;
    CHECK(std::abs(o.values[static_cast<std::size_t>(row * 16 + c)] - number) <= 3e-5);
  }
}

TEST_CASE("pytorch: the block lists of every preset equal those of create_block_mask, block for block") {
  int masks = 0;
  BlockMask blocks;
  AttentionProblem problem;
  for (const std::string& line : fixture()) {
    if (line.starts_with("values")) break;
    std::istringstream in(line);
    std::string word, name;
    in >> word;
    if (word == "#") continue;
    if (word == "mask") {
      std::int64_t n = 0, keys = 0, batch = 0, heads = 0;
      in >> name >> n >> keys >> batch >> heads;
      problem = AttentionProblem{.batch = batch, .heads = heads, .kv_heads = heads, .seq_q = n, .seq_kv = keys, .head_dim = 16};
      const auto text = preset_text(name);
      REQUIRE_MESSAGE(text, name);
      blocks = block_mask_of(*mask_from(problem, text->mask, tables_of(n)), problem, {128, 128});
      ++masks;
      CAPTURE(name);
      continue;
    }
    CAPTURE(masks);
    CAPTURE(line);
    std::int64_t b = 0, h = 0, at = 0;
    in >> b >> h >> at;
    const std::size_t first = line.find('|'), second = line.find('|', first + 1);
    const auto same = [&](const BlockLists& lists, const std::string& theirs) {
      const BlockLists listed = word == "rows" ? lists : transposed(lists, blocks.cols);
      const auto ours = listed.row(blocks.list_plane(b * problem.heads + h), at);
      CHECK(std::vector<std::int32_t>(ours.begin(), ours.end()) == numbers(theirs));
    };
    same(blocks.partial, line.substr(first + 1, second - first - 1));
    same(blocks.full, line.substr(second + 1));
  }
  CHECK(masks == 25);
}

TEST_CASE("pytorch: O and L of flex equal FlexAttention's, for score presets and 200 random expressions") {
  int expressions = 0;
  std::unique_ptr<TileProgram> flex;
  std::map<std::int64_t, std::pair<Matrix, Matrix>> made;  // O and L by head
  const InputSource inputs = inputs_of_all_heads();
  for (const std::string& line : fixture()) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (expressions == 0 && word != "values") continue;
    if (line.starts_with("values masks")) break;
    if (word == "values") {
      flex = program_of("flex", problem_of(in));
      ++expressions;
      made.clear();
      continue;
    }
    if (under_sanitizers && expressions % 5 != 0) continue;
    CAPTURE(expressions);
    CAPTURE(line);
    const std::int64_t head = std::stoll(word);
    std::int64_t row = 0;
    in >> row;
    const auto [at, is_new] = made.try_emplace(head);
    auto& [o, lse] = at->second;
    if (is_new) {
      const FinishedRun run = of(run_blocks_of_plane(*flex, inputs, head, tensors::o));
      o = run.plane(head, tensors::o), lse = run.plane(head, tensors::lse);
    }
    check_row(in, row, o, lse);
  }
  CHECK(expressions == 209);
}

TEST_CASE("pytorch: O and L of flex equal FlexAttention's under every mask preset") {
  int presets = 0;
  bool runs = false, reached = false;
  std::map<std::int64_t, std::pair<Matrix, Matrix>> made;  // O and L by head
  for (const std::string& line : fixture()) {
    reached = reached || line.starts_with("values masks");
    if (!reached) continue;
    CAPTURE(line);
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "values") {
      std::string name;
      std::int64_t n = 0, heads = 0;
      in >> word >> name >> n >> heads;
      made.clear();
      runs = !under_sanitizers || presets % 8 == 0;
      ++presets;
      if (!runs) continue;
      AttentionProblem problem = {.heads = heads, .kv_heads = 1, .seq_q = n, .seq_kv = n, .head_dim = 16, .dtype = DataType::fp32};
      const auto text = preset_text(name);
      REQUIRE_MESSAGE(text, name);
      problem.mask = mask_from(problem, text->mask, tables_of(n));
      const auto flex = program_of("flex", problem, 64);
      const FinishedRun run = of(run_whole(*flex, inputs_of_all_heads(heads, 1, n)));
      for (std::int64_t head = 0; head < heads; ++head) made[head] = {run.plane(head, tensors::o), run.plane(head, tensors::lse)};
      continue;
    }
    if (!runs) continue;
    std::int64_t row = 0;
    in >> row;
    const auto& [o, lse] = made.at(std::stoll(word));
    check_row(in, row, o, lse);
  }
  CHECK(presets == 24);
}

TEST_CASE("pytorch: gradients of flex_backward and of the reference equal FlexAttention's, for score presets and 80 expressions") {
  struct OfKeyHead {
    FinishedRun run;
    std::pair<std::vector<double>, std::vector<double>> reference;
  };
  AttentionProblem problem;
  std::unique_ptr<TileProgram> flex;
  std::map<std::int64_t, OfKeyHead> made;
  int expressions = 0;
  const InputSource inputs = inputs_of_all_heads();
  for (const std::string& line : fixture("pytorch_flex_gradients.txt")) {
    std::istringstream in(line);
    std::string word, bar;
    in >> word;
    if (word == "#") continue;
    if (word == "gradients") {
      made.clear();
      problem = problem_of(in);
      flex = program_of("flex_backward", problem);
      ++expressions;
      continue;
    }
    if (under_sanitizers && expressions % 5 != 0) continue;
    CAPTURE(expressions);
    CAPTURE(line);
    std::int64_t head = 0, row = 0;
    in >> head >> row >> bar;
    const std::int64_t kv_head = word == "dQ" ? head / 2 : head;
    if (!made.contains(kv_head))
      made.try_emplace(kv_head,
                       OfKeyHead{of(run_blocks_of_plane(*flex, inputs, kv_head, tensors::d_k)), reference_of(problem, kv_head)});
    const auto& [run, reference] = made.at(kv_head);
    const Matrix ours = run.plane(head, word == "dQ" ? tensors::d_q : word == "dK" ? tensors::d_k : tensors::d_v);
    const std::vector<double>& exact = word == "dK" ? reference.first : reference.second;
    for (std::int64_t c = 0; c < 16; ++c) {
      double number = 0;
      in >> number;
      const auto at = static_cast<std::size_t>(row * 16 + c);
      const double bound = 5e-5 * std::max(1.0, std::abs(number));
      CHECK(std::abs(static_cast<double>(ours.values[at]) - number) <= bound);
      if (word != "dQ") CHECK(std::abs(exact[at] - number) <= bound);
    }
  }
  CHECK(expressions == 89);
}

TEST_CASE("pytorch: gradients of captured tables of flex_backward equal FlexAttention's") {
  AttentionProblem problem;
  Matrix ours;
  int cases = 0;
  double size = 1;
  for (const std::string& line : fixture("pytorch_table_gradients.txt")) {
    std::istringstream in(line);
    std::string word, bar;
    in >> word;
    if (word == "#") continue;
    if (word == "tables") {
      CapturedTable captured;
      captured.type = ValueType::real;
      in >> captured.name;
      std::int64_t elements = 1;
      for (std::string length; in >> length && length != "|";) {
        captured.shape.push_back(std::stoll(length));
        elements *= captured.shape.back();
      }
      for (std::int64_t i = 0; i < elements; ++i) captured.reals.push_back(static_cast<float>((i * 37) % 64 - 32) / 64);
      std::string mask, text;
      std::getline(in, mask, '|');
      std::getline(in, text);
      MaskChoice choice{
          .score = text, .tables = {std::make_shared<const CapturedTable>(captured)}, .table_gradients = {captured.name}};
      if (mask.find("kv") != std::string::npos) choice.masks = {mask};
      problem = {.heads = small_heads,
                 .kv_heads = small_kv_heads,
                 .seq_q = small,
                 .seq_kv = small,
                 .head_dim = 16,
                 .dtype = DataType::fp32,
                 .pass = Pass::backward};
      const Status settled = settle_masks(choice, problem);
      REQUIRE_MESSAGE(settled, (settled ? std::string() : settled.error().sentence.text()));
      const std::unique_ptr<TileProgram> flex = program_of("flex_backward", problem);
      ours = of(run_whole(*flex, inputs_of_all_heads())).plane(0, flex->outputs().back());
      size = 1;
      for (const float value : ours.values) size = std::max(size, std::abs(static_cast<double>(value)));
      ++cases;
      continue;
    }
    CAPTURE(cases);
    CAPTURE(line);
    double number = 0;
    in >> bar >> number;
    CHECK(std::abs(static_cast<double>(ours.values[static_cast<std::size_t>(std::stoll(word))]) - number) <= 5e-5 * size);
  }
  CHECK(cases == 18);
}

}  // namespace tilescope
