// Deck: the scenes of a lecture, one after the other: states of the window with titles and notes, in one TOML file.
//
//   deck.toml ──parse_deck()──► Deck { scenes: title, link, lesson, notes, steps, question, raised } ──format_deck()──► deck.toml
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/model/state/window_state.h"

namespace tilescope {

/// Steps that Page Up and Page Down walk through before they turn to another scene.
struct StepRange {
  std::int64_t first = 0, last = 0;
  bool operator==(const StepRange&) const = default;
};

/// A question to the class, whose answers are counted before it is resolved.
struct ClassQuestion {
  std::string text;
  std::vector<std::string> choices;
  int answer = 0;  // which of them is right, 1 first; 0: none is said to be
  bool operator==(const ClassQuestion&) const = default;
};

/// A page of a lesson that a scene opens, with its text and its question.
struct ScenePage {
  std::string lesson;    // id
  std::size_t page = 0;  // 0 first; "01-why-memory:1" in the file
  bool operator==(const ScenePage&) const = default;
};

struct Scene {
  std::string title, notes;
  WindowState state;                // of a page: what it shows where its lesson is not known; the opening state without a link
  std::optional<ScenePage> lesson;  // absent: the state alone
  std::optional<StepRange> steps;
  std::optional<ClassQuestion> question;
  bool raised = false;  // the question, or that of the page, is on screen when the scene opens
  bool operator==(const Scene&) const = default;
};

struct Deck {
  std::string title;
  std::vector<Scene> scenes;
  bool operator==(const Deck&) const = default;
};

/// A deck as undo brings it back: the file that it is saved to, and the scene that was shown.
struct DeckEdition {
  std::shared_ptr<const Deck> deck;  // never changed: an edit makes another one
  std::string path;
  int scene = -1;
};

inline constexpr std::size_t most_scenes = 1000, most_choices = 9;

/// A lesson that a scene names: "9" and "09-causal-balance" are one.
struct NamedLesson {
  std::string id;
  std::size_t pages = 0;
  /// Whether a page opens. Errors  what its scene is refused for before it is simulated, with file and line
  std::function<Status(std::size_t page)> check = {};
};
/// Finds a lesson by the name that a scene gives it.
/// Errors  there is no such lesson
using FindLesson = std::function<Result<NamedLesson>(const std::string& name)>;

/// Reads what format_deck() wrote. Scenes then name lessons by their ids. Without `find_lesson` every name and every page passes.
/// Errors  no TOML, a deck of a newer program, a key that there is not, a link or steps that cannot be, a page beyond its lesson or
/// that does not open, a lesson that there is not and for which no link stands in: names `origin` and the line.
Result<Deck> parse_deck(std::string_view text, std::string_view origin, const FindLesson& find_lesson = {});
std::string format_deck(const Deck& deck);

/// "3:12" as a range; nullopt where it is none. The empty text is no range either.
std::optional<StepRange> step_range_from(std::string_view text);
std::string to_string(const StepRange& steps);

}  // namespace tilescope
