// The suite: which kernels are measured on which problems, and which of these the time model may be developed on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/attention_problem.h"
#include "sim/core/result.h"

namespace tilescope {

struct SuiteCase {
  std::string kernel;
  AttentionProblem problem;
  std::string list;  // "build": for developing the time model; "judge": kept for judging it

  bool operator==(const SuiteCase&) const = default;
};

/// Our own: every kernel, N from 128 to 65536, ragged, causal, grouped heads, both types and head dimensions.
const std::vector<SuiteCase>& default_suite();

/// One case a line: kernel batch heads kv_heads seq_q seq_kv head_dim fp16|bf16 full|causal build|judge. '#' starts a comment.
/// Errors  a line that is not such a case, or that its kernel does not take; no case at all: names the line.
Result<std::vector<SuiteCase>> suite_from_text(std::string_view text);
std::string to_text(const SuiteCase& one);

}  // namespace tilescope
