// LessonPlayer: the lesson that is open, its page and answers; it holds the run until a question is answered, and then plays it.
//
//   OpenLesson ─► page ─► its scene (OpenState) ─► question: run held ─► AnswerLesson ─► the run plays, the numbers stand beside
//                  ▲                                                                       the answer ─► task: a few free controls
//                  └────────────────────────────── TurnLessonPage ◄────────────────────────────────────────────────┘
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "app/model/background/worker.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/lessons/lesson_task.h"
#include "app/model/lessons/lesson_view.h"
#include "app/model/lessons/page_figures.h"
#include "app/model/requests/requested.h"
#include "app/model/session/measured.h"
#include "app/model/state/commands.h"
#include "app/model/state/playback.h"
#include "app/model/state/workspace.h"

namespace tilescope {

/// OpenLesson's page of whoever comes from the lesson after it.
inline constexpr std::size_t last_lesson_page = static_cast<std::size_t>(-1);

class LessonPlayer {
 public:
  struct Sources {
    Worker& worker;
    Playback& playback;
    const Requested& requested;
    const Workspace& workspace;
    const Measured& measured;
  };
  LessonPlayer(const Sources& sources, std::shared_ptr<const LessonList> list, std::set<std::string> done,
               std::map<std::string, LessonScore> scores, bool offered, GpuLoader load_gpu);

  LessonView view() const;
  /// Whether the session must go on ticking.
  bool revealing() const { return reveal_.has_value(); }

  /// Opens a lesson at a page, or at last_lesson_page, and returns the state that it shows. A lesson that one comes back to from
  /// another has its answers still; the open one begins anew. `left` is that of turn_page().
  /// Errors  those of load_lesson(); no such page. What was open stays.
  Result<std::shared_ptr<const WindowState>> open(const std::string& id, std::size_t page,
                                                  std::shared_ptr<WindowState> left = nullptr);
  /// Turns pages and returns the state that is shown then; null where there is none to turn to. Forward it stops at a question that
  /// is not answered. `left` is what the page before shows now, and what it shows when one comes back; null: its scene again.
  std::shared_ptr<const WindowState> turn_page(int pages, std::shared_ptr<WindowState> left);
  /// Takes an answer and lets the run play. An answer that lacks something, or a second one, is passed over. Returns the state that
  /// the reveal shows; null where the page's scene stays.
  std::shared_ptr<const WindowState> answer(const LessonAnswer& answer);
  /// Forgets the answer to the page's question and returns the state that asks it again; null where it is not answered.
  std::shared_ptr<const WindowState> retry();
  /// Closes the lesson and keeps its answers for whoever opens it again.
  void set_aside(std::shared_ptr<WindowState> left);
  void close();
  void decline_offer() { offered_ = false; }
  /// The same lesson in the language in use.
  void follow_language();

  /// Why a command is not carried out now; nullopt where it is.
  std::optional<Notice> refuses(const Command& command) const;
  /// A command that moves the playhead ends the reveal's own motion.
  void stop_reveal() { reveal_.reset(); }

  /// Takes finished work in, begins what is missing, and moves the reveal on. `opening`: the scene is not on screen yet.
  void tick(double seconds, bool opening);

 private:
  struct Reveal {
    double from = 0, to = 0, duration = 1, elapsed = 0;  // cycles; seconds
    std::int64_t step = 0;
    bool to_end = false;  // of the run
  };

  /// What was done in a lesson, by page.
  struct Attempt {
    std::map<std::size_t, LessonAnswer> answers;
    std::map<std::size_t, TaskFigures> reached;
    std::map<std::size_t, std::shared_ptr<const WindowState>> left;  // what a page showed when it was left
    std::set<std::size_t> right;                                     // pages whose question was answered so
  };

  const LessonScene& scene() const;
  std::shared_ptr<const WindowState> state_of_page() const;
  void keep_left(std::shared_ptr<WindowState> left);
  void show_page(std::size_t page);
  bool locked() const;
  bool asks_later() const;
  bool covers() const;
  std::optional<std::size_t> time_page() const;
  bool covers_error() const;
  /// Returns the first page from `page` on that has a question of the run on screen, still to be answered, for a figure that
  /// `reads` finds; nullopt without one.
  std::optional<std::size_t> page_that_asks(std::size_t page, bool (*reads)(const std::string& expression)) const;
  bool is_free(std::string_view key) const;
  void begin_reveal();
  void ask_figures();
  void ask_task();
  void mark_done();
  void mark_right();
  void count_score();

  Sources from_;
  std::shared_ptr<const LessonList> list_;
  std::set<std::string> done_;
  std::map<std::string, LessonScore> scores_;  // by id
  bool offered_ = false;
  GpuLoader load_gpu_;

  std::shared_ptr<const Lesson> lesson_;
  std::string path_;  // what it was opened by
  std::size_t page_ = 0;
  Attempt attempt_;                          // of the open lesson
  std::map<std::string, Attempt> attempts_;  // of those that were open before it, by id, until lessons are closed
  std::shared_ptr<StateRuns> runs_;          // of the page; used by one job at a time
  std::shared_ptr<const PageFigures> figures_;
  std::optional<Error> problem_;
  std::optional<TaskFigures> task_;
  std::shared_ptr<const Simulation> task_of_;  // whose task was asked for last
  int shown_ = 0;                              // counts pages shown, so that what comes late is passed over
  bool under_way_ = false, task_under_way_ = false, reveal_waits_ = false;
  std::optional<Reveal> reveal_;
};

}  // namespace tilescope
