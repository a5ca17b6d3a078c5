// Arguments of the command, and what it says while it runs.
#include "app/model/session/export_job.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "app/platform/files.h"
#include "sim/core/refuse.h"
#include "sim/engine/block_order.h"

namespace tilescope {

namespace {

bool ends_in(std::string_view file, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return file.ends_with(ending); });
}

std::string_view grain_name(Grain grain) {
  return grain == Grain::operation ? "operation" : grain == Grain::tile ? "tile" : "phase";
}

/// Flags and values in the order of the command's help.
class Arguments {
 public:
  void add(std::string_view flag, std::string value) {
    list.emplace_back(flag);
    list.push_back(std::move(value));
  }
  /// An expression may begin with a minus, which alone would be read as a flag.
  void expression(std::string_view flag, const std::string& text) {
    text.starts_with('-') ? list.push_back(fmt::format("{}={}", flag, text)) : add(flag, text);
  }
  template <class T>
  void number(std::string_view flag, T value) {
    add(flag, fmt::format("{}", value));
  }
  template <class T>
  void unless(std::string_view flag, T value, T usual) {
    if (value != usual) add(flag, fmt::format("{}", value));
  }
  void toggle(std::string_view flag, bool on) {
    if (on) list.emplace_back(flag);
  }
  std::vector<std::string> list;
};

}  // namespace

bool export_shows_steps(std::string_view file) {
  return !ends_in(file, {".csv", ".json"});
}

bool export_is_film(std::string_view file) {
  return ends_in(file, {".gif", ".mp4"});
}

std::vector<std::string> state_arguments(const WindowState& state) {
  const AttentionProblem& p = state.problem;
  Arguments out;
  out.add("--algorithm", state.algorithm);
  out.unless<std::int64_t>("--batch", p.batch, 1);
  out.unless<std::int64_t>("--heads", p.heads, 1);
  out.unless("--kv-heads", p.kv_heads, p.heads);
  out.number("--seq", p.seq_q);
  out.unless("--seq-kv", p.seq_kv, p.seq_q);
  out.number("--head-dim", p.head_dim);
  out.unless("--dtype", to_string(p.dtype), to_string(DataType::fp16));
  out.toggle("--causal", p.causal);
  for (const std::string& mask : state.masks) out.expression("--mask", mask);
  for (const std::string& preset : state.presets) out.add("--preset", preset);
  if (!state.score.empty()) out.expression("--score", state.score);
  for (const std::string& table : state.tables) out.add("--table", table);
  for (const std::string& gradient : state.table_gradients) out.add("--table-gradient", gradient);
  out.unless<std::int64_t>("--mask-block", p.mask_block, 0);
  if (p.page_size > 0) {
    out.number("--page-size", p.page_size);
    out.unless("--page-order", to_string(p.page_order), to_string(PageOrder::shuffled));
  }
  if (p.pass == Pass::both) out.add("--pass", "both");
  if (state.tile) {
    out.number("--block-q", state.tile->block_q);
    out.number("--block-kv", state.tile->block_kv);
    out.unless<std::int64_t>("--stages", state.tile->stages, 0);
  }
  out.unless("--block-order", to_string(state.block_order), to_string(BlockOrder::launch));
  out.unless("--key-order", to_string(state.key_order), to_string(KeyOrder::ascending));
  if (state.blocks_per_sm) out.number("--blocks-per-sm", *state.blocks_per_sm);
  out.add("--gpu", state.gpu);
  for (const auto& [key, value] : state.spec_values) out.add("--set", fmt::format("{}={}", key, value));
  out.unless<std::uint64_t>("--seed", state.seed, 1);
  out.toggle("--race", state.race.on);
  if (state.race) out.unless<std::string>("--race-with", state.race.with, "");
  for (const CenterViewInfo& row : center_views())
    if (row.view == state.center && row.view != CenterView::stage) out.add("--view", std::string(row.id));
  if (state.by_sm) out.add("--lanes", "sms");
  if (state.theme == ThemeKind::light) out.add("--theme", "light");
  out.unless<std::string>("--language", state.language, "en");
  return out.list;
}

