// Language: the table behind tr(). Keys are the English texts; assets/lang/<id>.toml has the translations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
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

  /// Returns the translation, or nullptr.
  const char* find(std::string_view english) const;
  const std::string& name() const { return name_; }
  /// Finds a text without making a string of it: the window asks for every text of every frame.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Texts = std::unordered_map<std::string, std::string, TextHash, std::equal_to<>>;
  const Texts& texts() const { return texts_; }

 private:
  std::string name_;
  Texts texts_;
};

/// Sets the language of tr(); nullptr is English. This is the only global setting, because every text needs it.
void use_language(std::shared_ptr<const Language> language);
const Language* language_in_use();

/// Loads assets/lang/<id>.toml; "en" is nullptr.
/// Errors  no such file: names the id.
Result<std::shared_ptr<const Language>> load_language(const std::string& id);
/// Returns `text` in the language that TILESCOPE_LANGUAGE names, or as it is. The window sets that for the exports that it starts,
/// and shows what they refuse.
std::string in_language_of_window(const std::string& text);
/// Returns "en" and the ids of the installed files.
std::vector<std::string> available_languages();

}  // namespace tilescope
