// formula_with_numbers(): a line of each kind of operation, worked out by hand on tiles of one row or two.
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/analysis/format.h"
#include "sim/analysis/softmax_row.h"
#include "sim/numerics/tile_machine.h"
#include "sim/programs/backward_tensors.h"
#include "tests/sim/program_of.h"

namespace tilescope::formula_tests {
namespace {

using MatrixPtr = std::shared_ptr<const Matrix>;

MatrixPtr matrix(int rows, int cols, std::vector<float> values) {
  auto made = std::make_shared<Matrix>(rows, cols);
  made->values = std::move(values);
  return made;
}

/// A block of one operation: what the on-chip tiles hold before it, and what it makes.
class OneOperation final : public BlockValues {
 public:
  OneOperation(Operation operation, const std::vector<std::pair<ChipTile, MatrixPtr>>& held, MatrixPtr made)
      : made_(std::move(made)) {
    block_.operations = {operation};
    for (const auto& [chip_tile, values] : held) held_[chip_tile] = values;
  }
  int launch() const override { return 0; }
  std::int64_t block() const override { return 0; }
  const BlockOperations& operations() const override { return block_; }
  MatrixPtr value(ChipTile chip_tile, int op) const override {
    if (op >= 0 && chip_tile == block_.operations.front().dst) return made_;
    const auto found = held_.find(chip_tile);
    return found == held_.end() ? nullptr : found->second;
  }
  bool keeps_everything() const override { return true; }

 private:
  BlockOperations block_;
  std::map<ChipTile, MatrixPtr> held_;
  MatrixPtr made_;
};

Operation operation(OpKind kind, ChipTile dst, std::vector<ChipTile> src, int rows, int cols) {
  Operation op;
  op.kind = kind;
  op.dst = dst;
  op.rows = rows, op.cols = cols;
  for (std::size_t i = 0; i < src.size(); ++i) op.src[i] = src[i];
  return op;
}

std::string line(const OneOperation& block, int row = 0, int col = 0) {
  return formula_with_numbers(block, 0, row, col);
}

constexpr float minus_infinity = -HUGE_VALF;

}  // namespace

TEST_CASE("formula: what moves names its rows, its columns where keys are columns, and its bytes") {
  const auto of = [](OpKind kind, ChipTile dst, ChipTile src, Tensor tensor, int row, int rows, int col, int cols,
                     std::int64_t bytes) {
    Operation op = operation(kind, dst, {src}, rows, cols);
    op.tile = {tensor, 0, row, rows, col, cols};
    op.bytes = bytes;
    op.value = 1;
    return line(OneOperation(op, {}, nullptr));
  };
  CHECK(of(OpKind::load, tiles::k, ChipTile::none, tensors::k, 16, 16, 0, 64, 2048) == "K ← K[16…31]: 2.05 kB");
  CHECK(of(OpKind::load, tiles::s, ChipTile::none, tensors::s, 3, 1, 8, 2, 32) == "S ← S[3, 8…9]: 32 B");
  CHECK(of(OpKind::store, ChipTile::none, tiles::o, tensors::o, 0, 2, 0, 64, 256) == "O[0…1] ← O: 256 B");
  CHECK(of(OpKind::store, ChipTile::none, tiles::p, tensors::p, 4, 4, 7, 1, 128) == "P[4…7, 7] ← P: 128 B");
  CHECK(of(OpKind::reduce_add, ChipTile::none, tiles::d_q, tensors::d_q_acc, 8, 8, 0, 64, 512).ends_with("[8…15] += dQ: 512 B"));
}

TEST_CASE("formula: dS is one line, from P, dP and D, where it is multiplied and where it is copied") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 32;
  problem.head_dim = 16;
  for (const std::string_view id :
       {"flash2_backward", "flash2_backward_deterministic", "flash2_backward_two_pass", "flash1_backward", "standard_backward"}) {
    CAPTURE(id);
    const auto program = program_of(id, problem, {16, 16});
    int lines = 0;
    for (int launch = 0; launch < static_cast<int>(program->launches().size()); ++launch) {
      const auto values =
          *run_block(*program, InputSource{}, launch, 1 % program->launches()[static_cast<std::size_t>(launch)].blocks());
      const auto& all = values->operations().operations;
      for (int op = 0; op < static_cast<int>(all.size()); ++op) {
        const Operation& o = all[static_cast<std::size_t>(op)];
        if (o.kind != OpKind::multiply || !o.src[0].is(Meaning::probability) || !o.dst.tensor()->gradient) continue;
        const int subtract = op - 1;
        if (all[static_cast<std::size_t>(subtract)].kind != OpKind::subtract_rows) continue;  // P ∘ dP, of which D is the sum
        const int row = 3 % o.rows, col = 5;
        const float p = values->value(o.src[0], op)->at(row, col), d_s = values->value(o.dst, op)->at(row, col),
                    d_p = values->value(o.dst, subtract - 1)->at(row, col),
                    d = values->value(all[static_cast<std::size_t>(subtract)].src[0], subtract)->at(row, 0);
        const std::string numbers = format_value(p) + " · (" + format_value(d_p) + (d < 0 ? " + " : " − ") +
                                    format_value(std::abs(d)) + ") = " + format_value(d_s);
        const std::string expected = fmt::format("dS[{},{}] = P · (dP − D) = {}", row, col, numbers);
        CHECK(d_s == p * (d_p - d));
        CHECK(formula_with_numbers(*values, op, row, col) == expected);
        const Operation& next = all[static_cast<std::size_t>(op) + 1];
        if (next.kind == OpKind::copy) CHECK(formula_with_numbers(*values, op + 1, row, col) == expected);
        ++lines;
      }
    }
    CHECK(lines > 0);
  }
}

