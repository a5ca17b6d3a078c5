// Decks as TOML: a line of a link is the unit that errors name.
#include "app/model/state/deck.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::string_view deck_schema_start = "tilescope.deck/";
constexpr int schema_number = 1;
constexpr std::size_t longest_text = 20000;

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Reads one deck; the first thing that is wrong ends it.
class DeckReader {
 public:
  DeckReader(std::string_view origin, const FindLesson& find_lesson) : origin_(printable(origin, 100)), find_lesson_(find_lesson) {}

  Result<Deck> read(const toml::table& table) {
    Deck deck;
    if (auto wrong = schema(table)) return *wrong;
    for (const auto& [key, node] : table) {
      if (key == "title") {
        if (!take_words(printable(key), node, deck.title, true)) return *error_;
      } else if (key == "scene") {
        if (!scenes(node, deck.scenes)) return *error_;
      } else if (key != "schema") {
        return unknown(key, node, phrase("a deck"), {"title", "scene"});
      }
    }
    if (deck.scenes.empty()) return refuse("{}, line 1: the deck has no scene: begin one with [[scene]]", origin_);
    return deck;
  }

 private:
  Error at(const toml::node& node, const Sentence& what) const {
    return refuse("{}, line {}: {}", origin_, node.source().begin.line, what);
  }
  Error unknown(std::string_view key, const toml::node& node, const Sentence& of,
                std::initializer_list<std::string_view> names) const {
    return at(node, phrase("{} has no '{}': {}", of, printable(key),
                           name_hint(key, std::span<const std::string_view>(names.begin(), names.size()))));
  }
  bool fail(Error error) {
    error_ = std::move(error);
    return false;
  }

  std::optional<Error> schema(const toml::table& table) const {
    const toml::node* node = table.get("schema");
    const auto text = node != nullptr ? node->value<std::string_view>() : std::nullopt;
    if (!text || !text->starts_with(deck_schema_start))
      return refuse("{}, line 1: this is no deck: one begins with schema = \"{}{}\"", origin_, deck_schema_start, schema_number);
    const std::string_view digits = text->substr(deck_schema_start.size());
    int number = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (code != std::errc() || end != digits.data() + digits.size() || number < 1)
      return at(*node, phrase("'{}' is no schema: write {}{}", printable(*text), deck_schema_start, schema_number));
    if (number > schema_number)
      return at(*node, phrase("the deck is of a newer TileScope ({}): this one reads {}{}", printable(*text), deck_schema_start,
                              schema_number));
    return std::nullopt;
  }

  bool take(const Sentence& what, const toml::node& node, std::string& into) {
    const auto text = node.value_exact<std::string>();
    if (!text) return fail(at(node, phrase("{} must be a text in quotes", what)));
    if (text->size() > longest_text)
      return fail(at(node, phrase("{} has {} bytes: at most {} are taken", what, text->size(), longest_text)));
    const auto control =
        std::ranges::find_if(*text, [](unsigned char c) { return (c < ' ' && c != '\n' && c != '\t') || c == 0x7F; });
    if (control != text->end())
      return fail(at(node, phrase("{} has the control character {}: take it out", what, static_cast<int>(*control))));
    into = *text;
    return true;
  }

  /// Takes a text that must say something, or, where it may be empty, nothing.
  bool take_words(const Sentence& what, const toml::node& node, std::string& into, bool may_be_empty) {
    if (!take(what, node, into)) return false;
    if (!is_blank(into) || (may_be_empty && into.empty())) return true;
    return fail(at(node, phrase("{} is blank: write it, or leave it out", what)));
  }

  bool scenes(const toml::node& node, std::vector<Scene>& into) {
    const toml::array* list = node.as_array();
    if (list == nullptr) return fail(at(node, phrase("scenes are tables: begin each with [[scene]]")));
    if (list->size() > most_scenes)
      return fail(at(node, phrase("there are {} scenes: at most {} are taken", list->size(), most_scenes)));
    for (const toml::node& each : *list) {
      const toml::table* table = each.as_table();
      if (table == nullptr) return fail(at(each, phrase("scenes are tables: begin each with [[scene]]")));
      if (!scene(*table, into.emplace_back())) return false;
    }
    return true;
  }

