// command_words(): a refusal of the model with the command line's flags in it.
#pragma once

#include <functional>
#include <string>

#include "sim/core/sentence.h"

namespace tilescope {

/// "block_kv is 4097: it must be 1 to 4096" becomes "--block-kv is 4097: it must be 1 to 4096".
/// `translate`, where given, returns a pattern in another language.
std::string command_words(const Sentence& sentence, const std::function<std::string(const std::string&)>& translate = nullptr);

}  // namespace tilescope