TEST_CASE("formula: an addition to dQ_acc has the sum before and after, as the blocks in order leave it") {
  AttentionProblem problem;
  problem.heads = 2, problem.kv_heads = 1;
  problem.seq_q = problem.seq_kv = 48;
  problem.head_dim = 16;
  problem.causal = true;
  for (const std::string_view id : {"flash2_backward", "flash2_backward_deterministic"}) {
    CAPTURE(id);
    const auto program = program_of(id, problem, {16, 16});
    std::map<std::tuple<Tensor, int, int>, float> sums;  // by plane and row, of column 2; a program can have several sums
    for (std::int64_t block = 0; block < 3; ++block) {
      const auto values = *run_block(*program, InputSource{}, 1, block);
      const auto& all = values->operations().operations;
      for (int op = 0; op < static_cast<int>(all.size()); ++op) {
        const Operation& o = all[static_cast<std::size_t>(op)];
        if (o.kind != OpKind::reduce_add) continue;
        const int row = 7, col = 2;
        const float part = values->value(o.src[0], op)->at(row, col);
        float& sum = sums[{o.tile.tensor, o.tile.plane, o.tile.row + row}];
        const std::string expected =
            fmt::format("{}[{},{}] = {}{}{} = {}", to_string(o.tile.tensor), o.tile.row + row, col, format_value(sum),
                        part < 0 ? " − " : " + ", format_value(std::abs(part)), format_value(sum + part));
        CHECK(formula_with_numbers(*values, op, row, col) == expected);
        sum += part;
      }
    }
    CHECK(sums.size() >= 6);
    for (const auto& [at, sum] : sums) {
      const auto& [tensor, plane, row] = at;
      CHECK(run_plane(*program, InputSource{}, plane, tensor)->at(row, 2) == sum);
    }
  }
}

TEST_CASE("formula: an addition whose blocks before it are too much work says only what it adds") {
  Operation op = operation(OpKind::reduce_add, ChipTile::none, {tiles::d_q_part}, 2, 2);
  op.tile = {tensors::d_q_acc, 0, 8, 2, 0, 2};
  CHECK(line(OneOperation(op, {{tiles::d_q_part, matrix(2, 2, {1, 2, 3, -4})}}, nullptr), 1, 1) == "dQ_acc[9,1] += −4");
}

TEST_CASE("formula: masks say which keys of the row are hidden: none, the last ones, or all") {
  Operation op = operation(OpKind::mask, tiles::s, {}, 3, 3);
  const MatrixPtr masked =
      matrix(3, 3, {1, 2, 3, 4, minus_infinity, minus_infinity, minus_infinity, minus_infinity, minus_infinity});
  const OneOperation block(op, {}, masked);
  CHECK(line(block, 0) == "S[0,0…2] = S[0,0…2]");
  CHECK(line(block, 1) == "S[1,1…2] = −∞");
  CHECK(line(block, 2) == "S[2,0…2] = −∞");
  CHECK(line(block, 9) == "S[2,0…2] = −∞");  // rows are clamped
  CHECK(line(block, -4) == "S[0,0…2] = S[0,0…2]");
  op.cols = 1;
  CHECK(line(OneOperation(op, {}, matrix(3, 1, {1, minus_infinity, 2})), 1) == "S[1,0] = −∞");
}

