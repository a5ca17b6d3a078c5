// Parses the command line with CLI11 and turns its messages into one line with a suggestion.
//
//   arguments ──CLI11──► texts by flag ──build()──► CommandLine
#include "app/cli/command_line.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "app/cli/help.h"
#include "app/model/state/deck.h"
#include "app/model/state/window_state.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

/// The texts after each flag, in order; a toggle has one.
using Texts = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The CLI11 parser of one command (or the window) and its options.
struct Parser {
  CLI::App* app = nullptr;
  CommandKind command = CommandKind::window;
  std::vector<std::pair<const FlagInfo*, CLI::Option*>> options;
};

void add_flags(Parser& parser) {
  for (const FlagInfo& flag : flag_table()) {
    if (!takes(flag, parser.command)) continue;
    const std::string meaning = flag.meaning_in(parser.command);
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
    for (const CommandKind other : {CommandKind::window, CommandKind::simulate, CommandKind::render, CommandKind::exported,
                                    CommandKind::sweep, CommandKind::search, CommandKind::compare, CommandKind::run,
                                    CommandKind::measure, CommandKind::validate, CommandKind::calibrate, CommandKind::lesson})
      if (takes(*flag, other)) takers += fmt::format("{}{}", takers.empty() ? "" : ", ", to_string(other));
    return Error{fmt::format("{} is not a flag of {}, but of {}", flag->name, to_string(command), takers)};
  }
  if (name == "--version") return refuse("--version has no command before it: write tilescope --version");
  std::vector<std::string_view> names = {"--help"};
  if (command == CommandKind::window) names.push_back("--version");
  for (const FlagInfo& flag : flag_table())
    if (takes(flag, command)) names.push_back(flag.name);
  const auto nearest = nearest_name(name, names);
  return Error{nearest ? fmt::format("unknown flag {}: did you mean {}?", shown, *nearest)
                       : fmt::format("unknown flag {}: see tilescope {}--help", shown,
                                     command == CommandKind::window ? "" : fmt::format("{} ", to_string(command)))};
}

/// Explains a known flag with wrong use. CLI11 names the flag only in its text.
Error misused_flag(std::string_view message, CommandKind command) {
  for (const FlagInfo& flag : flag_table()) {
    const std::size_t at = message.find(flag.name.substr(2));
    const std::size_t end = at + flag.name.size() - 2;
    const bool whole_word = at != std::string_view::npos && (end == message.size() || message[end] == ':' || message[end] == ' ') &&
                            (at == 0 || message[at - 1] == '-' || message[at - 1] == ' ');
    if (!whole_word) continue;
    if (flag.shape == FlagShape::toggle) return Error{fmt::format("{} takes no value", flag.name)};
    if (message.find("missing") != std::string_view::npos || message.find("got 0") != std::string_view::npos)
      return Error{fmt::format("{} needs a value: {}", flag.name, flag.meaning_in(command))};
    return Error{fmt::format("{} is given more than once", flag.name)};
  }
  return Error{fmt::format("the command line cannot be read: {}", printable(message, 160))};
}

std::optional<Error> collect(const Parser& parser, Texts& texts) {
  for (const auto& [flag, option] : parser.options) {
    if (option->count() == 0) continue;
    std::vector<std::string>& values = texts[std::string(flag->name)];
    if (!values.empty() && flag->shape != FlagShape::repeated) return Error{fmt::format("{} is given more than once", flag->name)};
    values.insert(values.end(), option->results().begin(), option->results().end());
    if (values.empty()) values.emplace_back();
    // CLI11 takes the next argument as the value, even a flag.
    for (const std::string& value : values)
      if (flag->shape != FlagShape::toggle && value.starts_with("--"))
        return Error{fmt::format("{} needs a value: {}", flag->name, flag->meaning_in(parser.command))};
  }
  return std::nullopt;
}

/// Turns texts into a CommandLine; keeps the first invalid text as the error.
class CommandLineBuilder {
 public:
  CommandLineBuilder(const Texts& texts, CommandKind command) : texts_(texts) {
    line_.command = command;
    line_.given = texts;
  }

