// The rows of a backward pass in the softmax panel: what they say, and when.
#include <doctest/doctest.h>

#include <string>

#include "app/ui/panel_state.h"
#include "app/views/panels.h"
#include "app/views/softmax/softmax_gradient.h"
#include "sim/programs/backward_tensors.h"
#include "tests/app/run_simulation.h"
#include "tests/app/views/lane_at.h"
#include "tests/app/views/panel_screen.h"

namespace tilescope {

TEST_CASE("softmax panel: a backward pass shows P, dP, D and dS of a key, with the formula and its numbers") {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  problem.head_dim = 16;
  for (const std::string_view id : {"flash2_backward", "flash2_backward_two_pass", "standard_backward"}) {
    CAPTURE(id);
    const auto simulation = run(id, toy_gpu(), problem);
    bool seen = false, before = false;
    for (std::int64_t step = 1; step < simulation->trace->step_count(0) && !seen; ++step) {
      const LaneAt at(simulation, step);
      if (at.lane.operation == nullptr) continue;
      const SoftmaxRow row = softmax_row(*simulation->program, *at.lane.history, at.lane.values_op, 0);
      if (!row.gradient) continue;
      PanelScreen screen({420, 420});
      const std::string text = screen.text(view_of({&at.lane, 1}), draw_softmax_panel);
      CAPTURE(text);
      CHECK(text.find("dS = P · (dP − D)") != std::string::npos);
      const std::string numbers = gradient_numbers(*row.gradient, 0);
      if (row.gradient->d_s_row.empty()) {
        CHECK(numbers.empty());
        before = true;
        continue;
      }
      CHECK(numbers.starts_with("dS[0] = "));
      CHECK(text.find(numbers) != std::string::npos);
      seen = true;
    }
    CHECK(before);
    CHECK(seen);
  }
}

TEST_CASE("softmax panel: the numbers of a key have its slope, and no sign follows another") {
  RowGradient gradient;
  gradient.d_p = tiles::d_p, gradient.p = tiles::p, gradient.row_dot = tiles::row_dot, gradient.d_s = tiles::d_s;
  gradient.p_row = {0.5F, 0.25F}, gradient.d_p_row = {2, -1}, gradient.d_s_row = {1.5F, 0};
  gradient.d = -1.0F;
  CHECK(gradient_numbers(gradient, 0) == "dS[0] = 0.5 · (2 + 1) = 1.5");
  CHECK(gradient_numbers(gradient, 1) == "dS[1] = 0.25 · (−1 + 1) = 0");
  CHECK(gradient_numbers(gradient, 2).empty());
  gradient.slope = tiles::slope;
  CHECK(gradient_formula(gradient) == "dS = f′ · P · (dP − D)");
  CHECK(gradient_numbers(gradient, 0).empty());
  gradient.slope_row = {2, 1};
  gradient.d_s_row[0] = 3;
  CHECK(gradient_numbers(gradient, 0) == "dS[0] = 2 · 0.5 · (2 + 1) = 3");
}

}  // namespace tilescope
