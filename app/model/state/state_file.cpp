// Reads and writes the state file.
#include "app/model/state/state_file.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <sys/types.h>
#include <toml++/toml.h>

#include "app/model/state/deck.h"
#include "app/platform/files.h"
#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr std::string_view schema = "tilescope.window/1", schema_start = "tilescope.window/";

/// "schema" of a TOML text; empty where it has none or is none.
std::string schema_of(std::string_view text) {
  if (!check_document(text, DocumentKind::toml, {})) return {};
  try {
    return toml::parse(text)["schema"].value_or(std::string());
  } catch (const toml::parse_error&) { return {}; }
}

/// Whether a window of this program still runs under that number: another program may have it by now.
bool runs(std::int64_t process) {
  if (process <= 0 || (::kill(static_cast<pid_t>(process), 0) != 0 && errno != EPERM)) return false;
  std::error_code unknown, gone;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const auto other = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", process), gone);
  return unknown || (!gone && own == other);
}

}  // namespace

Result<StateFile> parse_state_file(std::string_view text, std::string_view origin) {
  if (const Status good = check_document(text, DocumentKind::toml, origin); !good) return good.error();
  const std::string name = printable(origin, 100);
  try {
    const toml::table table = toml::parse(text);
    const std::string found = table["schema"].value_or(std::string());
    if (!found.starts_with(schema_start))
      return refuse("{}, line 1: this is no state of the window: one begins with schema = \"{}\"", name, schema);
    if (found != schema)
      return refuse("{}, line {}: the state is of a newer TileScope ({}): this one reads {}", name,
                    table.get("schema")->source().begin.line, printable(found), schema);
    StateFile file;
    const toml::node* link = table.get("link");
    const auto value = link != nullptr ? link->value_exact<std::string>() : std::nullopt;
    if (!value) return refuse("{}, line {}: link must be a text in quotes", name, link ? link->source().begin.line : 1);
    if (const auto state = read_link(*value); !state)
      return refuse("{}, line {}: {}", name, link->source().begin.line, state.error().sentence);
    file.link = *value;
    file.closed = table["closed"].value_or(false);
    file.process = table["process"].value_or(std::int64_t{0});
    return file;
  } catch (const toml::parse_error& error) {
    return refuse("{}, line {}: {}", name, error.source().begin.line, printable(error.description(), 200));
  }
}

std::string format_state_file(const StateFile& file) {
  std::ostringstream out;
  const toml::value<std::string> link(file.link);
  out << "# What the TileScope window shows. After a crash the next window offers to go on here.\n";
  out << "schema = \"" << schema << "\"\n";
  out << "link = " << toml::toml_formatter(link, toml::format_flags::allow_unicode_strings) << "\n";
  out << "closed = " << (file.closed ? "true" : "false") << "\n";
  out << "process = " << file.process << "\n";
  return out.str();
}

std::optional<std::filesystem::path> state_file_path() {
  const auto from = [](const char* name) -> std::optional<std::filesystem::path> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value != '/') return std::nullopt;  // the XDG rules ignore a relative path
    return std::filesystem::path(value);
  };
  if (const auto state = from("XDG_STATE_HOME")) return *state / "tilescope" / "window.toml";
  if (const auto home = from("HOME")) return *home / ".local" / "state" / "tilescope" / "window.toml";
  return std::nullopt;
}

StateKeeper StateKeeper::open(std::optional<std::filesystem::path> path, std::int64_t process) {
  StateKeeper keeper;
  keeper.path_ = std::move(path);
  keeper.process_ = process;
  if (!keeper.path_) return keeper;
  const Result<std::string> text = read_text_file(*keeper.path_);
  const Result<StateFile> file = text ? parse_state_file(*text, keeper.path_->native()) : Result<StateFile>(text.error());
  std::error_code unknown;
  if (!file && std::filesystem::is_regular_file(*keeper.path_, unknown)) {  // of a newer program, or damaged: not overwritten
    const std::filesystem::path kept = keeper.path_->parent_path() / "window-unread.toml";
    std::filesystem::rename(*keeper.path_, kept, unknown);
    if (!unknown) keeper.notice_ = phrase("{}; it is kept as {}", file.error().sentence, kept.native());
  }
  if (!file || file->closed) return keeper;
  if (file->process != process && runs(file->process)) {
    keeper.path_.reset();
    return keeper;
  }
  if (Result<WindowState> state = read_link(file->link)) keeper.left_over_ = std::move(*state);
  return keeper;
}

void StateKeeper::save(const WindowState& state, bool closed) {
  if (!path_) return;
  StateFile file{to_link(state), closed, process_};
  if (written_ == file) return;
  std::string text = format_state_file(file);
  if (text.size() > largest_document_bytes) {  // nobody could read it: pinned runs with matrices of their own go first
    WindowState without = state;
    without.pinned.clear();
    without.compared = {};
    file.link = to_link(without);
    text = format_state_file(file);
  }
  std::error_code error;
  std::filesystem::create_directories(path_->parent_path(), error);
  if (!error && write_file(*path_, text)) written_ = file;
}

Result<WindowState> state_from(const std::string& link_or_file, const FindLesson& find_lesson) {
  std::error_code unknown;
  const bool is_file = std::filesystem::exists(link_or_file, unknown);
  if (!is_file && (link_or_file.empty() || link_or_file.find('=') != std::string::npos || link_or_file.starts_with("tilescope:")))
    return read_link(link_or_file);
  const Result<std::string> text = read_text_file(link_or_file);
  if (!text) return text.error();
  const std::string found = schema_of(*text);
  if (found.starts_with("tilescope.deck/")) {
    const Result<Deck> deck = parse_deck(*text, link_or_file, find_lesson);
    if (!deck) return deck.error();
    if (deck->scenes.empty()) return refuse("{} has no scene to open", printable(link_or_file, 100));
    return deck->scenes.front().state;
  }
  if (!found.empty() || text->find("schema") != std::string::npos || text->find("link = ") != std::string::npos) {
    const Result<StateFile> file = parse_state_file(*text, link_or_file);
    if (!file) return file.error();
    return read_link(file->link);
  }
  Result<WindowState> state = read_link(*text);
  if (!state) return refuse("{}, line 1: {}", printable(link_or_file, 100), state.error().sentence);
  return state;
}

}  // namespace tilescope