  Result<CommandLine> build() {
    problem();
    picture();
    for (const auto& [name, target] : {std::pair{"--trace", &line_.trace},
                                       {"--suite", &line_.suite},
                                       {"--commit", &line_.commit},
                                       {"--probe", &line_.probe},
                                       {"--samples", &line_.samples},
                                       {"--bundle", &line_.bundle},
                                       {"--ncu", &line_.ncu},
                                       {"--list", &line_.list},
                                       {"--markdown", &line_.markdown},
                                       {"--out", &line_.out},
                                       {"--panel", &line_.panel},
                                       {"--open", &line_.open},
                                       {"--deck", &line_.deck},
                                       {"--sheet", &line_.sheet},
                                       {"--lesson", &line_.lesson},
                                       {"--gpu", &line_.gpu},
                                       {"--algorithm", &line_.algorithm},
                                       {"--over", &line_.over},
                                       {"--csv", &line_.csv},
                                       {"--png", &line_.png},
                                       {"--q", &line_.q_file},
                                       {"--k", &line_.k_file},
                                       {"--v", &line_.v_file},
                                       {"--do", &line_.do_file}}) {
      if (const std::string* given = text(name)) {
        if (given->empty()) return Error{fmt::format("{} is empty: {}", name, find_flag(name)->meaning_in(line_.command))};
        *target = *given;
      }
    }
    if (const std::string* given = text("--json")) line_.json = *given;
    for (const char* name : {"--mask", "--score", "--preset", "--table", "--table-gradient", "--set"})
      if (const auto given = texts_.find(name); given != texts_.end())
        for (const std::string& one : given->second)
          if (one.empty()) return Error{fmt::format("{} is empty: {}", name, find_flag(name)->meaning_in(line_.command))};
    for (const auto& [name, target] : {std::pair{"--set", &line_.overrides},
                                       {"--mask", &line_.masks},
                                       {"--preset", &line_.presets},
                                       {"--table", &line_.tables},
                                       {"--table-gradient", &line_.table_gradients}})
      if (const auto given = texts_.find(name); given != texts_.end()) *target = given->second;
    if (const std::string* given = text("--score")) line_.score = *given;
    if (!error_ && line_.command == CommandKind::render && line_.out.empty()) return Error{"render needs --out FILE.png"};
    if (!error_ && line_.command == CommandKind::exported && line_.out.empty())
      return Error{"export needs --out FILE: .gif, .mp4, .png, .svg, .html, .csv, .json or .npy"};
    if (!error_ && line_.command == CommandKind::run)
      for (const auto& [missing, needs] : {std::pair{line_.q_file.empty(), "--q Q.npy"},
                                           {line_.k_file.empty(), "--k K.npy"},
                                           {line_.out.empty(), "--out DIR: the folder for the results"}})
        if (missing) return Error{fmt::format("run needs {}", needs)};
    if (!error_ && line_.command == CommandKind::run && line_.out == "-")
      return Error{"--out of run is a folder, and - is standard output: name a folder"};
    line_.algorithm_given = text("--algorithm") != nullptr;
    if (!error_ && line_.command == CommandKind::sweep && line_.over.empty() && line_.open.empty())
      return Error{"sweep needs --over KEY=RANGE: for example --over seq=64:1024:x2"};
    if (!error_ && line_.probe.empty() && (line_.probe_block || line_.probe_row))
      return Error{
          fmt::format("{} chooses the recorded row: it needs --probe FILE", line_.probe_row ? "--probe-row" : "--probe-block")};
    if (!error_ && line_.command == CommandKind::validate) check_validate();
    if (!error_ && line_.brief && !line_.out.empty()) return Error{"--brief measures too little for a spec: omit --brief or --out"};
    if (error_) return *error_;
    return std::move(line_);
  }

 private:
  /// With --ncu one run of the flags is compared, without it the cases of a bundle.
  void check_validate() {
    constexpr std::array of_bundle = {"--bundle", "--list", "--sample", "--csv", "--markdown"};
    for (const char* name : of_bundle)
      if (!line_.ncu.empty() && text(name) != nullptr)
        return keep(Error{fmt::format("--ncu compares one run, {} the cases of a bundle: give one of them", name)});
    for (const auto& [name, values] : texts_)
      if (const FlagInfo* flag = find_flag(name);
          line_.ncu.empty() && flag != nullptr && (flag->group == "Problem" || flag->name == "--set"))
        return keep(
            Error{fmt::format("{} describes the run of --ncu FILE, and a bundle has its own problems: leave it out", name)});
  }

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

