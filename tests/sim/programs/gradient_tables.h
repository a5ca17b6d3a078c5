// Captured tables whose gradients the tests take, one for each kind of index.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/masks/captured_table.h"

namespace tilescope {

/// Returns tables of floats around 0, filled by a rule: those that `score` reads, or all if it is empty.
inline TableList gradient_tables(const AttentionProblem& p, std::string_view score = {}) {
  const std::int64_t distances = p.seq_q + p.seq_kv - 1;
  const std::pair<std::string, std::vector<std::int64_t>> shapes[] = {{"slope", {p.heads}},
                                                                      {"row", {p.seq_q}},
                                                                      {"column", {p.heads, p.seq_kv}},
                                                                      {"relative", {distances}},
                                                                      {"far", {p.heads, distances}},
                                                                      {"pair", {p.heads, p.seq_q, p.seq_kv}},
                                                                      {"flipped", {p.seq_kv, p.seq_q}},
                                                                      {"small", {9}},
                                                                      {"by_head", {distances, p.heads}}};
  TableList tables;
  int n = 0;
  for (const auto& [name, shape] : shapes) {
    if (!score.empty() && score.find(name + "[") == std::string_view::npos) continue;
    CapturedTable table;
    table.name = name;
    table.type = ValueType::real;
    table.shape = shape;
    std::int64_t count = 1;
    for (const std::int64_t length : shape) count *= length;
    for (std::int64_t i = 0; i < count; ++i) table.reals.push_back(static_cast<float>(0.5 * std::sin(1.7 * ++n)));
    tables.push_back(std::make_shared<const CapturedTable>(std::move(table)));
  }
  return tables;
}

}  // namespace tilescope
