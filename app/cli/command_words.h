// command_words(), words_for_caller(): a refusal of the model with the command line's flags in it.
#pragma once

#include <string>

#include "sim/core/sentence.h"

namespace tilescope {

/// "block_kv is 4097: it must be 1 to 4096" becomes "--block-kv is 4097: it must be 1 to 4096".
std::string command_words(const Sentence& sentence);

/// The same in the language that TILESCOPE_LANGUAGE names: the window sets it for its exports, and shows what they refuse.
std::string words_for_caller(const Sentence& sentence);

}  // namespace tilescope
