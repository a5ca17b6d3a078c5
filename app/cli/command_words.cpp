#include "app/cli/command_words.h"

#include <algorithm>
#include <cstdlib>

#include "app/ui/language.h"

namespace tilescope {

namespace {

std::string flag_of(Setting setting) {
  std::string flag = "--" + std::string(to_string(setting));
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

std::string command_words(const Sentence& sentence) {
  return sentence.text(flag_of);
}

std::string words_for_caller(const Sentence& sentence) {
  const char* id = std::getenv("TILESCOPE_LANGUAGE");
  const auto language = load_language(id != nullptr ? id : "");
  if (!language || *language == nullptr) return command_words(sentence);
  return sentence.text(flag_of, [&](const std::string& pattern) {
    const char* translated = (*language)->find(pattern);
    return translated != nullptr ? translated : pattern;
  });
}

}  // namespace tilescope
