// Controls when the session's background work begins, ends and arrives. Two executables link one of two definitions.
//
//   controlled_worker.cpp  replaces app/model/background/worker.cpp: work moves only when the monkey says so
//   threaded_worker.cpp    leaves the program's own worker and its threads in place
#pragma once

#include <string_view>

#include "tests/monkey/random.h"

namespace tilescope {

/// Whether the session gets threads of its own.
extern const bool work_has_threads;

/// With `hostile`, results may also arrive twice and in another order than they ended in.
void reset_work(bool hostile);
/// Moves some of the work on: begins a job, ends one, or lets a result arrive.
void advance_work(Random& random);
/// From now on every job and result moves by itself.
void release_work();
/// Takes that back: work waits for advance_work() again.
void hold_work();

}  // namespace tilescope
