// A pinned run: it stays while everything else changes, is in the link, and comes back with one.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/state/window_state.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

namespace {

OpenState opens(const WindowState& state) {
  return OpenState{std::make_shared<const WindowState>(state)};
}

bool comes_back(const WindowState& state) {
  const auto again = from_link(to_link(state));
  return again && *again == state;
}

}  // namespace

TEST_CASE("pinned: the pinned run stays while the tile and the algorithm change, and is compared where that is looked at") {
  Opened opened;
  const auto pinned = opened.view().lane().simulation;
  opened.after(PinRun{});
  REQUIRE(opened.view().pinned.runs.size() == 1);
  CHECK(opened.view().pinned.runs[0].simulation == pinned);
  opened.after(SetAlgorithm{"standard"});
  CHECK(opened.view().pinned.comparison == nullptr);
  opened.after(SetCenter{CenterView::compare});
  const auto compared = opened.view().pinned.comparison;
  REQUIRE(compared != nullptr);
  CHECK(compared->first == pinned);
  CHECK(compared->second == opened.view().lane().simulation);
  opened.after(SetTile{ProgramTile(4, 8), "block_q"});
  CHECK(opened.view().pinned.runs[0].simulation == pinned);
  CHECK(opened.view().pinned.comparison->second == opened.view().lane().simulation);
  opened.after(UnpinRun{});
  CHECK(opened.view().pinned.runs.empty());
  CHECK(opened.view().pinned.comparison == nullptr);
}

TEST_CASE("pinned: views about a whole run show, of the two that are compared, the first that is not on screen") {
  Opened opened;
  const auto first = opened.after(PinRun{}).lane().simulation;
  CHECK(opened.view().pinned.beside == nullptr);  // it is on screen itself
  const auto beside = [&] { return opened.view().pinned.beside; };
  opened.after(SetAlgorithm{"standard"});
  REQUIRE(beside() != nullptr);
  CHECK(beside()->place == 1);
  CHECK(beside()->simulation == first);
  REQUIRE(beside()->kernel != nullptr);
  CHECK(beside()->kernel->outcome.time_ns == first->time.value);
  opened.after(PinRun{});
  CHECK(beside() == nullptr);  // the newest pinned run and the one on screen are the same
  opened.after(SetAlgorithm{"flash1"});
  REQUIRE(beside() != nullptr);
  CHECK(beside()->place == 2);
  opened.after(CompareRuns{{1, 2}});
  CHECK(beside()->place == 1);
  opened.after(SetAlgorithm{"flash2"});  // the first of the two is on screen
  CHECK(beside()->place == 2);
  opened.after(UnpinRun{2});
  CHECK(beside() == nullptr);
}

TEST_CASE("pinned: a run is opened again as it was, and is still pinned then") {
  Opened opened;
  opened.after(SeekStep{5});
  opened.after(PinRun{});
  const WindowState before = window_state_of(opened.view());
  REQUIRE(before.pinned.size() == 1);
  opened.after(SetAlgorithm{"standard"});
  WindowState again = *opened.view().pinned.runs[0].state;
  CHECK(again.pinned.empty());
  again.pinned = {opened.view().pinned.runs[0].link};
  again.compared = {1, 0};
  opened.after(opens(again));
  CHECK(window_state_of(opened.view()) == before);
}

TEST_CASE("pinned: a link brings the pinned run, which is simulated to stand beside the one on screen") {
  Opened opened;
  opened.after(PinRun{});
  const double time = opened.view().lane().simulation->time.value;
  opened.after(SetAlgorithm{"standard"});
  const std::string link = to_link(window_state_of(opened.view()));

  Opened other;
  const auto state = from_link(link);
  REQUIRE(static_cast<bool>(state));
  other.after(opens(*state));
  REQUIRE(other.view().pinned.runs.size() == 1);
  CHECK(other.view().pinned.runs[0].simulation != nullptr);
  CHECK(other.view().pinned.comparison == nullptr);
  other.after(SetCenter{CenterView::compare});
  REQUIRE(other.view().pinned.comparison != nullptr);
  CHECK(other.view().pinned.comparison->first->time.value == time);
  CHECK(other.view().pinned.comparison->first->request.algorithm == "flash2");
}

TEST_CASE("pinned: a run that cannot be simulated says why, and the window keeps what it shows") {
  Opened opened;
  WindowState state = window_state_of(opened.view());
  state.center = CenterView::compare;
  state.pinned = {"gpu=nowhere"};
  state.compared = {1, 0};
  opened.after(opens(state));
  REQUIRE(opened.view().pinned.runs.size() == 1);
  REQUIRE(opened.view().pinned.refused != nullptr);
  CHECK(opened.view().pinned.refused->sentence.text().find("nowhere") != std::string::npos);
  CHECK(opened.view().pinned.comparison == nullptr);
  CHECK(opened.view().lanes.size() == 1);
}