TEST_CASE("formula: products add to what was there, and a sign never follows another") {
  Operation op = operation(OpKind::matmul, tiles::o, {tiles::p, tiles::v}, 2, 2);
  op.value = 1;
  const MatrixPtr made = matrix(2, 2, {5, -7, 0, 2.5F});
  CHECK(line(OneOperation(op, {}, made), 0, 1) == "O[0,1] = Σ P·V = −7");
  op.accumulate = true;
  const MatrixPtr before = matrix(2, 2, {2, -3, 4, 2.5F});
  CHECK(line(OneOperation(op, {{tiles::o, before}}, made), 0, 0) == "O[0,0] = 2 + 3 = 5");
  CHECK(line(OneOperation(op, {{tiles::o, before}}, made), 0, 1) == "O[0,1] = −3 − 4 = −7");
  CHECK(line(OneOperation(op, {{tiles::o, before}}, made), 1, 0) == "O[1,0] = 4 − 4 = 0");
  CHECK(line(OneOperation(op, {{tiles::o, before}}, made), 1, 1) == "O[1,1] = 2.5 + 0 = 2.5");
  CHECK(line(OneOperation(op, {{tiles::o, before}}, made), 5, 7) == "O[1,1] = 2.5 + 0 = 2.5");
  op.accumulate = false;
  op.value = 0.25F;
  CHECK(line(OneOperation(op, {}, made), 0, 0) == "O[0,0] = τ Σ P·V = 0.25 · 20 = 5");
  CHECK(line(OneOperation(op, {}, made), 0, 1) == "O[0,1] = τ Σ P·V = 0.25 · (−28) = −7");
}

TEST_CASE("formula: statistics of a row are those of its own row, with and without what came before") {
  const MatrixPtr s = matrix(2, 3, {1, 5, -2, -7, -8, -9}), old = matrix(2, 1, {9, -20});
  const auto largest = matrix(2, 1, {9, -7});
  CHECK(line(OneOperation(operation(OpKind::row_max, tiles::m_new, {tiles::m, tiles::s}, 2, 1), {{tiles::m, old}, {tiles::s, s}},
                          largest),
             0) == "m′ = max(9, 5) = 9");
  CHECK(line(OneOperation(operation(OpKind::row_max, tiles::m_new, {tiles::m, tiles::s}, 2, 1), {{tiles::m, old}, {tiles::s, s}},
                          largest),
             1) == "m′ = max(−20, −7) = −7");
  CHECK(line(OneOperation(operation(OpKind::row_max, tiles::m_tile, {ChipTile::none, tiles::s}, 2, 1), {{tiles::s, s}}, largest),
             1) == "m̃ = max S = −7");
  const MatrixPtr p = matrix(2, 3, {1, 2, 3, 0.5F, 0.25F, 0}), l = matrix(2, 1, {10, 4}), alpha = matrix(2, 1, {0.5F, 2});
  const MatrixPtr sums = matrix(2, 1, {16, 4.75F});
  CHECK(line(OneOperation(operation(OpKind::row_sum, tiles::l_tile, {ChipTile::none, tiles::p}, 2, 1), {{tiles::p, p}},
                          matrix(2, 1, {6, 0.75F})),
             1) == "l̃ = Σ P = 0.75");
  CHECK(line(OneOperation(operation(OpKind::row_sum, tiles::l, {tiles::l, tiles::p}, 2, 1), {{tiles::l, l}, {tiles::p, p}}, sums),
             0) == "l = 10 + 6 = 16");
  const OneOperation rescaled(operation(OpKind::row_sum, tiles::l, {tiles::l, tiles::p, tiles::alpha}, 2, 1),
                              {{tiles::l, l}, {tiles::p, p}, {tiles::alpha, alpha}}, matrix(2, 1, {11, 8.75F}));
  CHECK(line(rescaled, 0) == "l = 0.5 · 10 + 6 = 11");
  CHECK(line(rescaled, 1) == "l = 2 · 4 + 0.75 = 8.75");
  CHECK(line(OneOperation(operation(OpKind::log_sum_exp, tiles::lse, {tiles::m, tiles::l}, 2, 1), {{tiles::m, old}, {tiles::l, l}},
                          matrix(2, 1, {11.3F, -18.61F})),
             1) == "L = −20 + ln 4 = −18.61");
  CHECK(line(OneOperation(
                 operation(OpKind::merge, tiles::l_new, {tiles::alpha, tiles::l, tiles::beta, tiles::l_tile}, 2, 1),
                 {{tiles::alpha, alpha}, {tiles::l, l}, {tiles::beta, matrix(2, 1, {1, 3})}, {tiles::l_tile, matrix(2, 1, {2, 5})}},
                 matrix(2, 1, {7, 23})),
             0) == "l′ = 0.5 · 10 + 1 · 2 = 7");
}

