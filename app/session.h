// Session: the state of the window — request, simulation, playhead — apart from anything that draws.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/view.h"

namespace tilescope {

/// Loads a GPU by id or path; given by main, so that the session knows no files.
using GpuLoader = Result<GpuSpec> (*)(std::string_view id_or_path);

class Session {
 public:
  struct Start {
    SimulationRequest request;
    InputSource inputs;
    std::int64_t step = 0;
    bool race = false;
    std::vector<std::string> gpu_ids;
    GpuLoader load_gpu = nullptr;
    /// Without threads every piece of work is done inside tick(); tests and `render` use it so.
    bool threads = true;
  };

  explicit Session(Start start);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void apply(const Command& command);
  /// Takes finished work in and moves the playhead by `seconds` of wall time. Never blocks when there are threads.
  void tick(double seconds);
  /// True when something moves, so that the window need not redraw at rest.
  bool animating() const;
  /// Waits until no work is under way.
  void finish();

  View view(const Theme& theme) const;
  ThemeKind theme_kind() const;
  bool help_shown() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tilescope
