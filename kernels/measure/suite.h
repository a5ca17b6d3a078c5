// The suite: kernels and problems to measure, and which of them may be used to develop the time model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/result.h"

namespace tilescope {

struct SuiteCase {
  std::string kernel;
  AttentionProblem problem;          // without the mask of `presets`: settled_problem() has it
  std::vector<std::string> presets;  // "sliding_window:window=256": masks, or a change of scores
  std::string list;                  // "build": to develop the time model; "judge": held out to validate it

  bool operator==(const SuiteCase&) const = default;
};

/// Returns the problem that a case runs, with its mask and its change of scores.
/// Errors  a preset that cannot be
Result<AttentionProblem> settled_problem(const SuiteCase& one);

/// Returns the built-in suite: every kernel, N from 128 to 65536, ragged, causal, grouped heads, both types and head dimensions.
const std::vector<SuiteCase>& default_suite();
/// Returns its cases of one pass.
std::vector<SuiteCase> default_suite(Pass pass);
/// Returns the whole of it for "default", its cases of one pass for "forward" and "backward", and nothing for another name.
std::optional<std::vector<SuiteCase>> built_in_suite(std::string_view name);

/// Parses one case a line: kernel batch heads kv_heads seq_q seq_kv head_dim fp16|bf16 mask build|judge. '#' is a comment.
/// The mask is "full", "causal", or presets joined by '+': "causal+softcap:cap=20". K and V in pages are a last word: "pages=64" or
/// "pages=64,contiguous".
/// Errors  `origin`, the line's number, and what is wrong; a preset that reads a table, which a suite cannot hold
Result<std::vector<SuiteCase>> suite_from_text(std::string_view text, std::string_view origin = {});
std::string to_text(const SuiteCase& one);

}  // namespace tilescope
