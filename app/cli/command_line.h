// CommandLine: the parsed request. No file has been read and no GPU loaded yet.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli/flags.h"
#include "app/cli/numbers.h"
#include "app/model/session/studies.h"
#include "app/model/session/window_options.h"
#include "app/model/state/center_views.h"
#include "app/platform/theme_kind.h"
#include "sim/core/attention_problem.h"

namespace tilescope {

struct Deck;         // app/model/state/deck.h
struct WindowState;  // app/model/state/window_state.h

struct CommandLine {
  CommandKind command = CommandKind::window;
  std::string text;  // for print: the help or the version

  std::string algorithm{default_algorithm};  // of sweep: ids with commas between
  bool algorithm_given = false;
  std::string gpu = "toy";
  bool gpu_given = false;
  std::vector<std::string> overrides;  // "l2.capacity_bytes=0"
  std::int64_t batch = 1, heads = 1;
  std::optional<std::int64_t> kv_heads, seq, seq_kv, head_dim;  // absent: as heads, 64, as seq, 16, or a CSV matrix's size
  DataType dtype = DataType::fp16;
  bool causal = false;
  std::vector<std::string> masks, presets, tables;  // as typed; tables as NAME=FILE
  std::vector<std::string> table_gradients;
  std::optional<std::string> score;
  std::optional<std::int64_t> mask_block, page_size;
  std::optional<PageOrder> page_order;
  std::optional<Pass> pass;  // forward, or that of a backward algorithm
  std::optional<std::int64_t> block_q, block_kv, stages;
  BlockOrder block_order = BlockOrder::launch;
  KeyOrder key_order = KeyOrder::ascending;
  std::optional<int> blocks_per_sm;

  std::uint64_t seed = 1;
  std::string q_file, k_file, v_file, do_file;
  bool on_cpu = false;  // of run: --device cpu

  std::optional<std::string> json;  // empty or "-": standard output
  std::string trace, suite, commit, probe, samples, bundle, ncu, list, markdown, out, panel;
  std::optional<std::int64_t> probe_block, probe_row;
  bool brief = false, sample = false, quiet = false;
  std::string over, csv, png;
  std::optional<std::int64_t> top;
  std::optional<double> finer;  // seconds
  SweepQuantity quantity{};
  std::optional<std::int64_t> step;
  std::optional<ExportSteps> steps;  // of export
  std::optional<Grain> grain;
  std::optional<int> fps;
  std::optional<double> seconds;
  bool caption = true;
  std::string sheet;
  Race race;
  bool present = false;
  CenterView view = CenterView::stage;
  std::optional<bool> by_sm;
  std::optional<ThemeKind> theme;
  std::optional<PictureSize> size;
  std::optional<double> scale;
  std::optional<std::string> language;

  std::string open, deck;    // a link or a file, as typed
  std::optional<int> scene;  // 1 first
  /// What --open and --deck lead to, once read: every field that no flag gave is as it says.
  std::shared_ptr<const WindowState> base;
  std::shared_ptr<const Deck> scenes;
  std::map<std::string, std::vector<std::string>, std::less<>> given;  // the texts behind each flag, as typed
  std::array<std::string, 2> compared;                                 // of `compare`: two links or files
  std::string lesson_action, lesson;  // of `lesson`: list, check or open, and an id; of render: --lesson
};

/// Parses the arguments after the program's name.
/// Errors  unknown command or flag (with the nearest one that exists), a flag without its value or given twice, an
///         invalid number or name; render and calibrate without --out.
Result<CommandLine> parse_command_line(std::span<const std::string> arguments);

/// The same command line on top of a state: it says what no flag gave. Sizes and the GPU are then all given.
/// Errors  those of parse_command_line(); of the flags, a value that the command does not take.
Result<CommandLine> on_top_of(const WindowState& base, const CommandLine& line);

}  // namespace tilescope
