// Puts the structs of all expressions together.
#include "sim/masks/kernel_source.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/masks/cuda_source.h"
#include "sim/masks/kernel_struct.h"
#include "sim/masks/split_remainders.h"

namespace tilescope {

namespace {

std::vector<KernelSourceLine> written_mask(const Expression* mask, CapturedArguments& captured) {
  if (mask == nullptr) return written_struct(KernelStruct::mask, nullptr, captured);
  const Expression split = split_remainders(*mask);
  return written_struct(KernelStruct::mask, &split, captured);
}

std::string_view reach_text(TableReach reach) {
  static constexpr std::string_view names[table_reach_count] = {"head", "query", "key", "distance", "pair"};
  return names[static_cast<std::size_t>(reach)];
}

/// Writes the structs of all reads. Their indices and factors are functions of an element: a block needs few of the first, and the
/// second are mostly short.
std::vector<KernelSourceLine> written_reads(std::span<const TableGradient> gradients, bool has_slope, CapturedArguments& captured) {
  std::vector<KernelSourceLine> lines;
  const auto add = [&](std::string line, std::uint32_t column = 0) { lines.push_back({std::move(line), column}); };
  std::string names;
  std::size_t number = 0, weight = 0;
  for (std::size_t table = 0; table < gradients.size(); ++table)
    for (const TableRead& read : gradients[table].reads) {
      const auto function = [&](std::string_view what, const Expression& expression) {
        const std::string name = fmt::format("flex_{}_{}", what, number);
        std::string source = cuda_source(expression, name);
        for (std::size_t at = 0, end = 0; at < source.size(); at = end + 1) {
          end = std::min(source.find('\n', at), source.size());
          add(source.substr(at, end - at), read.column);
        }
        std::string arguments;
        for (std::size_t n = 0; n < expression.tables.size(); ++n) {
          arguments += expression.reads_table(n) ? fmt::format(", static_cast<{} const*>(x.arguments.tables[{}])",
                                                               expression.tables[n]->type == ValueType::real ? "float" : "int",
                                                               captured.table(expression.tables[n]))
                                                 : ", nullptr";
        }
        return fmt::format(
            "{}({}, x.b, x.h, q, kv, ExprSizes{{x.arguments.batch, x.arguments.heads, x.arguments.kv_heads, "
            "x.arguments.seq_q, x.arguments.seq_kv, x.arguments.head_dim}}{})",
            name, what == "factor" ? "score" : "0.0f", arguments);
      };
      const std::string index = function("index", read.index), flat = function("flat", read.unbounded_index());
      const std::string factor = read.factor ? function("factor", read.used_factor()) : "1.0f";
      const bool weighed = read.factor && (has_slope || (read.factor->dependence() & depends_on_score) != 0);
      const bool rises = read.reach == TableReach::key ? read.per_key > 0 : read.per_query > 0;
      add(fmt::format("struct FlexRead{} {{", number));
      add(fmt::format("  static constexpr TableReach reach = TableReach::{};", reach_text(read.reach)), read.column);
      add(fmt::format("  static constexpr int table = {}, number = {}, weight = {};", table, number, weight));
      add(fmt::format("  static constexpr bool has_factor = {}, weighed = {}, rises = {}, along_queries = {}, in_order = {};",
                      read.factor && !weighed, weighed, rises, read.is_flipped(), gradients[table].in_order));
      add(fmt::format("  static __device__ __forceinline__ int index(const FlexPlace& x, int q, int kv) {{ return {}; }}", index));
      add(fmt::format("  static __device__ __forceinline__ int flat(const FlexPlace& x, int q, int kv) {{ return {}; }}", flat));
      add(fmt::format(
          "  static __device__ __forceinline__ float factor(const FlexPlace& x, float score, int q, int kv) {{ return {}; }}",
          factor));
      add("};");
      names += fmt::format("{}FlexRead{}", number == 0 ? "" : ", ", number);
      ++number;
      weight += weighed;
    }
  if (number > 0) add(fmt::format("using FlexReads = TableReads<{}>;", names));
  return lines;
}

}  // namespace

std::string_view to_string(KernelLevel level) {
  switch (level) {
    case KernelLevel::constant:
      return "constant";
    case KernelLevel::uniform:
      return "block";
    case KernelLevel::row:
      return "row";
    case KernelLevel::column:
      return "column";
    case KernelLevel::element:
      break;
  }
  return "element";
}

KernelSource kernel_source(const Expression* mask, const Expression* score) {
  KernelSource source;
  CapturedArguments captured(source);
  source.score = written_struct(KernelStruct::score, score, captured);
  source.mask = written_mask(mask, captured);
  return source;
}

KernelSource backward_kernel_source(const Expression* mask, const Expression* score, const Expression* slope,
                                    std::span<const TableGradient> gradients) {
  KernelSource source;
  CapturedArguments captured(source);
  source.score = written_struct(KernelStruct::score, score, captured);
  source.mask = written_mask(mask, captured);
  captured.share();
  source.slope = written_struct(KernelStruct::slope, slope, captured);
  source.table_reads = written_reads(gradients, slope != nullptr, captured);
  return source;
}

std::string KernelSource::text() const {
  std::string text;
  for (const auto* lines : {&score, &mask, &slope, &table_reads})
    for (const KernelSourceLine& line : *lines) text += line.text + '\n';
  return text;
}

}  // namespace tilescope
