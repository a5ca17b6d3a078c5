// The program tilescope: run_cli() with a window and pictures.
#include "app/cli/output.h"
#include "app/cli/run_cli.h"
#include "app/platform/standard_streams.h"
#include "app/ui/language.h"
#include "app/window.h"

int main(int argc, char** argv) {
  if (!tilescope::open_closed_streams()) return tilescope::exit_machine_lacks;
  return tilescope::run_cli(
      argc, argv, stdout, stderr,
      {&tilescope::run_window, &tilescope::render_picture, &tilescope::export_steps, &tilescope::in_language_of_window});
}