TEST_CASE("formula: elements by elements, and rows by their number") {
  const MatrixPtr a = matrix(2, 2, {1, -2, 3, 4}), b = matrix(2, 2, {-5, 6, -7, -8}), column = matrix(2, 1, {0.5F, -2});
  const auto of = [&](OpKind kind, ChipTile dst, std::vector<ChipTile> src, const std::vector<std::pair<ChipTile, MatrixPtr>>& held,
                      std::vector<float> made, int row, int col) {
    return line(OneOperation(operation(kind, dst, std::move(src), 2, 2), held, matrix(2, 2, std::move(made))), row, col);
  };
  CHECK(of(OpKind::exp, tiles::p, {tiles::s, tiles::m}, {{tiles::s, a}, {tiles::m, column}}, {1, 0.0821F, 148, 403}, 0, 1) ==
        "P[0,1] = e^(−2 − 0.5) = 0.0821");
  CHECK(of(OpKind::exp, tiles::p, {tiles::s, tiles::m}, {{tiles::s, a}, {tiles::m, column}}, {1, 0.0821F, 148, 403}, 1, 0) ==
        "P[1,0] = e^(3 + 2) = 148");
  CHECK(of(OpKind::rescale, tiles::o, {tiles::alpha}, {{tiles::o, a}, {tiles::alpha, column}}, {0.5F, -1, -6, -8}, 1, 1) ==
        "O[1,1] = −2 · 4 = −8");
  CHECK(of(OpKind::rescale, tiles::o, {tiles::l, tiles::alpha}, {{tiles::o, a}, {tiles::l, column}, {tiles::alpha, column}},
           {0.25F, -0.5F, 12, 16}, 1, 1) == "O[1,1] = −2 · (−2) · 4 = 16");
  CHECK(of(OpKind::divide, tiles::o, {tiles::l}, {{tiles::o, a}, {tiles::l, column}}, {2, -4, -1.5F, -2}, 0, 1) ==
        "O[0,1] = −2 / 0.5 = −4");
  CHECK(of(OpKind::divide, tiles::o, {tiles::l}, {{tiles::o, a}, {tiles::l, matrix(2, 1, {1, 0})}}, {1, -2, 0, 0}, 1, 0) ==
        "O[1,0] = 0, as l = 0");
  CHECK(of(OpKind::add, tiles::o, {tiles::pv}, {{tiles::o, a}, {tiles::pv, b}}, {-4, 4, -4, -4}, 0, 0) == "O[0,0] = 1 − 5 = −4");
  CHECK(of(OpKind::add, tiles::o, {tiles::pv}, {{tiles::o, a}, {tiles::pv, b}}, {-4, 4, -4, -4}, 0, 1) == "O[0,1] = −2 + 6 = 4");
  CHECK(of(OpKind::multiply, tiles::d_s, {tiles::p}, {{tiles::d_s, a}, {tiles::p, b}}, {-5, -12, -21, -32}, 0, 0) ==
        "dS[0,0] = 1 · (−5) = −5");
  CHECK(of(OpKind::subtract_rows, tiles::d_s, {tiles::l}, {{tiles::d_s, a}, {tiles::l, column}}, {0.5F, -2.5F, 5, 6}, 1, 0) ==
        "dS[1,0] = 3 + 2 = 5");
  CHECK(of(OpKind::copy, tiles::o, {tiles::pv}, {{tiles::pv, b}}, {-5, 6, -7, -8}, 1, 0) == "O[1,0] = PV = −7");
  CHECK(of(OpKind::modify, tiles::s, {}, {{tiles::s, a}}, {2, 3, 4, 5}, 0, 1) == "S[0,1] = f(−2) = 3");
  CHECK(of(OpKind::slope, tiles::d_s, {tiles::s}, {{tiles::s, a}}, {2, 3, 4, 5}, 1, 1) == "dS[1,1] = f′(4) = 5");
  Operation fill = operation(OpKind::fill, tiles::o, {}, 2, 2);
  fill.value = -1.5F;
  CHECK(line(OneOperation(fill, {}, nullptr)) == "O = −1.5");
  CHECK(line(OneOperation(operation(OpKind::barrier, ChipTile::none, {}, 1, 1), {}, nullptr)).empty());
  CHECK(line(OneOperation(operation(OpKind::exp_rows, tiles::alpha, {tiles::m, tiles::m_new}, 2, 1),
                          {{tiles::m, column}, {tiles::m_new, matrix(2, 1, {1, -2})}}, matrix(2, 1, {0.607F, 1})),
             0) == "α = e^(0.5 − 1) = 0.607");
}

}  // namespace tilescope::formula_tests
