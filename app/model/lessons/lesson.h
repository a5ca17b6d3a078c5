// Lesson: pages of prose, each with a scene, a question and what answers it; read from assets/lessons/<number>-<id>.<language>.md.
//
//   ```lesson  title, minutes, goal, group once, before the first page
//   ## Heading                             begins a page
//   ```scene   link, look, others          what the window shows
//   ```ask     kind, question, …           the playhead is held until it is answered
//   ```reveal  say, play, link, look       what the run does then, and what the window shows
//   ```try     free, say, goal, done       a task with a few free controls
//   ```notes   text                        for the lecturer
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/model/lessons/lesson_prose.h"
#include "app/model/state/window_state.h"

namespace tilescope {

/// An expression over figures, and where it stands.
struct LessonExpression {
  std::string text;
  int line = 0;
  bool empty() const { return text.empty(); }
  bool operator==(const LessonExpression&) const = default;
};

/// The link of another run: that of the scene with some keys replaced.
struct LessonVariant {
  std::string name, keys;
  WindowState state;
};

struct LessonScene {
  std::string link;
  WindowState state;
  std::vector<std::string> look;  // ids of panels
  std::vector<LessonVariant> others;
  bool shown = false;  // its picture does not answer the question, so that nothing of it is covered
  int line = 0;
};

enum class QuestionKind : std::uint8_t { choice, number, point, order, draw };
inline constexpr std::array<std::string_view, 5> question_kind_names = {"choice", "number", "point", "order", "draw"};
std::string_view to_string(QuestionKind kind);

/// Which way a wrong drawing is off: all its points that are off are too high, or too low, or some are each.
enum class DrawnWay : std::uint8_t { above, below, shape };
inline constexpr std::array<std::string_view, 3> drawn_way_names = {"above", "below", "shape"};
std::string_view to_string(DrawnWay way);

/// Why an answer is wrong: that of an option, numbers near a value, drawings off one way, or every other one.
struct LessonWrong {
  int option = -1;                // of choice and point, from 0; -1: none
  LessonExpression near;          // of number
  std::optional<DrawnWay> drawn;  // of draw
  Prose say;
  int line = 0;
  bool takes_all() const { return option < 0 && near.empty() && !drawn; }
};

struct LessonQuestion {
  QuestionKind kind = QuestionKind::choice;
  Prose question;
  std::vector<Prose> options;            // of choice, order; of point: the tensors' names
  std::vector<LessonExpression> values;  // one an option
  bool smallest = false;                 // which of `values` is right
  LessonExpression answer;               // of number; of choice: the option's place, 1 first
  double tolerance = 0.1;                // relative; of draw: of each point
  FigureUnit unit = FigureUnit::number;
  bool shows_values = false;  // beside the options, after the answer: a unit was given
  std::string x_key;          // of draw: what varies from point to point
  std::vector<double> xs;
  std::vector<WindowState> points;  // one an x
  std::vector<std::vector<LessonVariant>> point_others;
  LessonExpression curve;
  std::vector<LessonWrong> wrong;  // the first that fits is shown; one that takes all is the last
  int line = 0;
};

struct LessonReveal {
  enum class Play : std::uint8_t { none, end, step };
  Prose say;
  Play play = Play::none;
  std::int64_t step = 0;
  std::string keys;                  // of a link, that replace those of the page's scene once the question is answered
  std::vector<std::string> look;     // of the window then; empty: as before
  std::optional<LessonScene> scene;  // what both make of the page's scene; absent without them
};

struct LessonTry {
  std::vector<std::string> free;  // keys of links
  Prose say, done;
  LessonExpression goal;
  std::optional<LessonVariant> solution;  // that reaches the goal
  int line = 0;
};

struct LessonPage {
  std::string title;
  int line = 0;
  Prose prose;
  std::optional<LessonScene> scene;  // absent: that of the page before
  std::optional<LessonQuestion> ask;
  std::optional<LessonReveal> reveal;
  std::optional<LessonTry> task;
  std::vector<Prose> notes;
};

struct Lesson {
  std::string id;      // "01-why-memory"
  std::string origin;  // the file, for errors
  std::string title;
  int minutes = 0;
  Prose goal;
  std::string group;  // of lessons, in the menu; empty: that of the lesson before
  std::vector<LessonPage> pages;

  /// The scene that a page shows: its own, else the one before.
  const LessonScene& scene_of(std::size_t page) const;
};

/// The link with the keys of `changes` in the place of its own; "mask=" takes a key away.
std::string changed_link(std::string_view link, std::string_view changes);

/// The run that a page's scene is called in expressions of its task.
inline constexpr std::string_view scene_run = "scene";

}  // namespace tilescope