TEST_CASE("pinned: the key of a link is a link, in its one form, and has no pinned run of its own") {
  const auto state = from_link("pinned=seq%3D32%26heads%3D2&seq=16");
  REQUIRE(static_cast<bool>(state));
  CHECK(state->pinned == std::vector<std::string>{"heads=2&seq=32"});
  CHECK(comes_back(*state));
  const auto usual = from_link("pinned=");
  REQUIRE(static_cast<bool>(usual));
  CHECK(usual->pinned.size() == 1);
  CHECK(comes_back(*usual));
  for (const char* broken : {"pinned=pinned%3D", "pinned=seq%3D16%26pinned%3Dseq%253D1", "pinned=seq", "pinned=seq%3D0"}) {
    CAPTURE(broken);
    const auto refused = from_link(broken);
    REQUIRE_FALSE(static_cast<bool>(refused));
    CHECK(refused.error().sentence.text().starts_with("pinned: "));
  }
}

TEST_CASE("pinned: several runs are kept, any two are compared, and a link brings all of them back") {
  Opened opened;
  for (const char* algorithm : {"flash2", "standard", "flash1"}) {
    opened.after(SetAlgorithm{algorithm});
    opened.after(PinRun{});
  }
  REQUIRE(opened.view().pinned.runs.size() == 3);
  CHECK(opened.view().pinned.compared == ComparedRuns{3, 0});
  opened.after(PinRun{});  // the same run again
  CHECK(opened.view().pinned.runs.size() == 3);
  opened.after(SetCenter{CenterView::compare});
  opened.after(CompareRuns{{1, 2}});
  const auto compared = [](const Opened& window) {
    const auto comparison = window.view().pinned.comparison;
    return comparison == nullptr ? "" : comparison->first->request.algorithm + " " + comparison->second->request.algorithm;
  };
  CHECK(compared(opened) == "flash2 standard");
  opened.after(CompareRuns{{2, 2}});  // the same twice
  opened.after(CompareRuns{{4, 0}});  // not there
  CHECK(opened.view().pinned.compared == ComparedRuns{1, 2});

  Opened other;
  const auto state = from_link(to_link(window_state_of(opened.view())));
  REQUIRE(static_cast<bool>(state));
  CHECK(*state == window_state_of(opened.view()));
  other.after(opens(*state));
  CHECK(other.view().pinned.runs.size() == 3);
  CHECK(other.view().pinned.runs[2].simulation == nullptr);  // not looked at
  CHECK(compared(other) == "flash2 standard");

  opened.after(UnpinRun{1});  // one of the two: back to the newest and the run on screen
  CHECK(opened.view().pinned.compared == ComparedRuns{2, 0});
  opened.after(CompareRuns{{2, 0}});
  opened.after(UnpinRun{1});
  CHECK(opened.view().pinned.compared == ComparedRuns{1, 0});
  CHECK(opened.view().pinned.runs[0].simulation->request.algorithm == "flash1");
  opened.after(Undo{});
  CHECK(opened.view().pinned.runs.size() == 2);
}

TEST_CASE("pinned: a link that brings one run twice ends, and compares it with itself") {
  Opened opened;
  const auto state = from_link("pinned=seq%3D128&pinned=seq%3D128&compared=1:2&seq=64&view=compare");
  REQUIRE_MESSAGE(state, (state ? "" : state.error().sentence.text()));
  opened.after(opens(*state));
  const auto& runs = opened.view().pinned.runs;
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].simulation != nullptr);
  CHECK(runs[1].simulation == runs[0].simulation);
}

TEST_CASE("pinned: beyond the most that are kept the oldest goes, and a link takes no more") {
  Opened opened;
  std::string link;
  for (std::size_t i = 0; i <= most_pinned; ++i) {
    opened.after(SetProblem{with_rows(opened.view(), static_cast<std::int64_t>(16 + 16 * i)), "seq"});
    opened.after(PinRun{});
    link += fmt::format("{}pinned=seq%3D{}", i == 0 ? "" : "&", 16 + i);
  }
  CHECK(opened.view().pinned.runs.size() == most_pinned);
  CHECK(opened.view().pinned.runs[0].state->problem.seq_q == 32);
  CHECK_FALSE(from_link(link));
  for (const char* broken :
       {"compared=1:0", "pinned=&compared=2:0", "pinned=&compared=1:1", "pinned=&compared=1", "pinned=&compared=-1:0"}) {
    CAPTURE(broken);
    CHECK_FALSE(from_link(broken));
  }
}
