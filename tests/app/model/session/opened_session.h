// Opened: a session with its first simulation done, and commands that are carried out to their end.
#pragma once

#include <cstdint>
#include <utility>

#include "app/model/session/session.h"
#include "tests/app/views/window_script.h"

namespace tilescope {

/// A session with its first simulation done.
struct Opened {
  Session session;
  explicit Opened(Session::Start start = opening_start()) : session(std::move(start)) { session.finish(); }
  SessionView view() const { return session.view(); }
  /// Carries `command` out and lets every motion and all work end.
  template <class T>
  SessionView after(const T& command) {
    session.apply(command);
    session.finish();
    session.tick(10);
    session.finish();
    return view();
  }
};

inline AttentionProblem with_rows(const SessionView& view, std::int64_t rows) {
  AttentionProblem problem = view.requested->request.problem;
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
