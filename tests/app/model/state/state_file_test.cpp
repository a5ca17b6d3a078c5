// The state file: what a window left behind, and what --open takes.
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "app/model/state/deck.h"
#include "app/model/state/state_file.h"
#include "app/platform/files.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

namespace {

std::string state_file_refusal(const std::string& text) {
  const auto file = parse_state_file(text, "window.toml");
  return file ? std::string("(accepted)") : file.error().sentence.text();
}

WindowState state_with(std::int64_t rows) {
  WindowState state;
  state.problem.seq_q = state.problem.seq_kv = rows;
  return state;
}

}  // namespace

TEST_CASE("state file: what is written is read as it was") {
  const StateFile file{"seq=1024&gpu=/tmp/my%20gpu.toml", true, 4711};
  const auto back = parse_state_file(format_state_file(file), "window.toml");
  REQUIRE_MESSAGE(back, (back ? "" : back.error().sentence));
  CHECK(*back == file);
}

TEST_CASE("state file: a broken one is one sentence with the file and the line") {
  CHECK(state_file_refusal("[[[").starts_with("window.toml, line 1: "));
  CHECK(state_file_refusal("x = 3\n").starts_with("window.toml, line 1: this is no state of the window"));
  CHECK(state_file_refusal("# from tomorrow\nschema = \"tilescope.window/2\"\n") ==
        "window.toml, line 2: the state is of a newer TileScope (tilescope.window/2): this one reads tilescope.window/1");
  CHECK(state_file_refusal("schema = \"tilescope.window/1\"\nlink = \"seq=0\"\n").starts_with("window.toml, line 2: seq is '0'"));
  CHECK(state_file_refusal("schema = \"tilescope.window/1\"\nlink = 4\n") == "window.toml, line 2: link must be a text in quotes");
}

TEST_CASE("state file: after a crash the state is offered, after closing it is not") {
  const TemporaryFolder folder;
  const auto path = std::filesystem::path(folder.path("state/window.toml"));
  constexpr std::int64_t gone = 0x3FFFFFFF;  // no process has this number
  {
    StateKeeper keeper = StateKeeper::open(path, gone);
    CHECK_FALSE(keeper.left_over().has_value());
    keeper.save(state_with(96), false);
  }
  {
    StateKeeper keeper = StateKeeper::open(path, ::getpid());
    REQUIRE(keeper.left_over().has_value());
    CHECK(*keeper.left_over() == state_with(96));
    keeper.save(state_with(128), true);
  }
  CHECK_FALSE(StateKeeper::open(path, ::getpid()).left_over().has_value());
}

TEST_CASE("state file: of two windows the first one keeps the file") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path("window.toml");
  StateKeeper first = StateKeeper::open(path, ::getpid());
  first.save(state_with(96), false);
  StateKeeper second = StateKeeper::open(path, ::getpid() + 1);  // sees a process that runs
  CHECK_FALSE(second.left_over().has_value());
  second.save(state_with(128), true);
  const auto text = read_text_file(path);
  REQUIRE(text);
  CHECK(parse_state_file(*text, "window.toml")->link == "seq=96");
}

TEST_CASE("state file: one that cannot be read offers nothing and does not stop the window") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path("window.toml");
  REQUIRE(write_file(path, std::string("schema\0= ", 9)));
  StateKeeper keeper = StateKeeper::open(path, ::getpid());
  CHECK_FALSE(keeper.left_over().has_value());
  CHECK(keeper.notice().text().ends_with("it is kept as " + folder.path("window-unread.toml")));
  CHECK(std::filesystem::file_size(folder.path("window-unread.toml")) == 9);
  keeper.save(state_with(64), true);
  CHECK(read_text_file(path));
  StateKeeper none = StateKeeper::open(std::nullopt, 1);
  none.save(state_with(64), true);
}

TEST_CASE("state file: --open takes a link with or without its scheme, and files of each kind") {
  const TemporaryFolder folder;
  const std::string bare = folder.path("bare.toml");
  REQUIRE(write_file(bare, std::string("link = \"seq=96\"\n")));
  const auto without_schema = state_from(bare);
  REQUIRE_FALSE(static_cast<bool>(without_schema));
  CHECK(without_schema.error().sentence.text().find("one begins with schema = \"tilescope.window/1\"") != std::string::npos);
  for (const char* link : {"seq=96", "tilescope:seq=96", "tilescope:?seq=96", "?seq=96", " tilescope://?seq=96\n"}) {
    CAPTURE(link);
    const auto state = state_from(link);
    REQUIRE_MESSAGE(state, (state ? "" : state.error().sentence));
    CHECK(*state == state_with(96));
  }
  CHECK(*state_from("tilescope:") == WindowState{});
  const auto file = [&](const char* name, const std::string& text) {
    const std::string path = folder.path(name);
    REQUIRE(write_file(path, text));
    return path;
  };
  CHECK(*state_from(file("plain.txt", "tilescope:seq=96\n")) == state_with(96));
  CHECK(*state_from(file("window.toml", format_state_file({"seq=96", true, 1}))) == state_with(96));
  Deck deck;
  deck.scenes.emplace_back().state = state_with(96);
  CHECK(*state_from(file("deck.toml", format_deck(deck))) == state_with(96));
  CHECK_FALSE(state_from(file("empty deck.toml", format_deck({}))));
  const auto bad = state_from(file("bad.txt", "sqe=96"));
  REQUIRE_FALSE(bad);
  CHECK(bad.error().sentence.text().find("bad.txt, line 1: a link has no key 'sqe'") != std::string::npos);
  const auto missing = state_from(folder.path("nothing.toml"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().sentence.text().find("there is no such file") != std::string::npos);
}
