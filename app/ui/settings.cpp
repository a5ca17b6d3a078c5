// Reads and writes the settings file.
#include "app/ui/settings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "app/platform/files.h"
#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

/// Takes a number that is there and within bounds.
template <class T>
void take(const toml::node_view<const toml::node>& node, T& into, double low, double high) {
  const auto value = node.value<double>();
  if (!value || !std::isfinite(*value) || *value < low - 1 || *value > high + 1) return;
  // Compared as it is kept: 0.6 as a float is a little more than 0.6.
  const T kept = static_cast<T>(*value);
  if (kept >= static_cast<T>(low) && kept <= static_cast<T>(high)) into = kept;
}

/// Errors  no TOML: names `origin` and the line
Result<toml::table> table_of(std::string_view toml_text, std::string_view origin) {
  if (const Status good = check_document(toml_text, DocumentKind::toml, origin); !good) return good.error();
  try {
    return toml::parse(toml_text);
  } catch (const toml::parse_error& error) {
    return refuse("{}, line {}: {}", printable(origin, 200), error.source().begin.line, printable(error.description(), 200));
  }
}

Settings settings_of(const toml::table& table) {
  Settings out;
  take(table["layout"]["left"], out.shares.left, 0.05, 0.6);
  take(table["layout"]["right"], out.shares.right, 0.05, 0.6);
  take(table["layout"]["bottom"], out.shares.bottom, 0.05, 0.8);
  take(table["layout"]["softmax"], out.shares.softmax, 0.05, 0.95);
  out.by_sm = table["layout"]["lanes"].value<std::string>() == "sms";
  take(table["window"]["width"], out.width, 320, 16384);
  take(table["window"]["height"], out.height, 240, 16384);
  take(table["window"]["text_scale"], out.text_scale, 0.5, 4);
  if (table["window"]["theme"].value<std::string>() == "light") out.theme = ThemeKind::light;
  if (const auto language = table["window"]["language"].value<std::string>(); language && language->size() <= 8)
    out.language = *language;
  out.lessons_offered = table["lessons"]["offered"].value<bool>().value_or(false);
  if (const toml::array* done = table["lessons"]["done"].as_array()) {
    constexpr std::size_t most = 100, longest = 80;
    for (const toml::node& id : *done)
      if (const auto text = id.value<std::string>(); text && text->size() <= longest && out.lessons_done.size() < most)
        out.lessons_done.push_back(*text);
    std::sort(out.lessons_done.begin(), out.lessons_done.end());
  }
  if (const toml::table* right = table["lessons"]["right"].as_table()) {
    constexpr std::size_t most = 100, longest = 80;
    for (const auto& [id, score] : *right) {
      const toml::array* const pair = score.as_array();
      if (pair == nullptr || pair->size() != 2 || id.str().size() > longest || out.lessons_right.size() >= most) continue;
      const auto count = [&](std::size_t i) { return (*pair)[i].value<std::int64_t>().value_or(-1); };
      if (count(0) < 0 || count(1) < count(0) || count(1) > 1000) continue;
      out.lessons_right[std::string(id.str())] = {static_cast<int>(count(0)), static_cast<int>(count(1))};
    }
  }
  return out;
}

}  // namespace

Settings parse_settings(std::string_view toml_text) {
  const Result<toml::table> table = table_of(toml_text, "settings");
  return table ? settings_of(*table) : Settings{};
}

std::string format_settings(const Settings& s) {
  toml::table window;
  window.insert("theme", s.theme == ThemeKind::light ? "light" : "dark");
  window.insert("language", s.language);
  window.insert("width", s.width);
  window.insert("height", s.height);
  window.insert("text_scale", static_cast<double>(s.text_scale));
  toml::table layout;
  layout.insert("left", static_cast<double>(s.shares.left));
  layout.insert("right", static_cast<double>(s.shares.right));
  layout.insert("bottom", static_cast<double>(s.shares.bottom));
  layout.insert("softmax", static_cast<double>(s.shares.softmax));
  layout.insert("lanes", s.by_sm ? "sms" : "units");
  toml::array done;
  for (const std::string& id : s.lessons_done) done.push_back(id);
  toml::table lessons;
  lessons.insert("offered", s.lessons_offered);
  lessons.insert("done", std::move(done));
  toml::table right;
  for (const auto& [id, score] : s.lessons_right) right.insert(id, toml::array{score.right, score.questions});
  lessons.insert("right", std::move(right));
  toml::table all;
  all.insert("lessons", std::move(lessons));
  all.insert("layout", std::move(layout));
  all.insert("window", std::move(window));
  std::ostringstream text;
  text << "# Settings of the TileScope window. Delete this file to reset them.\n" << all << "\n";
  return text.str();
}

Settings to_remember(const Settings& saved, const Settings& began, Settings now) {
  const auto keep = [&](auto Settings::*member) {
    if (now.*member == began.*member) now.*member = saved.*member;
  };
  keep(&Settings::theme);
  keep(&Settings::language);
  keep(&Settings::by_sm);
  keep(&Settings::text_scale);
  if (now.width != began.width || now.height != began.height) return now;
  now.width = saved.width;
  now.height = saved.height;
  return now;
}

std::optional<std::filesystem::path> settings_path() {
  const auto from = [](const char* name) -> std::optional<std::filesystem::path> {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::filesystem::path(value);
  };
  // The XDG rules ignore a relative path.
  if (const auto config = from("XDG_CONFIG_HOME"); config && config->is_absolute()) return *config / "tilescope" / "settings.toml";
  if (const auto home = from("HOME"); home && home->is_absolute()) return *home / ".config" / "tilescope" / "settings.toml";
  return std::nullopt;
}

LoadedSettings load_settings() {
  const auto path = settings_path();
  std::error_code error;
  if (!path || !std::filesystem::exists(*path, error)) return {};
  const Result<std::string> text = read_text_file(*path);
  const Result<toml::table> table = text ? table_of(*text, path->native()) : text.error();
  if (table) return {settings_of(*table), {}};
  return {{}, phrase("The settings are as by default, because their file cannot be read: {}", table.error().sentence)};
}

bool save_settings(const Settings& settings) {
  const auto path = settings_path();
  if (!path) return false;
  std::error_code error;
  std::filesystem::create_directories(path->parent_path(), error);
  if (error) return false;
  return static_cast<bool>(write_file(*path, format_settings(settings)));
}

}  // namespace tilescope