  bool scene(const toml::table& table, Scene& into) {
    ClassQuestion question;
    bool asked = false, linked = false;
    for (const auto& [key, node] : table) {
      if (key == "title" || key == "notes") {
        if (key == "title" ? !take_words("title", node, into.title, true) : !take("notes", node, into.notes)) return false;
      } else if (key == "link") {
        if (!link(node, into.state)) return false;
        linked = true;
      } else if (key == "lesson") {
        if (!page(node, into.lesson)) return false;
      } else if (key == "steps") {
        if (!steps(node, into.steps)) return false;
      } else if (key == "question") {
        if (!take_words("question", node, question.text, false)) return false;
        asked = true;
      } else if (key == "choices") {
        if (!choices(node, question.choices)) return false;
      } else if (key == "answer") {
        const auto answer = node.value_exact<std::int64_t>();
        if (!answer || *answer < 1 || *answer > static_cast<std::int64_t>(most_choices))
          return fail(at(node, phrase("answer must be the number of a choice, 1 first")));
        question.answer = static_cast<int>(*answer);
      } else if (key == "raised") {
        const auto raised = node.value_exact<bool>();
        if (!raised) return fail(at(node, phrase("raised must be true or false")));
        into.raised = *raised;
      } else {
        return fail(unknown(key, node, phrase("a scene"),
                            {"title", "link", "lesson", "notes", "steps", "question", "choices", "answer", "raised"}));
      }
    }
    if (!linked && !into.lesson) return fail(at(table, phrase("a scene needs a link, or a lesson such as \"01-why-memory:2\"")));
    if (into.lesson && !settle_page(*table.get("lesson"), *into.lesson, linked)) return false;
    if (!asked && (!question.choices.empty() || question.answer != 0)) return fail(at(table, phrase("choices need a question")));
    if (asked && question.answer > static_cast<int>(question.choices.size()))
      return fail(at(table, phrase("answer is {}, and there are {} choices", question.answer, question.choices.size())));
    if (into.raised && !asked && !into.lesson) return fail(at(table, phrase("raised needs a question, or a lesson's page")));
    if (asked) into.question = std::move(question);
    return true;
  }

  bool link(const toml::node& node, WindowState& into) {
    const auto text = node.value_exact<std::string>();
    if (!text) return fail(at(node, phrase("link must be a text in quotes")));
    auto state = read_link(*text);
    if (!state) return fail(at(node, state.error().sentence));
    into = std::move(*state);
    return true;
  }

  bool page(const toml::node& node, std::optional<ScenePage>& into) {
    const auto text = node.value_exact<std::string>();
    const std::size_t colon = text ? text->rfind(':') : std::string::npos;
    std::size_t number = 0;
    if (colon != std::string::npos) {
      const char* const end = text->data() + text->size();
      const auto [stop, code] = std::from_chars(text->data() + colon + 1, end, number);
      if (code != std::errc() || stop != end) number = 0;
    }
    if (number == 0 || is_blank(text->substr(0, colon)))
      return fail(at(node, phrase("lesson must be a page such as \"01-why-memory:2\"")));
    into = ScenePage{text->substr(0, colon), number - 1};
    return true;
  }

  /// A link stands in for a lesson that another machine has, but not for a page that the lesson lacks.
  bool settle_page(const toml::node& node, ScenePage& page, bool linked) {
    if (!find_lesson_) return true;
    Result<NamedLesson> found = find_lesson_(page.lesson);
    if (!found) return linked || fail(at(node, found.error().sentence));
    if (page.page >= found->pages)
      return fail(at(node, phrase("there is no page {}: lesson {} has {}", page.page + 1, printable(page.lesson), found->pages)));
    if (found->check)
      if (const Status opens = found->check(page.page); !opens) return fail(at(node, opens.error().sentence));
    page.lesson = std::move(found->id);
    return true;
  }

