// The table of commands and flags.
#include "app/cli/flags.h"

#include <array>
#include <string>
#include <utility>

#include "app/cli/search.h"
#include "sim/programs/program_names.h"

namespace tilescope {

namespace {

constexpr unsigned bit(CommandKind command) {
  return 1u << static_cast<unsigned>(command);
}

constexpr unsigned window = bit(CommandKind::window), simulate = bit(CommandKind::simulate), render = bit(CommandKind::render),
                   measure = bit(CommandKind::measure), validate = bit(CommandKind::validate),
                   calibrate = bit(CommandKind::calibrate), sweep = bit(CommandKind::sweep), search = bit(CommandKind::search),
                   exported = bit(CommandKind::exported), lesson = bit(CommandKind::lesson), run = bit(CommandKind::run),
                   compare = bit(CommandKind::compare);
constexpr unsigned opens = window | simulate | render | exported | sweep | search | run | measure | validate;
constexpr unsigned problem = opens | compare;
constexpr unsigned tiled = window | simulate | render | exported | sweep | compare | run | measure | validate;
constexpr unsigned model = window | simulate | render | exported | sweep | compare | validate;
constexpr unsigned masked = problem;
constexpr unsigned values = window | render | exported;
constexpr unsigned picture = window | render | exported | sweep;

constexpr std::array commands = {
    CommandInfo{
        CommandKind::simulate, "simulate", "simulate and print bytes, work, memory and time; --json for programs",
        "Examples:\n"
        "  tilescope simulate\n"
        "  tilescope simulate --algorithm standard --gpu h200 --heads 16 --seq 4096 --head-dim 64\n"
        "  tilescope simulate --gpu h200 --heads 16 --seq 4096 --head-dim 64 --causal --json result.json --trace trace.json\n"
        "  tilescope simulate --gpu h200 --seq 4096 --set l2.capacity_bytes=0        no L2\n"
        "  tilescope simulate --gpu h200 --heads 16 --seq 4096 --head-dim 64 --causal --block-order longest\n"
        "\n"
        "Open the --trace file at https://ui.perfetto.dev. Exit codes: 0 done, 2 wrong request."},
    CommandInfo{CommandKind::render, "render", "draw the window or one panel into a PNG; needs no display",
                "Examples:\n"
                "  tilescope render --out flash2.png\n"
                "  tilescope render --algorithm flash1 --step 40 --theme light --size 1280x720 --out flash1.png\n"
                "  tilescope render --panel softmax --q my_queries.csv --out softmax.png\n"
                "  tilescope render --race --seq 128 --out race.png\n"
                "  tilescope render --gpu h200 --algorithm standard --seq 4096 --head-dim 64 --lanes sms --out sms.png\n"
                "\n"
                "Equal options write equal bytes."},
    CommandInfo{CommandKind::exported, "export",
                "write steps as a film, pictures, a vector picture or a page, or a table or trace of the run; needs no display",
                "Examples:\n"
                "  tilescope export --steps 0:40 --out flash2.gif\n"
                "  tilescope export --algorithm standard --steps 0:end --grain tile --out standard.mp4\n"
                "  tilescope export --panel stage --steps 12 --theme light --out stage.svg\n"
                "  tilescope export --steps 0:30 --out step.png                 step-00.png, step-01.png, …\n"
                "  tilescope export --steps 0:40 --out flash2.html              a page that steps with the arrow keys\n"
                "  tilescope export --lesson 6 --out lesson6.html               all pages of a lesson, to step through without the "
                "program\n"
                "  tilescope export --gpu h200 --seq 4096 --head-dim 64 --sheet waits --out waits.csv\n"
                "  tilescope export --out trace.json                            for https://ui.perfetto.dev\n"
                "  tilescope export --preset causal --out lists.npy             the eight arrays of PyTorch's BlockMask\n"
                "\n"
                "The file's ending chooses the format: .gif .mp4 .png .svg .html .csv .json .npy. A film eases from step to step.\n"
                "Exit codes: 0 done, 2 wrong request, 3 no OpenGL, or no encoder for this format."},
    CommandInfo{CommandKind::sweep, "sweep",
                "simulate over a range of one value, on all cores; prints a table, CSV, JSON or a picture",
                "Examples:\n"
                "  tilescope sweep --over seq=64:1024:x2                                     standard, flash1 and flash2 on toy\n"
                "  tilescope sweep --over seq=256:16384:x2 --gpu h200 --heads 16 --head-dim 64 --csv sweep.csv --png sweep.png\n"
                "  tilescope sweep --over block_q=16:256:x2 --algorithm flash2 --gpu h200 --seq 4096 --head-dim 64\n"
                "  tilescope sweep --over shared_bytes=8192:262144:x2 --algorithm flash1 --gpu textbook --seq 1024 --head-dim 64\n"
                "  tilescope sweep --over hbm.bytes_per_second=1e12:8e12:+1e12 --gpu h200 --seq 4096 --head-dim 64 --plot time "
                "--png hbm.png\n"
                "\n"
                "Ranges: FROM:TO:x2 doubles, FROM:TO:+32 adds, A,B,C lists. Keys: seq, seq_kv, head_dim, batch, heads, block_q,\n"
                "block_kv, shared_bytes (M) and every key of --set. An existing --csv or --json file of the same sweep is "
                "continued.\n"
                "Ctrl-C keeps the finished points (exit code 130); the same command continues."},
    CommandInfo{
        CommandKind::search, "search", "rank tiles, buffers and orders by predicted time, on all cores",
        "Examples:\n"
        "  tilescope search --gpu h200 --heads 16 --seq 4096 --head-dim 128 --causal\n"
        "  tilescope search --gpu h200 --algorithm flash2 --heads 32 --seq 8192 --head-dim 64 --top 20 --json ranking.json\n"
        "  tilescope search --gpu h200 --preset sliding_window:window=256 --algorithm flex --heads 8 --seq 16384 --head-dim 64\n"
        "\n"
        "Simulates every tile that fits, with one to three buffers, then the six best in every order of blocks and keys.\n"
        "`own` is the kernel as it stands. On the GPU that is searched for, kernels among the rows are measured too.\n"
        "Ctrl-C ranks what was simulated by then (exit code 130)."},
    CommandInfo{
        CommandKind::compare, "compare", "simulate two runs and print what differs: bytes by tensor and link, time and needs",
        "Examples:\n"
        "  tilescope compare algorithm=standard algorithm=flash2 --gpu h200 --heads 16 --seq 4096 --head-dim 64\n"
        "  tilescope compare gpu=h100 gpu=h200 --heads 16 --seq 4096 --head-dim 128 --csv differences.csv\n"
        "  tilescope compare before.toml after.toml --json differences.json\n"
        "\n"
        "A and B are links of the window, or files with one, as --open takes them. Flags hold for both, and override their links.\n"
        "Both runs have one clock, that under load of A; on two GPUs each has its own. Exit codes: 0 done, 2 wrong request."},
    CommandInfo{
        CommandKind::measure, "measure", "run the real kernel and read the hardware counters; needs an NVIDIA GPU",
        "Examples:\n"
        "  tilescope measure                                               flash2 on 1024 queries and keys, head dimension 64\n"
        "  tilescope measure --algorithm standard --heads 16 --seq 4096 --head-dim 128 --causal\n"
        "  tilescope measure --algorithm standard_cublas --seq 4096        the standard kernel with cuBLASLt products\n"
        "  tilescope measure --suite default --json my_gpu.json            all cases of the suite, as a bundle for validate\n"
        "  tilescope measure --heads 8 --probe probe.json                  the kernel with the probe\n"
        "  tilescope measure --algorithm flash1 --heads 8 --probe probe.json --probe-block 3 --probe-row 77\n"
        "  tilescope measure --seq 8192 --samples hbm.json                 HBM bandwidth while the kernel runs\n"
        "\n"
        "Times come from CUDA events, without the profiler. If the driver refuses counters, times and the float64 check remain.\n"
        "A line of a suite file: kernel batch heads kv_heads seq_q seq_kv head_dim fp16|bf16 full|causal build|judge.\n"
        "Exit codes: 0 done, 1 a result is wrong or a case could not be measured, 2 wrong request, 3 no GPU."},
    CommandInfo{
        CommandKind::validate, "validate", "hold the simulation against a measurement bundle; exit code 1 beyond its bounds",
        "Examples:\n"
        "  tilescope validate                                        the bundle that comes with the program\n"
        "  tilescope validate --bundle my_gpu.json --json errors.json\n"
        "  tilescope validate --gpu my_gpu.toml                      against another spec than the shipped one\n"
        "  tilescope validate --list build                           only the cases of one list\n"
        "  tilescope validate --sample                               some cases of every kernel, in a minute\n"
        "  tilescope validate --csv results.csv --markdown docs/validation.md\n"
        "  tilescope validate --ncu profile.csv --gpu h200 --heads 16 --seq 4096 --head-dim 64     your own profile\n"
        "\n"
        "Needs no GPU. Every case is simulated, on all cores. A figure is within its bound, within the hardware's own spread,\n"
        "a known miss, or fails. Known misses are listed in a file beside the bundle; with --gpu they do not apply.\n"
        "Exit codes: 0 no figure fails, 1 one fails, 2 wrong request, 3 no bundle."},
    CommandInfo{
        CommandKind::run, "run", "run an algorithm on tensors of your own, .npy files, and write what it computes",
        "Examples:\n"
        "  tilescope run --q Q.npy --k K.npy --v V.npy --out results                     the CUDA kernel: O.npy and L.npy\n"
        "  tilescope run --device cpu --causal --q Q.npy --k K.npy --v V.npy --out results     the tile machine, without a GPU\n"
        "  tilescope run --device cpu --algorithm flash1 --q Q.npy --k K.npy --v V.npy --do dO.npy --out results\n"
        "  tilescope run --device cpu --preset sliding_window:window=64 --dtype bf16 --q Q.npy --k K.npy --v V.npy --out results\n"
        "\n"
        "Q is [B,H,N,d], K and V are [B,Hkv,Nk,d], float16 or float32. Sizes follow from the files. Float32 is a problem in fp32,\n"
        "or rounded to --dtype fp16 or bf16. --do adds dQ.npy, dK.npy and dV.npy. L is the log-sum-exp of each row.\n"
        "Exit codes: 0 done, 2 wrong request, 3 no GPU for --device gpu."},
    CommandInfo{CommandKind::calibrate, "calibrate", "measure a GPU and write its spec; needs an NVIDIA GPU",
                "Examples:\n"
                "  tilescope calibrate                                       the spec to standard output\n"
                "  tilescope calibrate --out my_gpu.toml\n"
                "  tilescope calibrate --gpu h100 --out my_gpu.toml          for a GPU without a shipped spec\n"
                "\n"
                "Takes a few seconds. Values that no micro-benchmark can see come from the shipped spec of the same name, or from "
                "--gpu.\n"
                "docs/calibration.md says how each value is measured."},
    CommandInfo{CommandKind::lesson, "lesson",
                "list the lessons, check them, or open one: lesson list | check [ID] | open ID[:PAGE]",
                "Examples:\n"
                "  tilescope lesson list\n"
                "  tilescope lesson open 1\n"
                "  tilescope lesson open 20:6                                the sixth page of lesson 20\n"
                "  tilescope lesson open 01-why-memory --language ko\n"
                "  tilescope lesson check                                    every page of every lesson, in both languages\n"
                "  tilescope lesson check 3\n"
                "\n"
                "ID is a number, a name or the path of an .md file. docs/lessons.md says how to write one.\n"
                "Exit codes: 0 done, 1 a lesson does not hold, 2 wrong request, 3 no display for open."},
};

using enum FlagShape;

constexpr std::array flags = {
    FlagInfo{"--open", "LINK|FILE", "Problem", "a state of the window by its link, or a file with one; other flags override it",
             value, opens},
    FlagInfo{"--algorithm", "ID", "Problem",
             "program to run [{default}; {masks} with --mask, --preset, --score or --page-size]; listed below", value, problem, "",
             "", "programs to compare, separated by commas [{buttons}; with a mask {masks} too{hopper}]; listed below"},
    FlagInfo{"--batch", "B", "Problem", "batch size [1]", value, problem},
    FlagInfo{"--heads", "H", "Problem", "query heads [1]", value, problem},
    FlagInfo{"--kv-heads", "H", "Problem", "key and value heads, shared evenly by the query heads [--heads]", value, problem},
    FlagInfo{"--seq", "N", "Problem", "queries [64]", value, problem},
    FlagInfo{"--seq-kv", "N", "Problem", "keys and values [--seq]", value, problem},
    FlagInfo{"--head-dim", "D", "Problem", "head dimension, 1 to 256 [16]", value, problem},
    FlagInfo{"--dtype", "TYPE", "Problem", "fp16, bf16 or fp32 [fp16]; accumulation is always fp32", value, problem},
    FlagInfo{"--causal", "", "Problem", "causal mask; the last query sees every key", toggle, problem},
    FlagInfo{"--mask", "EXPR", "Problem", "condition over b, h, q, kv: the visible keys; several must all hold [none]", repeated,
             masked},
    FlagInfo{"--score", "EXPR", "Problem", "what replaces the score, over score, b, h, q, kv; needs one of {lists} [score]", value,
             masked},
    FlagInfo{"--preset", "NAME[:K=V,…]", "Problem", "a mask or a score change by name; listed below; may be given many times",
             repeated, masked},
    FlagInfo{"--table", "NAME=FILE", "Problem", "numbers for --mask and --score, from .csv or .npy; may be given many times",
             repeated, masked},
    FlagInfo{"--table-gradient", "NAME", "Problem",
             "a table of --score whose gradient the backward pass makes; NAME:in_order adds in a fixed order", repeated, masked},
    FlagInfo{"--mask-block", "N", "Problem",
             "queries and keys of a block of the lists [128 where the tile divides it, else the tile]", value, masked},
    FlagInfo{"--page-size", "P", "Problem", "keys of a page: K and V lie in a pool of pages; needs one of {pages} [0: no pages]",
             value, masked},
    FlagInfo{"--page-order", "NAME", "Problem", "shuffled or contiguous: where the pages lie in the pool [shuffled]", value,
             masked},
    FlagInfo{"--pass", "PASS", "Problem", "forward, backward or both: flash2 backward is flash2_backward [forward]", value,
             problem},
    FlagInfo{"--block-q", "BR", "Problem", "query rows of a tile [that of the program on this GPU]", value, tiled},
    FlagInfo{"--block-kv", "BC", "Problem", "key rows of a tile [that of the program on this GPU]", value, tiled},
    FlagInfo{"--stages", "S", "Problem", "buffers of the ring of K and V, 1 to 8, where the kernel has one [that of the kernel]",
             value, model},
    FlagInfo{"--block-order", "NAME", "Problem", "launch, heads, reversed, longest or grouped: which blocks come first [launch]",
             value, model},
    FlagInfo{"--key-order", "NAME", "Problem", "ascending or descending: how a block walks its key tiles [ascending]", value,
             tiled},
    FlagInfo{"--blocks-per-sm", "K", "Problem", "blocks that share an SM [as many as fit]", value, model},
    FlagInfo{"--gpu", "ID|FILE", "GPU", "a GPU by name, or a .toml file of your own [toy]", value, model | search | run | calibrate,
             "", "a GPU by name, or a .toml file of your own [h200]"},
    FlagInfo{"--set", "KEY=VALUE", "GPU", "change one number of the GPU; may be given many times [none]", repeated, model | search},
    FlagInfo{"--seed", "N", "Values", "seed of the random Q, K and V [1]; values never change the traffic", value, values},
    FlagInfo{"--q", "FILE", "Values", "a Q of your own, .csv; gives --seq and --head-dim", value, values | run, "",
             "Q, a .npy of [B,H,N,d]"},
    FlagInfo{"--k", "FILE", "Values", "a K of your own, .csv; gives --seq-kv", value, values | run, "",
             "K, a .npy of [B,Hkv,Nk,d]"},
    FlagInfo{"--v", "FILE", "Values", "a V of your own, .csv; gives --seq-kv", value, values | run, "",
             "V, a .npy of [B,Hkv,Nk,d]"},
    FlagInfo{"--do", "FILE.npy", "Values", "dO, the gradient of O, [B,H,N,d]: adds the backward pass", value, run},
    FlagInfo{"--device", "NAME", "Values", "gpu runs the CUDA kernel, cpu the tile machine [gpu]", value, run},
    FlagInfo{"--json", "[FILE]", "Output", "one JSON object, to FILE or in place of the table [the table]", optional_value,
             simulate | sweep | search | compare | measure | validate},
    FlagInfo{"--over", "KEY=RANGE", "Output",
             "range: seq=256:65536:x2 doubles [x2], head_dim=32:128:+32 adds, block_q=16,64 lists; needed", value, sweep},
    FlagInfo{"--top", "N", "Output", "rows of the table [10]", value, search},
    FlagInfo{"--finer", "S", "Output", "seconds for tiles between powers of two, in steps of 16; 0 tries none [30]", value, search},
    FlagInfo{"--csv", "FILE", "Output",
             "one row per point, candidate, case or figure [no file]; a file of the same sweep is continued", value,
             sweep | search | compare | validate},
    FlagInfo{"--png", "FILE", "Output", "picture of the Sweep view, a .png [none]", value, sweep},
    FlagInfo{"--plot", "NAME", "Picture", "quantity for --png: hbm, l2, time or memory [hbm]", value, sweep},
    FlagInfo{"--trace", "FILE", "Output", "trace for Perfetto or chrome://tracing", value, simulate},
    FlagInfo{"--suite", "FILE|default|forward|backward", "Output",
             "measure a list of cases into the bundle of --json: ours (default, or those of one pass) or a file's", value, measure},
    FlagInfo{"--probe", "FILE", "Output",
             "record inside the kernel instead of counters: all blocks, the stages of one SM, m, l and alpha of one row", value,
             measure},
    FlagInfo{"--probe-block", "B", "Output",
             "block of the recorded row [last block of head 0]; for standard, a block of its softmax", value, measure},
    FlagInfo{"--probe-row", "R", "Output", "recorded row of that block [first row of its last tile]", value, measure},
    FlagInfo{"--samples", "FILE", "Output", "sample HBM reads and writes while the kernel runs, instead of counters", value,
             measure},
    FlagInfo{"--commit", "HASH", "Output", "commit of the kernels, stored in the bundle", value, measure},
    FlagInfo{"--bundle", "FILE", "Output", "the measurement bundle to hold the model against [that of assets/measured]", value,
             validate},
    FlagInfo{"--ncu", "FILE.csv", "Output",
             "counters of Nsight Compute (ncu --csv) beside the simulation of the problem flags, in place of a bundle", value,
             validate | values},
    FlagInfo{"--list", "NAME", "Output", "only the cases of this list of the bundle: build or judge [all]", value, validate},
    FlagInfo{"--sample", "", "Output", "only a stratified sample: every kernel, every ratio of HBM reads to the L2", toggle,
             validate},
    FlagInfo{"--markdown", "FILE", "Output", "the page docs/validation.md", value, validate},
    FlagInfo{"--brief", "", "Output", "a fraction of the work, to see that it runs; the values are rough, and no spec is written",
             toggle, calibrate},
    FlagInfo{"--quiet", "", "Output", "no progress on standard error [progress]", toggle,
             simulate | render | exported | sweep | search | compare | run | measure | validate | calibrate | lesson},
    FlagInfo{"--out", "FILE", "Output", "the file to write", value, render | exported | run | calibrate, "",
             "the folder to write to"},
    FlagInfo{
        "--sheet", "NAME", "Output",
        "the table of a .csv: traffic, ledger, launches, steps, waits, bandwidth, what_if, fit, compare, ladder or mask [traffic]",
        value, exported},
    FlagInfo{"--steps", "A:B", "Picture", "the steps to show, both included; a single one, or A:end [a few steps in]", value,
             exported},
    FlagInfo{"--grain", "NAME", "Picture", "from a shown step to the next: operation, tile or phase [operation]", value, exported},
    FlagInfo{"--seconds", "S", "Picture", "of a film: how long a step takes, motion and rest [1]", value, exported},
    FlagInfo{"--fps", "F", "Picture", "of a film: frames per second, 1 to 60 [20]", value, exported},
    FlagInfo{"--no-caption", "", "Picture", "without algorithm, GPU, problem, step and line above the picture", toggle, exported},
    FlagInfo{"--deck", "FILE", "Picture",
             "the scenes of a lecture; Page Up and Page Down turn them, and export makes a page, a film or pictures of them", value,
             window | render | exported},
    FlagInfo{"--scene", "N", "Picture",
             "scene of --deck to begin with, 1 first [1]; the only one of an exported .png or .svg [each]", value,
             window | render | exported},
    FlagInfo{"--step", "N", "Picture", "the step to show; 0 is before anything ran [a few steps in]", value, window | render},
    FlagInfo{"--race", "", "Picture", "the baseline of its kind (standard attention) beside the algorithm, on one clock [off]",
             toggle, values, "--compare"},
    FlagInfo{"--race-with", "ID", "Picture", "the program beside the algorithm in a race, of the same kind [its baseline]", value,
             values},
    FlagInfo{"--view", "NAME", "Picture",
             "what the middle shows: stage, roofline, what_if, fit, sweep, compare, validate, mask, banks or ladder [stage]", value,
             values},
    FlagInfo{"--lanes", "NAME", "Picture", "the lanes of the timeline: units of the SM in focus, or sms, all of them [units]",
             value, values},
    FlagInfo{"--panel", "NAME", "Picture",
             "one panel only: listing, stage, softmax, traffic, timeline, race, presenter, or a view of the middle", value,
             render | exported},
    FlagInfo{"--lesson", "ID[:PAGE]", "Picture",
             "a page of a lesson [the first]; ID:PAGE:answered shows it after its question, ID:PAGE:answered=2 after the answer 2",
             value, render | exported},
    FlagInfo{"--present", "", "Picture", "as while presenting: larger, and only what matters [off]", toggle, render},
    FlagInfo{"--size", "WxH", "Picture", "width and height in pixels [1600x900]", value, picture | lesson},
    FlagInfo{"--scale", "F", "Picture", "size of text and controls, 0.5 to 4 [1]", value, picture | lesson},
    FlagInfo{"--theme", "NAME", "Picture", "dark or light [dark]", value, picture | lesson},
    FlagInfo{"--language", "CODE", "Picture", "en or ko [en]", value, picture | lesson},
};

}  // namespace

std::span<const CommandInfo> command_table() {
  return commands;
}
std::span<const FlagInfo> flag_table() {
  return flags;
}

const FlagInfo* find_flag(std::string_view name) {
  for (const FlagInfo& flag : flag_table())
    if (flag.name == name || (!flag.alias.empty() && flag.alias == name)) return &flag;
  return nullptr;
}

namespace {

/// The programs that `search` adds for a GPU with wgmma and no mask.
std::string programs_for_wgmma() {
  return programs_where([](const ProgramInfo& info) { return info.pass == Pass::forward && is_taken_for_wgmma(info, false); })
      .all();
}

}  // namespace

std::string FlagInfo::meaning_in(CommandKind command) const {
  std::string text(command == CommandKind::run && !in_run.empty()                                            ? in_run
                   : (command == CommandKind::sweep || command == CommandKind::search) && !in_ranges.empty() ? in_ranges
                                                                                                             : meaning);
  const std::pair<std::string_view, std::string> names[] = {
      {"{default}", std::string(default_algorithm)},
      {"{buttons}", programs_where([](const ProgramInfo& info) { return !info.button.empty(); }).all()},
      {"{masks}", std::string(program_with_lists())},
      {"{lists}", programs_where([](const ProgramInfo& info) { return info.has_lists; }).all()},
      {"{hopper}", command == CommandKind::search ? "; where the GPU has wgmma, " + programs_for_wgmma() + " too" : ""},
      {"{pages}", programs_where([](const ProgramInfo& info) { return info.takes_pages; }).all()},
  };
  for (const auto& [placeholder, ids] : names)
    if (const std::size_t at = text.find(placeholder); at != std::string::npos) text.replace(at, placeholder.size(), ids);
  return text;
}

std::string_view to_string(CommandKind command) {
  for (const CommandInfo& row : commands)
    if (row.kind == command) return row.name;
  return "the window";
}

}  // namespace tilescope
