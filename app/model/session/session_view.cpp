// The state of the window, collected from the session's objects.
#include "app/model/session/session_view.h"

#include <algorithm>

#include "app/model/requests/mask_tables.h"
#include "app/model/state/window_state.h"
#include "sim/analysis/sweep.h"

namespace tilescope {

WindowState window_state_of(const SessionView& view) {
  WindowState state;
  const Requested& asked = *view.requested;
  // What the controls show can be refused, or still be on its way.
  const bool on_screen = !view.lanes.empty();
  const SimulationRequest& request = on_screen ? asked.good_request : asked.request;
  state.algorithm = request.algorithm;
  state.gpu = on_screen ? asked.good_gpu_source : asked.gpu_source;
  state.spec_values = changed_values(request.gpu);
  state.problem = request.problem;
  state.problem.mask = nullptr;  // its text is in the link
  state.problem.score_change = nullptr;
  state.masks = request.masking.masks;
  state.presets = request.masking.presets;
  state.score = request.masking.score;
  state.tables = to_text(request.masking.tables);
  state.table_gradients = request.masking.table_gradients;
  state.tile = request.tile;
  if (state.tile) state.tile->key_order = KeyOrder::ascending;  // the request's own decides
  state.blocks_per_sm = request.blocks_per_sm;
  state.block_order = request.block_order;
  state.key_order = request.key_order;
  state.race = on_screen ? asked.good_race : asked.race;
  state.focus_sm = on_screen ? view.lane().focus_sm : request.focus_sm;
  state.seed = asked.inputs.seed;
  state.spread = asked.inputs.spread;
  state.q = asked.inputs.q;
  state.k = asked.inputs.k;
  state.v = asked.inputs.v;
  if (!view.lanes.empty() && view.playback.at_step)
    state.position = WindowState::Step{view.playback.step};
  else if (!view.lanes.empty())
    state.position = WindowState::Cycle{view.playback.goal};
  state.speed = view.playback.speed;
  state.grain = view.playback.grain;
  const Workspace& workspace = *view.workspace;
  if (workspace.row_by_user) {
    state.row = workspace.row;
    // What is shown of a row beyond the tile is the last one.
    if (on_screen) state.row = std::min<int>(workspace.row, static_cast<int>(view.lane().simulation->program->tile().block_q) - 1);
  }
  state.center = workspace.center;
  state.banks = workspace.banks;
  state.rung = workspace.rung;
  state.views = workspace.views;
  state.alone = workspace.alone;
  state.side = workspace.side;
  state.traffic = workspace.traffic;
  state.by_sm = workspace.by_sm;
  state.range = workspace.range;
  keep_room(state, workspace);
  if (view.studies->chosen_by_user)
    state.sweep = SweepState{to_string(view.studies->sweep_choice.axis), view.studies->sweep_choice.algorithms,
                             view.studies->sweep_choice.quantity};
  for (const PinnedRun& run : view.pinned.runs) state.pinned.push_back(run.link);
  state.compared = view.pinned.compared;
  return state;
}

}  // namespace tilescope
