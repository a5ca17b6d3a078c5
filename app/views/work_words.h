// Words for what the session works on, and for what it has to say.
#pragma once

#include <string>

#include "app/model/background/work_kind.h"
#include "app/model/state/workspace.h"

namespace tilescope {

/// "simulating", in the language in use; empty for work too short to be named.
const char* words_of(WorkKind kind);
/// The sentence of a message as the window shows it.
std::string words_of(const ControlMessage& message);

}  // namespace tilescope