  void read(std::string_view name, auto parse, auto& target) {
    const std::string* given = text(name);
    if (given == nullptr) return;
    if (const auto value = parse(name, *given))
      target = *value;
    else
      keep(value.error());
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

  /// The same for names that only this flag has.
  template <class T, std::size_t n>
  void choice(std::string_view name, const std::pair<std::string_view, T> (&values)[n], auto& target) {
    std::array<std::string_view, n> names;
    std::transform(std::begin(values), std::end(values), names.begin(), [](const auto& value) { return value.first; });
    const auto from = [&](std::string_view given) {
      const auto at = std::find(names.begin(), names.end(), given) - names.begin();
      return at < std::ssize(names) ? std::optional(values[at].second) : std::nullopt;
    };
    choice(name, std::span<const std::string_view>(names), from, target);
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
    read(
        "--finer", [](auto flag, auto given) { return real_number(flag, given, 0, 3600); }, line_.finer);
    line_.mask_block = whole("--mask-block", 1, largest_size);
    line_.page_size = whole("--page-size", 0, largest_size);
    if (line_.page_size == 0) line_.page_size.reset();
    constexpr std::string_view page_orders[] = {"shuffled", "contiguous"};
    choice("--page-order", page_orders, page_order_from, line_.page_order);
    if (line_.page_order && !line_.page_size)
      keep(Error{"--page-order is the order of the pages of K and V: it needs --page-size P"});
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
    choice<bool>("--device", {{"cpu", true}, {"gpu", false}}, line_.on_cpu);
    line_.causal = text("--causal") != nullptr;
    line_.gpu_given = text("--gpu") != nullptr;
    line_.sample = text("--sample") != nullptr;
    line_.brief = text("--brief") != nullptr;
    line_.quiet = text("--quiet") != nullptr;
  }

  void steps() {
    read("--steps", step_range, line_.steps);
    choice<Grain>("--grain", {{"operation", Grain::operation}, {"tile", Grain::tile}, {"phase", Grain::phase}}, line_.grain);
    if (const auto fps = whole("--fps", 1, 60)) line_.fps = static_cast<int>(*fps);
    read(
        "--seconds", [](auto flag, auto given) { return real_number(flag, given, 0.05, 60); }, line_.seconds);
    line_.caption = text("--no-caption") == nullptr;
  }

  void picture() {
    steps();
    if (const auto scene = whole("--scene", 1, static_cast<std::int64_t>(most_scenes))) line_.scene = static_cast<int>(*scene);
    if (line_.scene && text("--deck") == nullptr) keep(Error{"--scene is a scene of a deck: it needs --deck FILE"});
    line_.step = whole("--step", 0, std::numeric_limits<std::int64_t>::max());
    line_.race.on = text("--race") != nullptr;
    if (const auto* with = text("--race-with")) line_.race = {true, std::string(*with)};
    line_.present = text("--present") != nullptr;
    read("--seed", unsigned_number, line_.seed);
    read("--size", picture_size, line_.size);
    read(
        "--scale", [](auto flag, auto given) { return real_number(flag, given, 0.5, 4); }, line_.scale);
    std::vector<std::string_view> views;
    for (const CenterViewInfo& row : center_views()) views.push_back(row.id);
    choice("--view", views, center_view_from, line_.view);
    choice<SweepQuantity>("--plot",
                          {{"hbm", SweepQuantity::hbm},
                           {"l2", SweepQuantity::sm_link},
                           {"time", SweepQuantity::time},
                           {"memory", SweepQuantity::memory}},
                          line_.quantity);
    choice<bool>("--lanes", {{"units", false}, {"sms", true}}, line_.by_sm);
    choice<ThemeKind>("--theme", {{"dark", ThemeKind::dark}, {"light", ThemeKind::light}}, line_.theme);
    choice<std::string_view>("--language", {{"en", "en"}, {"ko", "ko"}}, line_.language);
  }

  const Texts& texts_;
  CommandLine line_;
  std::optional<Error> error_;
};

/// The flags that say the same as a state, where a command has them. A cycle, a row and the like have none.
Texts flags_of(const WindowState& s) {
  Texts out;
  const auto put = [&](const char* flag, auto value) { out[flag] = {fmt::format("{}", value)}; };
  put("--algorithm", s.algorithm);
  put("--gpu", s.gpu);
  for (const auto& [key, value] : s.spec_values) out["--set"].push_back(fmt::format("{}={}", key, value));
  put("--batch", s.problem.batch);
  put("--heads", s.problem.heads);
  if (s.problem.kv_heads != s.problem.heads) put("--kv-heads", s.problem.kv_heads);
  put("--seq", s.problem.seq_q);
  if (s.problem.seq_kv != s.problem.seq_q) put("--seq-kv", s.problem.seq_kv);
  put("--head-dim", s.problem.head_dim);
  put("--dtype", to_string(s.problem.dtype));
  if (s.problem.causal) put("--causal", "");
  if (s.problem.pass != Pass::forward) put("--pass", to_string(s.problem.pass));
  out["--mask"] = s.masks;
  out["--preset"] = s.presets;
  out["--table"] = s.tables;
  out["--table-gradient"] = s.table_gradients;
  if (!s.score.empty()) put("--score", s.score);
  if (s.problem.mask_block > 0) put("--mask-block", s.problem.mask_block);
  if (s.problem.page_size > 0) {
    put("--page-size", s.problem.page_size);
    put("--page-order", to_string(s.problem.page_order));
  }
  if (s.tile) {
    put("--block-q", s.tile->block_q);
    put("--block-kv", s.tile->block_kv);
    if (s.tile->stages > 0) put("--stages", s.tile->stages);
  }
  if (s.blocks_per_sm) put("--blocks-per-sm", *s.blocks_per_sm);
  put("--block-order", to_string(s.block_order));
  put("--key-order", to_string(s.key_order));
  put("--seed", s.seed);
  if (s.race) put("--race", "");
  if (s.race && !s.race.with.empty()) put("--race-with", s.race.with);
  if (const auto* step = std::get_if<WindowState::Step>(&s.position)) put("--step", step->number);
  for (const CenterViewInfo& row : center_views())
    if (row.view == s.center) put("--view", row.id);
  put("--lanes", s.by_sm ? "sms" : "units");
  put("--theme", s.theme == ThemeKind::light ? "light" : "dark");
  put("--language", s.language);
  return out;
}

Status check_lesson_action(std::string_view action, std::string_view lesson, bool has_lesson) {
  constexpr std::string_view actions[] = {"list", "check", "open"};
  if (action.empty()) return Error{"lesson needs an action: tilescope lesson list, lesson check [ID] or lesson open ID"};
  if (std::find(std::begin(actions), std::end(actions), action) == std::end(actions))
    return Error{fmt::format("lesson cannot '{}': {}", printable(action), name_hint(action, actions))};
  if (has_lesson && lesson.empty()) return Error{fmt::format("the ID after lesson {} is empty: see tilescope lesson list", action)};
  if (action == "open" && lesson.empty()) return Error{"lesson open needs an ID: see tilescope lesson list"};
  if (action == "list" && !lesson.empty()) return Error{fmt::format("unexpected '{}' after lesson list", printable(lesson))};
  return Done{};
}

/// Errors  fewer than two runs
Status check_compared(const std::array<std::string, 2>& compared, const CommandLine& line) {
  if (!compared[1].empty()) return Done{};
  // CLI11 gives --json the argument after it.
  if (!compared[0].empty() && line.json && !line.json->empty())
    return refuse("compare needs two runs, and --json took {} for its file: write --json at the end", printable(*line.json, 100));
  return refuse("compare needs two runs: tilescope compare A B, each a link or a file with one, such as algorithm=flash2");
}

// What follows looks at flags as typed: a state of --open or --deck says what nobody typed.

bool typed(const CommandLine& line, std::string_view flag) {
  return line.given.contains(flag);
}

/// Errors  a lesson's page beside a flag that says what the page itself says
Status check_beside_lesson(const CommandLine& line) {
  if (line.lesson.empty()) return Done{};
  for (const std::string_view flag : {"--deck", "--open"})
    if (typed(line, flag)) return refuse("{} and --lesson each say what is drawn: give one of them", flag);
  constexpr std::string_view of_the_page[] = {"--step", "--race", "--race-with", "--view", "--lanes"};
  for (const auto& [name, values] : line.given) {
    const std::string_view group = find_flag(name)->group;
    const bool of_the_request = group == "Problem" || group == "GPU" || group == "Values";
    if (of_the_request || std::find(std::begin(of_the_page), std::end(of_the_page), name) != std::end(of_the_page))
      return refuse("the page of --lesson sets {}: leave one of them out", name);
  }
  return Done{};
}

/// Errors  a picture of one panel, or of a view that fills the window, with a flag about what it leaves out
Status check_shown(const CommandLine& line) {
  const bool drawn = line.command == CommandKind::render || line.command == CommandKind::exported;
  if (!drawn) return Done{};
  if (typed(line, "--panel") && typed(line, "--view") && center_view_from(line.panel) != line.view)
    return refuse("--view chooses the middle of the window, and --panel {} draws one panel: give one of them",
                  printable(line.panel));
  if (typed(line, "--panel") && typed(line, "--present"))
    return refuse("--present is about the whole window, and --panel {} draws one panel: give one of them", printable(line.panel));
  if (!typed(line, "--lanes")) return Done{};
  if (typed(line, "--panel") && line.panel != "timeline")
    return refuse("--lanes is about the timeline, and --panel {} leaves it out: give one of them", printable(line.panel));
  if (typed(line, "--view") && line.view != CenterView::stage)
    return refuse("--lanes is about the timeline, and --view {} leaves it out: give one of them", line.given.at("--view").front());
  return Done{};
}

/// The flag that gives every point of a sweep the same value of a key; empty for a key of --set.
std::string_view flag_of_key(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> rows[] = {
      {"seq", "--seq"},     {"seq_kv", "--seq-kv"},   {"head_dim", "--head-dim"}, {"batch", "--batch"},
      {"heads", "--heads"}, {"block_q", "--block-q"}, {"block_kv", "--block-kv"}, {"stages", "--stages"}};
  const auto* const found = std::find_if(std::begin(rows), std::end(rows), [&](const auto& row) { return row.first == key; });
  return found == std::end(rows) ? std::string_view() : found->second;
}

/// Errors  a key of --set that is given twice, or that the sweep runs through
Status check_settings(const CommandLine& line) {
  const auto settings = line.given.find("--set");
  if (settings == line.given.end()) return Done{};
  const auto key_of = [](std::string_view text) { return text.substr(0, text.find('=')); };
  std::set<std::string_view> keys;
  for (const std::string& setting : settings->second) {
    const std::string_view key = key_of(setting);
    if (!keys.insert(key).second) return refuse("--set {} is given more than once", printable(key));
    if (line.command == CommandKind::sweep && key == key_of(line.over))
      return refuse("--over runs through {}, and --set gives it one value: leave one of them out", printable(key));
  }
  return Done{};
}

/// Errors  a flag that the range or the outputs of the sweep leave without effect
Status check_sweep(const CommandLine& line) {
  if (line.command != CommandKind::sweep) return Done{};
  const std::string_view key = std::string_view(line.over).substr(0, line.over.find('='));
  if (const std::string_view flag = flag_of_key(key); !flag.empty() && typed(line, flag))
    return refuse("--over runs through {}, and {} gives it one value: leave one of them out", key, flag);
  if (key == "head_dim" || key == "shared_bytes")
    for (const char* side : {"--block-q", "--block-kv", "--stages"})
      if (typed(line, side)) return refuse("--over {} takes a tile of its own for each value: leave {} out", key, side);
  if (!line.png.empty()) return Done{};
  for (const auto& [name, values] : line.given)
    if (find_flag(name)->group == "Picture") return refuse("{} is about the picture of --png: give --png FILE too", name);
  return Done{};
}

/// Errors  flags of `measure` of which one would leave another without effect
Status check_measure(const CommandLine& line) {
  if (line.command != CommandKind::measure) return Done{};
  std::string_view kind = "--json";  // what is measured, and the file for it
  for (const std::string_view flag : {"--suite", "--probe", "--samples"}) {
    if (!typed(line, flag)) continue;
    if (kind != "--json") return refuse("{} and {} each say what is measured: give one of them", kind, flag);
    kind = flag;
  }
  if (typed(line, "--json") && (kind == "--probe" || kind == "--samples"))
    return refuse("{} has a file of its own, and --json is the bundle of cases: leave one of them out", kind);
  for (const auto& [name, values] : line.given)
    if (kind == "--suite" && find_flag(name)->group == "Problem")
      return refuse("{} is about one run, and --suite has its own problems: leave one of them out", name);
  return Done{};
}

/// Errors  flags of which one would leave another without effect
Status check_together(const CommandLine& line) {
  for (const auto& check : {&check_beside_lesson, &check_shown, &check_settings, &check_sweep, &check_measure})
    if (Status good = check(line); !good) return good;
  return Done{};
}

/// Errors  an empty value where none means standard output: CLI11 does not tell one from the other
Status check_optional_values(std::span<const std::string> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (const FlagInfo& flag : flag_table()) {
      if (flag.shape != FlagShape::optional_value) continue;
      const bool alone = arguments[i] == flag.name && i + 1 < arguments.size() && arguments[i + 1].empty();
      if (alone || arguments[i] == fmt::format("{}=", flag.name))
        return Error{fmt::format("{} is empty: name a file, or leave its value out for standard output", flag.name)};
    }
  return Done{};
}

CommandLine to_print(std::string text) {
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
  if (const Status good = check_optional_values(arguments); !good) return good.error();
  std::string action, lesson;
  std::array<std::string, 2> compared;
  const CLI::Option* lesson_option = nullptr;
  for (const Parser& parser : parsers) {
    if (parser.command == CommandKind::compare)
      for (const auto& [name, target] : {std::pair{"A", &compared.front()}, {"B", &compared.back()}})
        parser.app->add_option(name, *target)->description("a link, or a file with one")->type_name("");
    if (parser.command != CommandKind::lesson) continue;
    parser.app->add_option("ACTION", action)->description("list, check or open")->type_name("");
    lesson_option = parser.app->add_option("ID", lesson)->description("a lesson: number, name or file")->type_name("");
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
    return to_print(chosen->app->help(chosen->app == &app ? "" : "tilescope"));
  } catch (const CLI::CallForVersion&) { return to_print(version_text() + "\n"); } catch (const CLI::ParseError& error) {
    choose();
    return misused_flag(error.what(), chosen->command);
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
  Result<CommandLine> line = CommandLineBuilder(texts, chosen->command).build();
  if (!line) return line;
  if (const Status good = check_together(*line); !good) return good.error();
  if (chosen->command == CommandKind::compare) {
    if (const Status good = check_compared(compared, *line); !good) return good.error();
    line->compared = std::move(compared);
  }
  if (chosen->command != CommandKind::lesson) return line;
  if (const Status good = check_lesson_action(action, lesson, lesson_option->count() > 0); !good) return good.error();
  line->lesson_action = std::move(action);
  line->lesson = std::move(lesson);
  return line;
}

Result<CommandLine> on_top_of(const WindowState& base, const CommandLine& line) {
  Texts texts = flags_of(base);
  // A link that names no algorithm leaves it to the flags that choose flex.
  constexpr std::string_view choosing[] = {"--mask", "--score", "--preset", "--mask-block", "--page-size"};
  if (!base.algorithm_named.given &&
      std::any_of(std::begin(choosing), std::end(choosing), [&](std::string_view flag) { return typed(line, flag); }))
    texts.erase("--algorithm");
  if (line.command == CommandKind::sweep && base.sweep) {
    texts["--over"] = {base.sweep->axis};
    std::string ids;
    for (const std::string& id : base.sweep->algorithms) ids += fmt::format("{}{}", ids.empty() ? "" : ",", id);
    texts["--algorithm"] = {ids};
  }
  // A file of one's own brings its sizes.
  const auto given = [&](std::string_view flag) { return line.given.contains(flag); };
  if (given("--q")) texts.erase("--seq");
  if (given("--k") || given("--v")) texts.erase("--seq-kv");
  if (given("--q") || given("--k") || given("--v")) texts.erase("--head-dim");
  if (const auto size = line.given.find("--page-size"); size != line.given.end() && size->second.back() == "0")
    texts.erase("--page-order");
  // The room's, and not the scene's.
  if (!line.deck.empty())
    for (const char* flag : {"--theme", "--language"}) texts.erase(flag);
  if (const auto set = line.given.find("--set"); set != line.given.end())
    texts["--set"].insert(texts["--set"].end(), set->second.begin(), set->second.end());
  for (const auto& [flag, values] : line.given)
    if (flag != "--set") texts[flag] = values;
  std::erase_if(texts, [&](const auto& text) { return text.second.empty() || !takes(*find_flag(text.first), line.command); });
  Result<CommandLine> out = CommandLineBuilder(texts, line.command).build();
  if (!out) return out;
  if (line.command == CommandKind::sweep && out->over.empty()) return Error{"sweep needs --over KEY=RANGE: the link has no sweep"};
  out->base = std::make_shared<const WindowState>(base);
  out->given = line.given;
  if (const Status good = check_together(*out); !good) return good.error();
  out->scenes = line.scenes;
  return out;
}

}  // namespace tilescope
