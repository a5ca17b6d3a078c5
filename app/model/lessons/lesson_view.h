// LessonView: what the panels read of the lesson that is open.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/core/result.h"
#include "sim/core/tensor.h"

namespace tilescope {

struct Lesson;        // app/model/lessons/lesson.h
struct LessonScene;   // app/model/lessons/lesson.h
struct LessonList;    // app/model/lessons/lesson_list.h
struct LessonAnswer;  // app/model/lessons/lesson_answer.h
struct PageFigures;   // app/model/lessons/page_figures.h
struct TaskFigures;   // app/model/lessons/lesson_task.h

/// Of a lesson's questions, as many as were answered rightly in the best attempt.
struct LessonScore {
  int right = 0, questions = 0;
  bool operator==(const LessonScore&) const = default;
};

/// What the panels read, until the session's next tick() or apply().
struct LessonView {
  const LessonList* list = nullptr;             // null: the program has no lessons here
  const std::set<std::string>* done = nullptr;  // lessons that were gone through
  const std::map<std::string, LessonScore>* scores = nullptr;
  bool offered = false;  // the first start offers the first lesson

  const Lesson* lesson = nullptr;  // null: none is open
  std::size_t page = 0;
  const LessonScene* scene = nullptr;    // of the page
  const LessonAnswer* answer = nullptr;  // of the page's question; null until it is given
  const PageFigures* figures = nullptr;  // null while they are worked out
  const Error* problem = nullptr;        // why there are none
  const TaskFigures* task = nullptr;     // of the simulation on screen; null while it is worked out, and without a task
  const TaskFigures* reached = nullptr;  // when the goal was last reached; null: not yet
  bool locked = false;                   // the run is held until the question is answered
  bool asks_later = false;               // a later page has a question that is not answered
  bool covers = false;                   // what is ahead of the playhead stays covered: it answers this question or a later one
  std::optional<std::size_t> time_page;  // a later page of the same run that asks for its time, which stays covered until then
  bool covers_error = false;             // this page, or a later one of the same run, asks how far O is from float64
  bool revealing = false;                // the run plays to where the reveal stops

  // Over all pages, so far.
  int questions = 0, right = 0;      // right: answered so
  int tasks = 0, tasks_reached = 0;  // whose goal was reached
  struct Missed {
    std::size_t page = 0;
    bool answered = false;  // not rightly; false: passed over, or its answer was shown
  };
  std::vector<Missed> missed;  // questions without a right answer
  struct Goal {
    std::size_t page = 0;
    bool reached = false;
  };
  std::vector<Goal> goals;  // of all tasks
  bool returns = false;     // CloseLesson has somewhere to return to
};

/// Returns the option that a click on a tensor chooses; -1 where the page does not ask to point, or not at this one.
int option_pointed_at(const LessonView& view, Tensor tensor);

}  // namespace tilescope
