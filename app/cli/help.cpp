// Builds the texts of --help and --version.
#include "app/cli/help.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/cli/flags.h"
#include "app/model/requests/assets.h"
#include "sim/core/gpu_spec.h"
#include "sim/masks/presets.h"
#include "sim/programs/tile_program.h"

namespace tilescope {

namespace {

constexpr std::string_view version = "0.1.0";  // a test compares it with CMakeLists.txt

constexpr std::string_view program_examples =
    "Without a command, the window opens. Problem flags set what it shows:\n"
    "  tilescope --algorithm flash1 --seq 128\n"
    "  tilescope --gpu h200 --heads 16 --seq 4096 --head-dim 64 --causal\n"
    "  tilescope --race                        standard attention next to FlashAttention-2\n"
    "\n"
    "The defaults (batch 1, 1 head, 64 queries and keys, head dimension 16, fp16, toy) are small enough to step through;\n"
    "the window opens on the same problem.\n"
    "`tilescope COMMAND --help` describes a command.\n"
    "\n"
    "Exit codes: 0 done; 1 a check failed; 2 the request was wrong; 3 this machine lacks something.\n"
    "TILESCOPE_ASSETS sets the folder of GPU specs and lessons if it is not found.";

std::string algorithms() {
  std::string text = "Algorithms (--algorithm):\n";
  for (const ProgramInfo& row : program_table()) text += fmt::format("  {:<28}  {}: {}\n", row.id, row.title, row.summary);
  return text;
}

std::string gpus() {
  std::string text;
  for (const std::string& id : gpu_ids()) text += (text.empty() ? "" : ", ") + id;
  return fmt::format("GPUs (--gpu): {}\n", text.empty() ? "none found; set TILESCOPE_ASSETS" : text);
}

std::string masks() {
  std::string text = "Presets (--preset NAME:KEY=VALUE,…):\n";
  for (const Preset& row : presets()) {
    const std::string name = row.parameters.empty() ? std::string(row.name) : fmt::format("{}:{}", row.name, row.parameters);
    const std::string needs = row.tables.empty() ? "" : fmt::format("; needs --table {}", row.tables);
    text += fmt::format("  {:<28}{}{}{}\n", name, name.size() < 28 ? "" : "\n" + std::string(30, ' '), row.meaning, needs);
  }
  return text + "docs/masks.md has the language.\n";
}

std::string keys() {
  std::string text = "GPU values (--set KEY=VALUE):\n";
  for (const std::span<const SpecKey> rows : {spec_keys(), optional_spec_keys()})
    for (const SpecKey& row : rows) text += fmt::format("  {:<28}{}\n", row.key, row.meaning);
  text += fmt::format("  {:<28}{}\n", sm_groups_key, sm_groups_meaning);
  return text;
}

}  // namespace

std::string version_text() {
  return fmt::format("tilescope {}", version);
}

void describe(CLI::App& app) {
  constexpr std::size_t first_column = 30;
  app.name("tilescope");
  app.description("TileScope shows where every byte of an attention kernel goes, tile by tile.");
  const auto format = std::make_shared<CLI::Formatter>();
  format->column_width(first_column);
  format->label("SUBCOMMAND", "COMMAND");
  for (CLI::App* each : app.get_subcommands([](CLI::App*) { return true; })) {
    each->formatter(format);
    each->group("Commands");
    each->set_help_flag("-h,--help", "this text");
  }
  app.set_help_flag("-h,--help", "this text");
  app.formatter(format);
  app.footer([] { return algorithms() + "\n" + gpus() + "\n" + std::string(program_examples); });
  for (const CommandInfo& row : command_table()) {
    const CommandInfo* info = &row;
    app.get_subcommand(std::string(row.name))->footer([info] {
      std::string text;
      for (const FlagInfo& flag : flag_table())
        if (flag.name == "--algorithm" && takes(flag, info->kind)) text += algorithms() + "\n";
      for (const FlagInfo& flag : flag_table())
        if (flag.name == "--set" && takes(flag, info->kind)) text += gpus() + "\n" + keys() + "\n";
      for (const FlagInfo& flag : flag_table())
        if (flag.name == "--preset" && takes(flag, info->kind)) text += masks() + "\n";
      return text + std::string(info->examples);
    });
  }
}

}  // namespace tilescope
