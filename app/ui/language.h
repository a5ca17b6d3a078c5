// Language: what tr() answers with. English texts are the keys; a file of assets/lang maps them to another language.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/result.h"

namespace tilescope {

/// Text a person reads, in the language in use; the English text is the key.
const char* tr(const char* english);

class Language {
 public:
  /// Reads a language file: `name`, and a table [text] of English to translated strings.
  /// Errors  not TOML, no name, an entry that is not a string or has other {} fields than its key.
  static Result<std::shared_ptr<const Language>> parse(std::string_view toml_text, std::string_view origin);

  /// The translation, or nullptr.
  const char* find(std::string_view english) const;
  const std::string& name() const { return name_; }
  const std::map<std::string, std::string, std::less<>>& texts() const { return texts_; }

 private:
  std::string name_;
  std::map<std::string, std::string, std::less<>> texts_;
};

/// What tr() uses from now on; nullptr is English. The only setting of the program that is not passed along: every text asks for
/// it.
void use_language(std::shared_ptr<const Language> language);
const Language* language_in_use();

/// Loads assets/lang/<id>.toml; "en" is nullptr.
/// Errors  no such file: names the id.
Result<std::shared_ptr<const Language>> load_language(const std::string& id);
/// "en" and the ids of the files that are there.
std::vector<std::string> available_languages();

}  // namespace tilescope
