// The program tilescope: everything is in run_cli().
#include "app/cli/run_cli.h"

int main(int argc, char** argv) {
  return tilescope::run_cli(argc, argv, stdout, stderr);
}
