// run_program(): the program in this process, with what it printed.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "app/cli/run_cli.h"
#include "app/ui/language.h"
#include "app/window.h"

namespace tilescope {

struct RunOutcome {
  int code = 0;
  std::string out, err;
};

/// All that was written to `file`, which is closed.
inline std::string drained(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

/// `arguments` are those after the program's name. What goes to `out`, which stays open, is not in the outcome.
inline RunOutcome run_program(std::vector<std::string> arguments, std::FILE* out) {
  arguments.insert(arguments.begin(), "tilescope");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::FILE* err = std::tmpfile();
  REQUIRE(err != nullptr);
  RunOutcome outcome;
  outcome.code = run_cli(static_cast<int>(arguments.size()), argv.data(), out, err,
                         {&run_window, &render_picture, &export_steps, &in_language_of_window});
  outcome.err = drained(err);
  return outcome;
}

inline RunOutcome run_program(std::vector<std::string> arguments) {
  std::FILE* out = std::tmpfile();
  REQUIRE(out != nullptr);
  RunOutcome outcome = run_program(std::move(arguments), out);
  outcome.out = drained(out);
  return outcome;
}

}  // namespace tilescope
