// Fuzzes the language of masks and score changes: parser, both evaluators, analysis, derivative, printer; and tables from .npy.
#include <memory>
#include <string_view>

#include "sim/masks/cuda_source.h"
#include "sim/masks/derivative.h"
#include "sim/masks/evaluate.h"
#include "sim/masks/interval_analysis.h"
#include "sim/masks/row_evaluator.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace tilescope;

constexpr ExprSizes sizes = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 24, .seq_kv = 40, .head_dim = 64};

const TableList& tables() {
  static const TableList list = [] {
    CapturedTable pair;
    pair.name = "pair";
    pair.shape = {4, 3};
    pair.type = ValueType::real;
    for (int i = 0; i < 12; ++i) pair.reals.push_back(static_cast<float>(i) / 4 - 1);
    std::vector<std::int32_t> documents(40);
    for (std::size_t i = 0; i < documents.size(); ++i) documents[i] = static_cast<std::int32_t>(i / 9);
    return TableList{std::make_shared<const CapturedTable>(make_table("doc", documents)),
                     std::make_shared<const CapturedTable>(pair)};
  }();
  return list;
}

void check_mask(const Expression& expression) {
  ExpressionEvaluator<float> reference(expression);
  RowEvaluator rows(expression);
  IntervalAnalysis analysis(expression, ranges_of(expression.tables));
  rows.set_plane(1, 3);
  rows.set_keys(4, 9);
  analysis.set_plane(1, 3);
  const IntervalAnalysis::Verdict verdict = analysis({5, 3}, {4, 9});
  for (std::int64_t q = 5; q < 8; ++q) {
    const auto row = rows.conditions(q);
    for (std::int64_t kv = 4; kv < 13; ++kv) {
      const ExprValue<float> value = reference({1, 3, q, kv});
      if (value.fault) {
        fuzz_check_sentence(reference.fault({1, 3, q, kv}).text());
        fuzz_check(verdict.can_fault, "the analysis knows of every fault");
        continue;
      }
      if (!verdict.can_fault) fuzz_check(value.integer != 0 ? verdict.can_hold : verdict.can_fail, "the analysis is never wrong");
      if (!row.empty()) fuzz_check(row[static_cast<std::size_t>(kv - 4)] == value.integer, "both evaluators agree");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.starts_with("\x93NUMPY")) {
    const auto table = parse_npy_table("t", text, "fuzz.npy");
    if (!table) fuzz_check_sentence(table.error().sentence.text());
    if (table)
      fuzz_check(table->elements() >= 1 && !table->shape.empty() && table->shape.size() <= 4, "a table has elements and a shape");
    return 0;
  }
  const auto mask = parse_mask_expression(text, sizes, tables());
  if (mask) {
    check_mask(*mask);
    fuzz_check(
        static_cast<bool>(parse_mask_expression(to_text(*mask), sizes, tables())) || to_text(*mask).size() > most_expression_bytes,
        "printed text parses");
    fuzz_check(!cuda_source(*mask, "mask").empty(), "there is CUDA text");
  } else {
    fuzz_check_sentence(mask.error().sentence.text());
  }
  const auto score = parse_score_expression(text, sizes, tables());
  if (!score) {
    fuzz_check_sentence(score.error().sentence.text());
    return 0;
  }
  const Expression derivative = derivative_by_score(*score);
  ExpressionEvaluator<double> value(*score), slope(derivative);
  value({1, 3, 20, 30}, 0.5);
  slope({1, 3, 20, 30}, 0.5);
  return 0;
}
