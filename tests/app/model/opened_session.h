// Opened: a session with its first simulation done, and commands that are carried out to their end.
#pragma once

#include <cstdint>
#include <utility>

#include "app/model/session.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

inline const Theme& plain_theme() {
  static const Theme theme = make_theme(ThemeKind::dark, 1);
  return theme;
}

/// A session with its first simulation done.
struct Opened {
  Session session;
  explicit Opened(Session::Start start = opening_start()) : session(std::move(start)) { session.finish(); }
  View view() const { return session.view(plain_theme()); }
  /// Carries `command` out and lets every motion and all work end.
  template <class T>
  View after(const T& command) {
    session.apply(command);
    session.finish();
    session.tick(10);
    session.finish();
    return view();
  }
};

inline AttentionProblem with_rows(const View& view, std::int64_t rows) {
  AttentionProblem problem = view.request.problem;
  problem.seq_q = problem.seq_kv = rows;
  return problem;
}

inline AttentionProblem two_numbers_a_row(std::int64_t rows) {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = rows;
  problem.head_dim = 2;
  return problem;
}

}  // namespace tilescope
