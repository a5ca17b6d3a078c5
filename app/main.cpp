// Entry point; run_cli() does everything.
#include "app/cli/run_cli.h"

int main(int argc, char** argv) {
  return tilescope::run_cli(argc, argv, stdout, stderr);
}
