// Turns a CommandLine into a request: loads the GPU, reads the user's matrices, checks the sizes.
#pragma once

#include <memory>

#include "app/cli/command_line.h"
#include "app/model/state/window_state.h"
#include "sim/engine/simulation.h"
#include "sim/numerics/tile_machine.h"

namespace tilescope {

struct Request {
  SimulationRequest simulation;
  InputSource inputs;
};

/// Errors  unknown algorithm or GPU (with the nearest), a GPU file or matrix that cannot be read, a bad --set, sizes that check()
///         refuses, matrices that contradict each other or the flags. simulate() checks what needs the tile program.
Result<Request> make_request(const CommandLine& line);
/// Errors  a typed order of the keys that the program of an algorithm does not have
Status check_key_order(const CommandLine& line, std::string_view algorithm, Pass pass);

/// Whether a flag asks for a mask or a change of scores.
bool changes_attention(const CommandLine& line);
/// Whether one asks for a mask, which has lists in flex; a known preset may be a change of scores alone.
bool hides_keys(const CommandLine& line);
/// Whether one asks for either, or for a block of their lists, or for pages: flex is what they choose.
bool needs_flex(const CommandLine& line);
/// Returns the algorithm of a command that runs one: flex if a flag needs it and no algorithm is given.
std::string algorithm_of(const CommandLine& line);

/// Reads --open and --deck: the same command line on top of the state that they lead to.
/// Errors  a file that cannot be read; no link, no deck, a scene that it has not; both flags.
Result<CommandLine> open_base(CommandLine line);

/// The whole state that --open or --deck leads to, with what flags say instead; null without them.
std::shared_ptr<const WindowState> state_of(const CommandLine& line, const Request& request);
/// The ids of --algorithm, which commas separate; without it those with a button in the window.
/// Errors  an unknown one
Result<std::vector<std::string>> algorithms_of(const CommandLine& line);

}  // namespace tilescope
