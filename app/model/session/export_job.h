// ExportJob: what the window shows as a file, drawn by a process of its own.
//
//   window_state_of() + ExportChoice ──► export_arguments() ──► tilescope export …   (the same that "Copy as command" copies)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/model/state/window_state.h"
#include "app/platform/child_process.h"

namespace tilescope {

/// What is chosen in the export dialog.
struct ExportChoice {
  std::string file = "tilescope.gif";  // its ending is the format
  std::int64_t first = 0, last = 0;
  Grain grain = Grain::operation;
  int width = 1600, height = 900;
  double seconds_per_step = 1;
  bool caption = true;
  std::string sheet = "traffic";  // of a .csv
  std::string lesson;             // of a .html: "6", or "6:2" for one page; empty: steps of the run
};

/// Returns whether a file of that ending shows steps, and whether they move.
bool export_shows_steps(std::string_view file);
bool export_is_film(std::string_view file);

/// Returns the flags of a command that shows the state, without those of its position: "--algorithm", "flash2", ….
/// What has no flag (typed matrices, the chosen row) is left out.
std::vector<std::string> state_arguments(const WindowState& state);
/// Returns the arguments after the program's name.
std::vector<std::string> export_arguments(const WindowState& state, const ExportChoice& choice);
/// A command line for a shell: quoted where it must be.
std::string command_text(const std::vector<std::string>& arguments);

struct ExportView {
  bool running = false;
  double progress = 0;  // 0..1
  std::string file;     // of the last export; empty: there was none
  std::string path;     // the same with its folder
  Sentence refusal;     // why it failed; empty where it did not
  bool done = false;    // the file is there
};

class ExportJob {
 public:
  /// `program` draws; empty where there is none, as in tests.
  explicit ExportJob(std::string program) : program_(std::move(program)) {}
  void start(const WindowState& state, const ExportChoice& choice);
  /// Ends it; the file is what it was.
  void stop();
  /// Takes in what the process has said.
  void tick();
  const ExportView& view() const { return view_; }

 private:
  void take_line(const std::string& line);
  std::string program_, text_;
  std::unique_ptr<ChildProcess> process_;
  ExportView view_;
};

}  // namespace tilescope
