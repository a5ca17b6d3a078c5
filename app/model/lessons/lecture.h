// Lecture: the deck that is open, where one is in it, and what is counted of a question to the class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/model/state/deck.h"

namespace tilescope {

struct LessonView;

class Lecture {
 public:
  /// What turning a page asks for.
  enum class Turn : std::uint8_t { none, answer, step, scene };

  const Deck& deck() const { return *now_.deck; }
  const std::string& path() const { return now_.path; }
  bool changed() const { return now_.deck != saved_; }  // since it was read or saved
  int scene() const { return now_.scene; }              // that is shown, 0 first; -1: none was opened yet
  const Scene* shown() const { return at(now_.scene); }
  const Scene* next() const { return at(now_.scene + 1); }
  const Scene* at(int index) const;
  /// Whether this page of a lesson is the scene that is shown: then the clicker turns scenes, and ends with the last one.
  bool shows_page(const std::string& lesson, std::size_t page) const;
  /// The same of the page that is open; false without a lesson.
  bool shows(const LessonView& lesson) const;
  int count() const { return static_cast<int>(deck().scenes.size()); }

  bool listed = false;     // the list of scenes is open
  bool asking = false;     // the question of the scene is on screen
  bool answered = false;   // and its answer too
  bool presenter = false;  // the presenter's window is wanted
  std::array<int, most_choices> counts{};
  std::string clock;   // the time of day as text; empty: unknown
  double seconds = 0;  // on the presenter's timer

  void take(Deck deck, std::string path);
  void saved(std::string path);
  /// After the scene that is shown; it is then the one that is shown.
  void bookmark(Scene scene);
  void rename(std::string title);
  void edit(int index, Scene scene);
  void move(int index, int to);
  void remove(int index);
  /// What undo keeps of the deck, and brings back.
  const DeckEdition& edition() const { return now_; }
  void restore(const DeckEdition& edition);

  /// What Page Down (1) or Page Up (-1) does where the run stands at `step`: it stays within the steps of the scene, then turns.
  /// Before it leaves the scene forward, it shows the answer of a question that is on screen.
  Turn turn(int direction, std::int64_t step) const;
  /// A question with a right choice is on screen, without its answer.
  bool holds_answer() const;
  /// Errors  the steps of the scene that is shown go beyond `last`, the last step of its run
  Status check_steps(std::int64_t last) const;
  /// The state of a scene, beginning at its first step, or at its last where one comes back from the scene after it.
  WindowState state_of(int index, bool from_behind) const;
  /// Shows a scene. Its question is raised if the scene says so. What was written and counted there is as it was left.
  void go(int index);
  /// The same of a lesson's page that is no scene, whose question waits for the key.
  void go_to_page(const std::string& lesson, std::size_t page);
  /// Back to the scene that is shown. What was counted of pages is forgotten.
  void leave_lesson();
  /// Asks a question of the moment. What was counted stays where the choices stay.
  void write(std::optional<ClassQuestion> question);
  /// The question of the moment; null where none was written.
  const ClassQuestion* written() const { return written_ ? &*written_ : nullptr; }

 private:
  /// What a class said to a question, and the question if it was one of the moment.
  struct Hands {
    std::array<int, most_choices> counts{};
    std::optional<ClassQuestion> written;
  };

  void change_to(Deck deck);
  Hands* hands();  // where those of what is shown are kept; null: nowhere
  void set_aside();
  void bring_back();

  DeckEdition now_{std::make_shared<const Deck>(), {}, -1};
  std::shared_ptr<const Deck> saved_ = now_.deck;
  std::optional<ClassQuestion> written_;
  std::optional<std::pair<std::string, std::size_t>> page_;  // that is shown and no scene
  std::vector<Hands> of_scenes_;                             // one a scene, while the deck is open
  std::map<std::pair<std::string, std::size_t>, Hands> of_pages_;
};

/// A show of hands with four letters.
ClassQuestion plain_question();

}  // namespace tilescope
