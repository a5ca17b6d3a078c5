// Lets the program's own worker run; its threads decide when results arrive.
#include <chrono>
#include <thread>

#include "tests/monkey/work_control.h"

namespace tilescope {

const bool work_has_threads = true;

void reset_work(bool /*hostile*/) {}
void advance_work(Random& random) {
  std::this_thread::sleep_for(std::chrono::microseconds(random.below(3000)));
}
void release_work() {}
void hold_work() {}

}  // namespace tilescope
