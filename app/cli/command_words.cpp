// Replaces settings by flags.
#include "app/cli/command_words.h"

#include <algorithm>

namespace tilescope {

namespace {

std::string flag_of(Setting setting) {
  std::string flag = "--" + std::string(to_string(setting));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

std::string command_words(const Sentence& sentence, const std::function<std::string(const std::string&)>& translate) {
  return sentence.text(flag_of, translate);
}

}  // namespace tilescope
