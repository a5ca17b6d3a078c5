// The table of commands and flags.
#include "app/cli/flags.h"

#include <array>

namespace tilescope {

namespace {

constexpr unsigned bit(CommandKind command) {
  return 1u << static_cast<unsigned>(command);
}

constexpr unsigned window = bit(CommandKind::window), simulate = bit(CommandKind::simulate), render = bit(CommandKind::render),
                   measure = bit(CommandKind::measure), validate = bit(CommandKind::validate),
                   calibrate = bit(CommandKind::calibrate);
constexpr unsigned problem = window | simulate | render | measure;
constexpr unsigned model = window | simulate | render;
constexpr unsigned picture = window | render;

constexpr std::array commands = {
    CommandInfo{
        CommandKind::simulate, "simulate", "run the model and print bytes, work, memory and time; --json for programs",
        "Examples:\n"
        "  tilescope simulate\n"
        "  tilescope simulate --algorithm standard --gpu h200 --heads 16 --seq 4096 --head-dim 64\n"
        "  tilescope simulate --gpu h200 --heads 16 --seq 4096 --head-dim 64 --causal --json result.json --trace trace.json\n"
        "  tilescope simulate --gpu h200 --seq 4096 --set l2.capacity_bytes=0        what if there were no L2?\n"
        "\n"
        "Open the file of --trace at https://ui.perfetto.dev. The exit code is 0, or 2 when the request was wrong."},
    CommandInfo{CommandKind::render, "render", "draw the window, or one panel of it, into a PNG; needs no display",
                "Examples:\n"
                "  tilescope render --out flash2.png\n"
                "  tilescope render --algorithm flash1 --step 40 --theme light --size 1280x720 --out flash1.png\n"
                "  tilescope render --panel softmax --q my_queries.csv --out softmax.png\n"
                "  tilescope render --race --seq 128 --out race.png\n"
                "\n"
                "The same options write the same bytes."},
    CommandInfo{CommandKind::measure, "measure", "run the real kernel and read the hardware's counters; needs an NVIDIA GPU",
                "Example:\n"
                "  tilescope measure --algorithm flash2 --heads 16 --seq 4096 --head-dim 64 --json measured.json"},
    CommandInfo{CommandKind::validate, "validate",
                "hold the simulation against a measurement bundle; exit code 1 beyond its bounds",
                "Example:\n"
                "  tilescope validate --bundle assets/measured/h200.json"},
    CommandInfo{CommandKind::calibrate, "calibrate", "measure a GPU and write its spec; needs an NVIDIA GPU",
                "Example:\n"
                "  tilescope calibrate --out my_gpu.toml"},
};

using enum FlagShape;

constexpr std::array flags = {
    FlagInfo{"--algorithm", "ID", "Problem", "which program runs [flash2]; they are listed below", value, problem},
    FlagInfo{"--batch", "B", "Problem", "batch size [1]", value, problem},
    FlagInfo{"--heads", "H", "Problem", "query heads [1]", value, problem},
    FlagInfo{"--kv-heads", "H", "Problem", "key and value heads, shared evenly by the query heads [as --heads]", value, problem},
    FlagInfo{"--seq", "N", "Problem", "queries [64]", value, problem},
    FlagInfo{"--seq-kv", "N", "Problem", "keys and values [as --seq]", value, problem},
    FlagInfo{"--head-dim", "D", "Problem", "numbers in a query, key or value, 1 to 256 [16]", value, problem},
    FlagInfo{"--dtype", "TYPE", "Problem", "fp16, bf16 or fp32 [fp16]; sums are always fp32", value, problem},
    FlagInfo{"--causal", "", "Problem", "a query sees no later key; the last query sees every key", toggle, problem},
    FlagInfo{"--pass", "PASS", "Problem", "forward, backward or both [forward]", value, problem},
    FlagInfo{"--block-q", "BR", "Problem", "query rows of a tile [that of the program on this GPU]", value, problem},
    FlagInfo{"--block-kv", "BC", "Problem", "key rows of a tile [that of the program on this GPU]", value, problem},
    FlagInfo{"--blocks-per-sm", "K", "Problem", "blocks that share an SM [as many as fit]", value, problem},
    FlagInfo{"--gpu", "ID|FILE", "GPU", "a GPU by name, or a .toml file of your own [toy]", value, model},
    FlagInfo{"--set", "KEY=VALUE", "GPU", "change one number of the GPU; may be given many times", repeated, model},
    FlagInfo{"--seed", "N", "Values", "seed of the random Q, K and V [1]; values never change the traffic", value, picture},
    FlagInfo{"--q", "FILE.csv", "Values", "a Q of your own; gives --seq and --head-dim", value, picture},
    FlagInfo{"--k", "FILE.csv", "Values", "a K of your own; gives --seq-kv", value, picture},
    FlagInfo{"--v", "FILE.csv", "Values", "a V of your own; gives --seq-kv", value, picture},
    FlagInfo{"--json", "[FILE]", "Output", "one JSON object, to FILE or in place of the table", optional_value,
             simulate | measure | validate},
    FlagInfo{"--trace", "FILE", "Output", "a trace that opens in Perfetto and chrome://tracing", value, simulate},
    FlagInfo{"--suite", "FILE", "Output", "the list of cases to measure", value, measure},
    FlagInfo{"--bundle", "FILE", "Output", "the measurement bundle to hold the model against", value, validate},
    FlagInfo{"--out", "FILE", "Output", "the file to write", value, render | calibrate},
    FlagInfo{"--step", "N", "Picture", "the step to show; 0 is before anything ran [a few steps in]", value, picture},
    FlagInfo{"--race", "", "Picture", "standard attention beside the algorithm, on one clock", toggle, picture, "--compare"},
    FlagInfo{"--view", "NAME", "Picture", "what the middle shows: stage, roofline, fit, sweep, what_if or validate [stage]", value, picture},
    FlagInfo{"--panel", "NAME", "Picture", "one panel only: listing, stage, softmax, traffic, timeline or race", value, render},
    FlagInfo{"--size", "WxH", "Picture", "width and height in pixels [1600x900]", value, picture},
    FlagInfo{"--scale", "F", "Picture", "size of text and controls, 0.5 to 4 [1]", value, picture},
    FlagInfo{"--theme", "NAME", "Picture", "dark or light [dark]", value, picture},
    FlagInfo{"--language", "CODE", "Picture", "en or ko [en]", value, picture},
};

}  // namespace

std::span<const CommandInfo> command_table() {
  return commands;
}
std::span<const FlagInfo> flag_table() {
  return flags;
}

std::string_view to_string(CommandKind command) {
  for (const CommandInfo& row : commands)
    if (row.kind == command) return row.name;
  return "the window";
}

}  // namespace tilescope
