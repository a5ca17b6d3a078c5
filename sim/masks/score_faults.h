// score_faults(): says which rows of O a change of scores can turn into NaN.
#pragma once

#include "sim/core/sentence.h"
#include "sim/masks/expression.h"

namespace tilescope {

/// Returns one sentence: that a score is infinite or NaN for all elements, or where the logarithm or the root of a score is taken
/// that may be negative. Empty where neither is so. Scores of -inf are hidden, as by a mask, and harm nothing. Leaves out  a
/// division by what may be 0, and NaN in tables
Sentence score_faults(const Expression& score);

}  // namespace tilescope
