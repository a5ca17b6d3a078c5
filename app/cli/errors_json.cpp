// Every field of the errors, always.
#include "app/cli/errors_json.h"

namespace tilescope {

nlohmann::ordered_json json_of_errors(const Result<FigureErrors>& errors) {
  if (!errors) return nullptr;
  return {{"kernel", errors->kernel},
          {"runs", errors->runs},
          {"all_runs", errors->all_runs},
          {"short", errors->is_short},
          {"held_out", errors->held_out},
          {"other_tile", errors->other_tile},
          {"of_unchanged", errors->of_unchanged},
          {"mean", errors->mean},
          {"worst", errors->worst}};
}

nlohmann::ordered_json json_of_errors(const Result<RatioErrors>& errors) {
  if (!errors) return nullptr;
  return {{"pairs", errors->pairs}, {"held_out", errors->held_out}, {"mean", errors->mean}, {"worst", errors->worst}};
}

}  // namespace tilescope
