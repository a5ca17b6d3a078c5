#include "app/cli/command_words.h"

#include <algorithm>

namespace tilescope {

std::string command_words(const Sentence& sentence) {
  return sentence.text([](Setting setting) {
    std::string flag = "--" + std::string(to_string(setting));
    std::replace(flag.begin(), flag.end(), '_', '-');
    return flag;
  });
}

}  // namespace tilescope
