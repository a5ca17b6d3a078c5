// MaskChoice: masks and a change of scores as a person asks for them, in text, and settle_masks(), which makes them for a problem.
//
//   masks, presets, score, tables ──settle_masks()──► AttentionProblem::mask, AttentionProblem::score_change
//
// A mask belongs to its sizes. The text does not: a choice stays what it is when a sweep or a slider changes N.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/mask.h"
#include "sim/core/result.h"
#include "sim/masks/captured_table.h"

namespace tilescope {

struct MaskChoice {
  std::vector<std::string> masks;            // conditions that must all hold
  std::vector<std::string> presets;          // "sliding_window:window=256": masks, or a change of scores
  std::string score;                         // what replaces each score; empty: nothing does
  TableList tables;                          // what these read by name
  std::vector<std::string> table_gradients;  // "bias", "bias:in_order": tables that a backward pass makes the gradients of

  bool empty() const { return masks.empty() && presets.empty() && score.empty(); }
  /// Tables are compared by what is in them: one that was read again is the same.
  bool operator==(const MaskChoice& other) const;
};

/// What cannot be read of a choice: which of its texts, and why.
struct MaskFault {
  Setting where = Setting::mask;  // mask, preset or score
  std::size_t index = 0;          // among the masks, or among the presets
  std::string text;               // as typed; empty where the error names it
  Error error;                    // names a column of the expression where there is one
};

/// Parses a choice without looking at elements, which takes less than a millisecond for any expression of usual length.
std::optional<MaskFault> find_mask_fault(const MaskChoice& choice, const AttentionProblem& problem);

/// Returns the fault as one sentence: "mask 'q - kw': column 5: unknown name 'kw': did you mean kv?"
Error error_of(const MaskFault& fault);

/// Gives `problem` the mask and the score change of `choice`. All masks must hold, and `causal` is one of them. An empty choice
/// leaves the problem as it is.
/// Errors  what find_mask_fault() finds; two changes of scores; an index outside a table, with its element; a mask that the
///         analysis decides too little of; cancelled
Status settle_masks(const MaskChoice& choice, AttentionProblem& problem, const MaskScope& scope = {});

}  // namespace tilescope