  bool steps(const toml::node& node, std::optional<StepRange>& into) {
    const auto text = node.value_exact<std::string>();
    into = text ? step_range_from(*text) : std::nullopt;
    return into || fail(at(node, phrase("steps must be a range such as \"3:12\"")));
  }

  bool choices(const toml::node& node, std::vector<std::string>& into) {
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty() || list->size() > most_choices)
      return fail(at(node, phrase("choices must be a list of 1 to {} texts", most_choices)));
    for (const toml::node& each : *list)
      if (!take_words(phrase("a choice"), each, into.emplace_back(), false)) return false;
    return true;
  }

  std::string origin_;
  const FindLesson& find_lesson_;
  std::optional<Error> error_;
};

/// A text in TOML's quotes: over several lines where a person can then read it.
std::string quoted(const std::string& text) {
  // Three quotes of its own would end it, and TOML drops a line end right after the opening ones.
  const bool over_lines = text.find("''") == std::string::npos && !text.ends_with('\'') && !text.starts_with('\n');
  const auto flags = over_lines ? toml::toml_formatter::default_flags : toml::format_flags::allow_unicode_strings;
  const toml::value<std::string> value(text);
  std::ostringstream out;
  out << toml::toml_formatter(value, flags);
  return out.str();
}

}  // namespace

Result<Deck> parse_deck(std::string_view text, std::string_view origin, const FindLesson& find_lesson) {
  if (const Status good = check_document(text, DocumentKind::toml, origin); !good) return good.error();
  try {
    return DeckReader(origin, find_lesson).read(toml::parse(text));
  } catch (const toml::parse_error& error) {
    return refuse("{}, line {}: {}", printable(origin, 100), error.source().begin.line, printable(error.description(), 200));
  }
}

std::string format_deck(const Deck& deck) {
  std::ostringstream out;
  // A blank text is none, and parse_deck() takes none.
  const auto said = [](const std::string& text) { return is_blank(text) ? std::string() : text; };
  const auto line = [&](const char* key, const std::string& text) { out << key << " = " << quoted(text) << "\n"; };
  out << "# A deck of TileScope: states of the window, shown one after the other. Open it with tilescope --deck FILE.\n";
  out << "schema = \"" << deck_schema_start << schema_number << "\"\n";
  line("title", said(deck.title));
  for (const Scene& scene : deck.scenes) {
    out << "\n[[scene]]\n";
    line("title", said(scene.title));
    line("link", to_link(scene.state));
    if (scene.lesson) line("lesson", fmt::format("{}:{}", scene.lesson->lesson, scene.lesson->page + 1));
    if (scene.steps) line("steps", to_string(*scene.steps));
    if (!scene.notes.empty()) line("notes", scene.notes);
    const bool asks = scene.lesson || (scene.question && !is_blank(scene.question->text));
    if (scene.raised && asks) out << "raised = true\n";
    if (!scene.question || is_blank(scene.question->text)) continue;
    line("question", scene.question->text);
    if (!scene.question->choices.empty()) {
      out << "choices = [";
      for (const std::string& choice : scene.question->choices)
        out << (&choice == scene.question->choices.data() ? "" : ", ") << quoted(choice);
      out << "]\n";
    }
    if (scene.question->answer > 0) out << "answer = " << scene.question->answer << "\n";
  }
  return out.str();
}

std::optional<StepRange> step_range_from(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  StepRange range;
  const auto whole = [](std::string_view digits, std::int64_t& into) {
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), into);
    return code == std::errc() && end == digits.data() + digits.size() && into >= 0;
  };
  if (!whole(text.substr(0, colon), range.first) || !whole(text.substr(colon + 1), range.last) || range.last < range.first)
    return std::nullopt;
  return range;
}

std::string to_string(const StepRange& steps) {
  return fmt::format("{}:{}", steps.first, steps.last);
}

}  // namespace tilescope
