// HeldTyping: keeps back what a half-typed number would change, so that "1024" is not simulated as 1, 10 and 102 first.
#pragma once

#include <string>
#include <vector>

#include "app/model/state/commands.h"

namespace tilescope {

class HeldTyping {
 public:
  /// Takes the commands of a frame and returns those to carry out now. What a number field asks for while it is typed into waits
  /// for Enter, for the field to be left, or for typing_pause without a key. Esc drops it.
  std::vector<Command> pass(std::vector<Command> commands);
  /// True if a number field was typed into in the frame of the last pass().
  bool typing() const { return typing_; }
  /// True while time has to pass.
  bool waiting() const { return waiting_; }

 private:
  std::vector<Command> held_;
  std::string text_;     // of the field
  double since_ = 0;     // when it became that
  bool typing_ = false;  // in the last frame
  bool sent_ = false;    // what this text asks for was carried out
  bool waiting_ = false;
};

}  // namespace tilescope
