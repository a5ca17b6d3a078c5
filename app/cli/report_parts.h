// What the table and the JSON of `simulate` both say.
#pragma once

#include <optional>
#include <string>

#include "app/cli/report.h"
#include "sim/masks/block_mask.h"
#include "sim/masks/captured_table.h"

namespace tilescope {

/// The expression of a problem's mask; empty where the mask is none of those.
std::string mask_expression_text(const AttentionProblem& problem);
/// The tables that mask and score read element by element, which the model leaves out.
TableList tables_left_out(const Simulation& simulation);
Bytes table_bytes(const CapturedTable& table);
/// The blocks of the mask of a request: those of the lists of flex, and for other programs those that its lists would have.
std::optional<BlockMask> masked_blocks(const Simulation& simulation);
double tflops_of(const Simulation& simulation);
/// The run at its clock under load where one is known.
const Simulation& timed_of(const Simulation& simulation, const RunsBeside& beside);

}  // namespace tilescope
