// Parses the command line with CLI11 and turns its messages into one line with a suggestion.
//
//   arguments ──CLI11──► texts by flag ──build()──► CommandLine
#include "app/cli/command_line.h"

#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/cli/help.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

/// The texts after each flag, in order; a toggle has one.
using Texts = std::map<std::string_view, std::vector<std::string>>;

const FlagInfo* find_flag(std::string_view name) {
  for (const FlagInfo& flag : flag_table())
    if (flag.name == name || (!flag.alias.empty() && flag.alias == name)) return &flag;
  return nullptr;
}

/// The CLI11 parser of one command (or the window) and its options.
struct Parser {
  CLI::App* app = nullptr;
  CommandKind command = CommandKind::window;
  std::vector<std::pair<const FlagInfo*, CLI::Option*>> options;
};

void add_flags(Parser& parser) {
  for (const FlagInfo& flag : flag_table()) {
    if (!takes(flag, parser.command)) continue;
    const std::string meaning(flag.meaning);
    const std::string name = flag.alias.empty() ? std::string(flag.name) : fmt::format("{},{}", flag.name, flag.alias);
    CLI::Option* option = nullptr;
    if (flag.shape == FlagShape::toggle) {
      option = parser.app->add_flag(name)->description(meaning)->disable_flag_override();
    } else {
      option = parser.app->add_option(name)->description(meaning)->type_name(std::string(flag.value));
      option->expected(flag.shape == FlagShape::optional_value ? 0 : 1, 1)->allow_extra_args(false);
      if (flag.shape == FlagShape::repeated) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    option->group(std::string(flag.group));
    parser.options.emplace_back(&flag, option);
  }
}

/// Explains an argument that CLI11 could not place.
Error unknown_argument(std::string_view argument, CommandKind command) {
  const std::string shown = printable(argument);
  if (!argument.starts_with("-") || argument.size() < 2) {
    if (command != CommandKind::window) return Error{fmt::format("unexpected '{}' after {}", shown, to_string(command))};
    std::vector<std::string_view> names;
    for (const CommandInfo& row : command_table()) names.push_back(row.name);
    return Error{fmt::format("unknown command '{}': {}", shown, name_hint(argument, names))};
  }
  const std::string_view name = argument.substr(0, argument.find('='));
  if (const FlagInfo* flag = find_flag(name)) {
    std::string takers;
    for (const CommandKind other : {CommandKind::window, CommandKind::simulate, CommandKind::render, CommandKind::sweep,
                                    CommandKind::search, CommandKind::measure, CommandKind::validate, CommandKind::calibrate})
      if (takes(*flag, other)) takers += fmt::format("{}{}", takers.empty() ? "" : ", ", to_string(other));
    return Error{fmt::format("{} is not a flag of {}, but of {}", flag->name, to_string(command), takers)};
  }
  std::vector<std::string_view> names = {"--help", "--version"};
  for (const FlagInfo& flag : flag_table())
    if (takes(flag, command)) names.push_back(flag.name);
  const auto nearest = nearest_name(name, names);
  return Error{nearest ? fmt::format("unknown flag {}: did you mean {}?", shown, *nearest)
                       : fmt::format("unknown flag {}: see tilescope {}--help", shown,
                                     command == CommandKind::window ? "" : fmt::format("{} ", to_string(command)))};
}

/// Explains a known flag with wrong use. CLI11 names the flag only in its text.
Error misused_flag(std::string_view message) {
  for (const FlagInfo& flag : flag_table()) {
    const std::size_t at = message.find(flag.name.substr(2));
    const std::size_t end = at + flag.name.size() - 2;
    const bool whole_word = at != std::string_view::npos && (end == message.size() || message[end] == ':' || message[end] == ' ') &&
                            (at == 0 || message[at - 1] == '-' || message[at - 1] == ' ');
    if (!whole_word) continue;
    if (flag.shape == FlagShape::toggle) return Error{fmt::format("{} takes no value", flag.name)};
    if (message.find("missing") != std::string_view::npos || message.find("got 0") != std::string_view::npos)
      return Error{fmt::format("{} needs a value: {}", flag.name, flag.meaning)};
    return Error{fmt::format("{} is given more than once", flag.name)};
  }
  return Error{fmt::format("the command line cannot be read: {}", printable(message, 160))};
}

std::optional<Error> collect(const Parser& parser, Texts& texts) {
  for (const auto& [flag, option] : parser.options) {
    if (option->count() == 0) continue;
    std::vector<std::string>& values = texts[flag->name];
    if (!values.empty() && flag->shape != FlagShape::repeated) return Error{fmt::format("{} is given more than once", flag->name)};
    values.insert(values.end(), option->results().begin(), option->results().end());
    if (values.empty()) values.emplace_back();
    // CLI11 takes the next argument as the value, even a flag.
    for (const std::string& value : values)
      if (flag->shape != FlagShape::toggle && value.starts_with("--"))
        return Error{fmt::format("{} needs a value: {}", flag->name, flag->meaning)};
  }
  return std::nullopt;
}

/// Turns texts into a CommandLine; keeps the first invalid text as the error.
class CommandLineBuilder {
 public:
  CommandLineBuilder(const Texts& texts, CommandKind command) : texts_(texts) { line_.command = command; }

  Result<CommandLine> build() {
    problem();
    picture();
    for (const auto& [name, target] : {std::pair{"--trace", &line_.trace},
                                       {"--suite", &line_.suite},
                                       {"--commit", &line_.commit},
                                       {"--probe", &line_.probe},
                                       {"--samples", &line_.samples},
                                       {"--bundle", &line_.bundle},
                                       {"--list", &line_.list},
                                       {"--markdown", &line_.markdown},
                                       {"--out", &line_.out},
                                       {"--panel", &line_.panel},
                                       {"--gpu", &line_.gpu},
                                       {"--algorithm", &line_.algorithm},
                                       {"--over", &line_.over},
                                       {"--csv", &line_.csv},
                                       {"--png", &line_.png},
                                       {"--q", &line_.q_file},
                                       {"--k", &line_.k_file},
                                       {"--v", &line_.v_file}}) {
      if (const std::string* given = text(name)) {
        if (given->empty()) return Error{fmt::format("{} is empty: {}", name, find_flag(name)->meaning)};
        *target = *given;
      }
    }
    if (const std::string* given = text("--json")) line_.json = *given;
    for (const auto& [name, target] :
         {std::pair{"--set", &line_.overrides}, {"--mask", &line_.masks}, {"--preset", &line_.presets}, {"--table", &line_.tables}})
      if (const auto given = texts_.find(name); given != texts_.end()) *target = given->second;
    if (const std::string* given = text("--score")) line_.score = *given;
    if (!error_ && line_.command == CommandKind::render && line_.out.empty()) return Error{"render needs --out FILE.png"};
    line_.algorithm_given = text("--algorithm") != nullptr;
    if (!error_ && line_.command == CommandKind::sweep && line_.over.empty())
      return Error{"sweep needs --over KEY=RANGE: for example --over seq=64:1024:x2"};
    if (!error_ && line_.probe.empty() && (line_.probe_block || line_.probe_row))
      return Error{
          fmt::format("{} chooses the recorded row: it needs --probe FILE", line_.probe_row ? "--probe-row" : "--probe-block")};
    if (!error_ && line_.brief && !line_.out.empty()) return Error{"--brief measures too little for a spec: omit --brief or --out"};
    if (error_) return *error_;
    return std::move(line_);
  }

 private:
  const std::string* text(std::string_view name) const {
    const auto found = texts_.find(name);
    return found == texts_.end() ? nullptr : &found->second.front();
  }

  void keep(const Error& error) {
    if (!error_) error_ = error;
  }

  std::optional<std::int64_t> whole(std::string_view name, std::int64_t minimum, std::int64_t maximum) {
    const std::string* given = text(name);
    if (given == nullptr) return std::nullopt;
    const auto number = whole_number(name, *given, minimum, maximum);
    if (!number) keep(number.error());
    return number ? std::optional(*number) : std::nullopt;
  }

  /// Parses one of a few names.
  template <class T, class From>
  void choice(std::string_view name, std::span<const std::string_view> names, From from, T& target) {
    const std::string* given = text(name);
    if (given == nullptr) return;
    if (const auto value = from(*given))
      target = *value;
    else
      keep(Error{fmt::format("{} is '{}': {}", name, printable(*given), name_hint(*given, names))});
  }

  void problem() {
    constexpr std::int64_t largest_size = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t largest_head_dim = 256, most_blocks_per_sm = 1024;
    line_.batch = whole("--batch", 1, largest_size).value_or(1);
    line_.heads = whole("--heads", 1, largest_size).value_or(1);
    line_.kv_heads = whole("--kv-heads", 1, largest_size);
    line_.seq = whole("--seq", 1, largest_size);
    line_.seq_kv = whole("--seq-kv", 1, largest_size);
    line_.head_dim = whole("--head-dim", 1, largest_head_dim);
    line_.block_q = whole("--block-q", 1, TileShape::most_rows);
    line_.block_kv = whole("--block-kv", 1, TileShape::most_rows);
    line_.stages = whole("--stages", 1, ProgramTile::most_stages);
    line_.top = whole("--top", 1, 100000);
    line_.mask_block = whole("--mask-block", 1, largest_size);
    std::vector<std::string_view> orders;
    for (const BlockOrderInfo& row : block_orders()) orders.push_back(row.id);
    choice("--block-order", orders, block_order_from, line_.block_order);
    constexpr std::string_view key_orders[] = {"ascending", "descending"};
    choice("--key-order", key_orders, key_order_from, line_.key_order);
    if (const auto count = whole("--blocks-per-sm", 1, most_blocks_per_sm)) line_.blocks_per_sm = static_cast<int>(*count);
    line_.probe_block = whole("--probe-block", 0, std::numeric_limits<std::int64_t>::max());
    line_.probe_row = whole("--probe-row", 0, largest_size);
    constexpr std::string_view types[] = {"fp16", "bf16", "fp32"}, passes[] = {"forward", "backward", "both"};
    choice("--dtype", types, data_type_from, line_.dtype);
    choice("--pass", passes, pass_from, line_.pass);
    line_.causal = text("--causal") != nullptr;
    line_.gpu_given = text("--gpu") != nullptr;
    line_.sample = text("--sample") != nullptr;
    line_.brief = text("--brief") != nullptr;
    line_.quiet = text("--quiet") != nullptr;
  }

  void picture() {
    line_.step = whole("--step", 0, std::numeric_limits<std::int64_t>::max());
    line_.race = text("--race") != nullptr;
    if (const std::string* given = text("--seed")) {
      if (const auto seed = unsigned_number("--seed", *given))
        line_.seed = *seed;
      else
        keep(seed.error());
    }
    if (const std::string* given = text("--size")) {
      if (const auto size = picture_size("--size", *given))
        line_.size = *size;
      else
        keep(size.error());
    }
    if (const std::string* given = text("--scale")) {
      if (const auto scale = real_number("--scale", *given, 0.5, 4))
        line_.scale = *scale;
      else
        keep(scale.error());
    }
    constexpr std::string_view themes[] = {"dark", "light"}, languages[] = {"en", "ko"};
    const auto theme_from = [](std::string_view name) -> std::optional<ThemeKind> {
      if (name == "dark") return ThemeKind::dark;
      if (name == "light") return ThemeKind::light;
      return std::nullopt;
    };
    const auto language_from = [&](const std::string& name) -> std::optional<std::string> {
      for (std::string_view known : languages)
        if (name == known) return name;
      return std::nullopt;
    };
    std::vector<std::string_view> views;
    for (const CenterViewInfo& row : center_views()) views.push_back(row.id);
    choice("--view", views, center_view_from, line_.view);
    constexpr std::string_view plots[] = {"hbm", "l2", "time"};
    const auto plot_from = [&](std::string_view name) -> std::optional<SweepQuantity> {
      for (std::size_t i = 0; i < std::size(plots); ++i)
        if (name == plots[i]) return static_cast<SweepQuantity>(i);
      return std::nullopt;
    };
    choice("--plot", plots, plot_from, line_.quantity);
    constexpr std::string_view lanes[] = {"units", "sms"};
    choice(
        "--lanes", lanes,
        [](std::string_view name) {
          return name == "sms" ? std::optional(true) : name == "units" ? std::optional(false) : std::nullopt;
        },
        line_.by_sm);
    choice("--theme", themes, theme_from, line_.theme);
    choice("--language", languages, language_from, line_.language);
  }

  const Texts& texts_;
  CommandLine line_;
  std::optional<Error> error_;
};

CommandLine print(std::string text) {
  CommandLine line;
  line.command = CommandKind::print;
  line.text = std::move(text);
  return line;
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<const std::string> arguments) {
  CLI::App app;
  std::vector<Parser> parsers = {{&app, CommandKind::window, {}}};
  for (const CommandInfo& row : command_table())
    parsers.push_back({app.add_subcommand(std::string(row.name), std::string(row.summary)), row.kind, {}});
  for (Parser& parser : parsers) {
    parser.app->allow_extras();
    add_flags(parser);
  }
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", version_text(), "the version");
  describe(app);

  const Parser* chosen = &parsers.front();
  const auto choose = [&] {
    for (const Parser& parser : parsers)
      if (parser.app != &app && parser.app->parsed()) chosen = &parser;
  };
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 pops arguments from the back
  } catch (const CLI::CallForHelp&) {
    choose();
    return print(chosen->app->help(chosen->app == &app ? "" : "tilescope"));
  } catch (const CLI::CallForVersion&) { return print(version_text() + "\n"); } catch (const CLI::ParseError& error) {
    return misused_flag(error.what());
  }
  choose();
  Texts texts;
  for (const Parser& parser : parsers) {
    if (parser.app != &app && &parser != chosen) continue;
    // Flags of the command may also come before it.
    for (const auto& [flag, option] : parser.options)
      if (option->count() > 0 && !takes(*flag, chosen->command)) return unknown_argument(flag->name, chosen->command);
    if (const auto error = collect(parser, texts)) return *error;
    const auto extras = parser.app->remaining();
    if (!extras.empty()) return unknown_argument(extras.front(), parser.command);
  }
  return CommandLineBuilder(texts, chosen->command).build();
}

}  // namespace tilescope
