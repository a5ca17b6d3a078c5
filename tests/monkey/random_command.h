// Draws any command that a panel may ask for, with ordinary, stale and impossible values.
#pragma once

#include <string>

#include "app/model/session/session_view.h"
#include "app/model/state/commands.h"
#include "tests/monkey/random.h"

namespace tilescope {

/// Draws one command. A command that this file does not know is drawn with its default values. `usual_gpu` is the GPU that most
/// commands about GPUs name.
Command random_command(Random& random, const SessionView& view, const std::string& usual_gpu);
/// Names the command's kind for the list of a failing sequence.
std::string describe(const Command& command);

}  // namespace tilescope
