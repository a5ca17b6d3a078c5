// Settings: what is written is read again; what makes no sense is left out.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "app/ui/settings.h"
#include "tests/app/temporary_folder.h"
#include "tests/environment_variable.h"

using namespace tilescope;

namespace {

Settings unusual() {
  Settings settings;
  settings.shares = {0.25F, 0.3F, 0.4F, 0.6F};
  settings.theme = ThemeKind::light;
  settings.language = "ko";
  settings.by_sm = true;
  settings.lessons_done = {"01-why-memory", "05-six-trips"};
  settings.lessons_right = {{"01-why-memory", {2, 7}}};
  settings.lessons_offered = true;
  settings.width = 1280;
  settings.height = 720;
  settings.text_scale = 1.5F;
  return settings;
}

}  // namespace

TEST_CASE("settings: a file that nests too deep is as if it were not there") {
  std::string deep;
  for (int i = 0; i < 50000; ++i) deep += "a.";
  CHECK(parse_settings(deep + "b=1") == Settings{});
}

TEST_CASE("settings: format and parse round-trip") {
  CHECK(parse_settings(format_settings(unusual())) == unusual());
  CHECK(parse_settings(format_settings({})) == Settings{});
}

TEST_CASE("settings: saved settings are loaded by the next run") {
  const TemporaryFolder folder;
  const EnvironmentVariable config("XDG_CONFIG_HOME", folder.path("config"));
  CHECK(load_settings().settings == Settings{});
  REQUIRE(save_settings(unusual()));
  CHECK(load_settings().settings == unusual());
  CHECK(load_settings().problem.empty());
}

TEST_CASE("settings: a damaged file is one sentence with its name and line, and the defaults apply") {
  const TemporaryFolder folder;
  const EnvironmentVariable config("XDG_CONFIG_HOME", folder.path("config"));
  CHECK(load_settings().problem.empty());  // there is none yet
  REQUIRE(save_settings(unusual()));
  const auto path = settings_path();
  REQUIRE(path);
  for (const std::string& text : {std::string("[window]\nwidth = = 5\n"), std::string(3, '\0'), format_settings(unusual()) + "["}) {
    std::ofstream(*path, std::ios::trunc) << text;
    const LoadedSettings loaded = load_settings();
    CHECK(loaded.settings == Settings{});
    const std::string said = loaded.problem.text();
    CAPTURE(said);
    CHECK(said.find("The settings are as by default") == 0);
    CHECK(said.find("settings.toml") != std::string::npos);
    CHECK(said.find('\n') == std::string::npos);
  }
  std::ofstream(*path, std::ios::trunc) << "[window]\nwidth = = 5\n";
  CHECK(load_settings().problem.text().find("settings.toml, line 2") != std::string::npos);
}

TEST_CASE("settings: an invalid value keeps its default, the others apply") {
  const Settings read =
      parse_settings("[window]\nwidth = -5\nheight = 800\ntheme = \"pink\"\n[layout]\nleft = nan\nright = 0.3\nbottom = \"x\"");
  Settings expected;
  expected.height = 800;
  expected.shares.right = 0.3F;
  CHECK(read == expected);
}

TEST_CASE("settings: a corrupt file gives the defaults") {
  const TemporaryFolder folder;
  const EnvironmentVariable config("XDG_CONFIG_HOME", folder.path("config"));
  std::filesystem::create_directories(folder.path("config/tilescope"));
  const std::string path = folder.path("config/tilescope/settings.toml");
  for (const std::string& rubbish : {std::string("[[[["), std::string("\0\1\2binary", 9), std::string(), std::string(5000, '[')}) {
    std::ofstream(path, std::ios::binary) << rubbish;
    CHECK(load_settings().settings == Settings{});
  }
}

TEST_CASE("settings: random bytes never crash the parser") {
  const auto seed = static_cast<std::uint32_t>(std::random_device{}());
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string good = format_settings(unusual());
  for (int i = 0; i < 500; ++i) {
    std::string text = good;
    for (int k = 0; k < 6; ++k) text[random() % text.size()] = static_cast<char>(random());
    const Settings read = parse_settings(text);
    CHECK(read.width >= 320);
    CHECK(read.shares.left > 0);
    CHECK(read.shares.left < 1);
    CHECK(read.text_scale >= 0.5F);
  }
}

TEST_CASE("settings: an unwritable folder is not an error") {
  const TemporaryFolder folder;
  const std::string blocked = folder.file("blocked", "a file where a folder should be");
  const EnvironmentVariable config("XDG_CONFIG_HOME", blocked);
  CHECK_FALSE(save_settings(unusual()));
  CHECK(load_settings().settings == Settings{});
}

TEST_CASE("settings: a relative XDG_CONFIG_HOME is ignored, as its rules say") {
  const EnvironmentVariable config("XDG_CONFIG_HOME", "somewhere/relative");
  const EnvironmentVariable home("HOME", "/nonexistent-home");
  CHECK(settings_path() == std::filesystem::path("/nonexistent-home/.config/tilescope/settings.toml"));
}

TEST_CASE("settings: an option for one run is not remembered, and what is changed in the window is") {
  Settings saved;
  Settings began = saved;
  began.theme = ThemeKind::light;
  began.language = "ko";
  began.by_sm = true;
  began.text_scale = 2;
  began.width = 800;
  CHECK(to_remember(saved, began, began) == saved);
  Settings now = began;
  now.theme = ThemeKind::dark;
  now.language = "en";
  now.height = 1000;
  now.lessons_done = {"01-why-memory"};
  Settings kept = saved;
  kept.width = 800;
  kept.height = 1000;
  kept.lessons_done = now.lessons_done;
  CHECK(to_remember(saved, began, now) == kept);
  // Without options, everything that is changed is remembered.
  CHECK(to_remember(saved, saved, unusual()) == unusual());
}
