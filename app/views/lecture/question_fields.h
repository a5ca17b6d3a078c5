// QuestionFields: a question to the class while it is typed, in the list of scenes and below the picture.
#pragma once

#include <optional>
#include <string>

#include "app/model/state/deck.h"
#include "app/ui/widgets.h"

namespace tilescope {

struct QuestionFields {
  std::string text, choices;  // one choice a line
  int answer = 0;             // the right one, 1 first; 0: none

  void fill(const ClassQuestion& question);
  /// Returns what was typed; nullopt without a question.
  std::optional<ClassQuestion> question() const;
  /// Returns how many choices there are, as far as the class can be asked.
  int count() const;
};

/// Adds the field of the choices, with its label. Returns true when it was left after a change.
bool choices_field(const Theme& theme, QuestionFields& fields, float width, float height);
/// Adds the buttons that say which choice is right. Returns true when one was pressed.
bool right_choice_buttons(const Theme& theme, QuestionFields& fields);

/// True in the frame in which a field that was typed into is left. Esc leaves it too: what was `typed` stays, and undo takes it
/// back.
bool leaves_field(std::string& text, const std::string& typed);

}  // namespace tilescope
