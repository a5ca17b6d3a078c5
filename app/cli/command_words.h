// command_words(): a refusal of the model with the command line's flags in it.
#pragma once

#include <string>

#include "sim/core/sentence.h"

namespace tilescope {

/// "block_kv is 4097: it must be 1 to 4096" becomes "--block-kv is 4097: it must be 1 to 4096".
std::string command_words(const Sentence& sentence);

}  // namespace tilescope