std::vector<std::string> export_arguments(const WindowState& state, const ExportChoice& choice) {
  Arguments out;
  if (choice.file.ends_with(".html") && !choice.lesson.empty()) {
    out.list.emplace_back("export");
    out.add("--lesson", choice.lesson);
    if (state.theme == ThemeKind::light) out.add("--theme", "light");
    out.unless<std::string>("--language", state.language, "en");
    out.add("--out", choice.file);
    return out.list;
  }
  out.list = state_arguments(state);
  out.list.insert(out.list.begin(), "export");
  const bool steps = export_shows_steps(choice.file);
  if (!steps) {  // nothing is drawn
    for (std::string_view flag : {"--race-with", "--view", "--lanes", "--theme", "--language", "--seed"})
      if (const auto at = std::find(out.list.begin(), out.list.end(), flag); at != out.list.end()) out.list.erase(at, at + 2);
    std::erase(out.list, "--race");
    if (choice.file.ends_with(".csv")) out.unless<std::string>("--sheet", choice.sheet, "traffic");
  } else {
    if (!state.alone.empty()) out.add("--panel", state.alone);
    out.add("--steps",
            choice.first == choice.last ? fmt::format("{}", choice.first) : fmt::format("{}:{}", choice.first, choice.last));
    out.unless("--grain", grain_name(choice.grain), grain_name(Grain::operation));
    if (export_is_film(choice.file)) out.unless("--seconds", choice.seconds_per_step, 1.0);
    out.unless("--size", fmt::format("{}x{}", choice.width, choice.height), std::string("1600x900"));
    out.toggle("--no-caption", !choice.caption);
  }
  out.add("--out", choice.file);
  return out.list;
}

std::string command_text(const std::vector<std::string>& arguments) {
  std::string out = "tilescope";
  for (const std::string& argument : arguments) {
    const bool plain = !argument.empty() && std::all_of(argument.begin(), argument.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             std::string_view("-_./:=,+@%").find(c) != std::string_view::npos;
    });
    out += ' ';
    if (plain) {
      out += argument;
      continue;
    }
    out += '\'';
    for (char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

void ExportJob::start(const WindowState& state, const ExportChoice& choice) {
  stop();
  view_ = {};
  view_.file = choice.file;
  view_.path = whole_path(choice.file);
  if (program_.empty()) {
    view_.refusal = phrase("the program that draws was not found: use Copy as command");
    return;
  }
  std::vector<std::string> arguments = export_arguments(state, choice);
  arguments.insert(arguments.begin(), program_);
  Result<std::unique_ptr<ChildProcess>> started =
      ChildProcess::start(arguments, {"TILESCOPE_PROGRESS=lines", "TILESCOPE_LANGUAGE=" + state.language});
  if (!started) {
    view_.refusal = started.error().sentence;
    return;
  }
  process_ = std::move(*started);
  view_.running = true;
}

void ExportJob::stop() {
  process_.reset();
  text_.clear();
  view_.running = false;
}

/// "export: frames, 37 %" or "tilescope: …".
void ExportJob::take_line(const std::string& line) {
  constexpr std::string_view refused = "tilescope: ";
  if (line.starts_with(refused)) {
    view_.refusal = line.substr(refused.size());  // in the language of the window already
  } else if (const std::size_t comma = line.rfind(", "); comma != std::string::npos) {
    view_.progress = std::clamp(std::strtod(line.c_str() + comma + 2, nullptr) / 100, 0.0, 1.0);
  }
}

void ExportJob::tick() {
  if (!process_) return;
  const std::optional<int> code = process_->exit_code();
  text_ += process_->take_errors();
  for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
    take_line(text_.substr(0, end));
    text_.erase(0, end + 1);
  }
  if (!code) return;
  view_.done = *code == 0;
  if (view_.done)
    view_.refusal = {};  // a notice about fonts
  else if (view_.refusal.empty())
    view_.refusal = phrase("the export ended with exit code {}", *code);
  stop();
}

}  // namespace tilescope
