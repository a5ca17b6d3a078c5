// A pinned run: it stays while everything else changes, is in the link, and comes back with one.
#include <doctest/doctest.h>

#include "app/model/window_state.h"
#include "tests/app/model/opened_session.h"

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
  REQUIRE(opened.view().pinned.run != nullptr);
  CHECK(opened.view().pinned.run->simulation == pinned);
  opened.after(SetAlgorithm{"standard"});
  CHECK(opened.view().pinned.comparison == nullptr);
  opened.after(SetCenter{CenterView::compare});
  const auto compared = opened.view().pinned.comparison;
  REQUIRE(compared != nullptr);
  CHECK(compared->first == pinned);
  CHECK(compared->second == opened.view().lane().simulation);
  opened.after(SetTile{ProgramTile(4, 8), "block_q"});
  CHECK(opened.view().pinned.run->simulation == pinned);
  CHECK(opened.view().pinned.comparison->second == opened.view().lane().simulation);
  opened.after(PinRun{false});
  CHECK(opened.view().pinned.run == nullptr);
  CHECK(opened.view().pinned.comparison == nullptr);
}

TEST_CASE("pinned: a run is opened again as it was, and is still pinned then") {
  Opened opened;
  opened.after(SeekStep{5});
  opened.after(PinRun{});
  const WindowState before = window_state_of(opened.view());
  REQUIRE(before.pinned.has_value());
  opened.after(SetAlgorithm{"standard"});
  WindowState again = *opened.view().pinned.run->state;
  CHECK_FALSE(again.pinned.has_value());
  again.pinned = opened.view().pinned.run->link;
  opened.after(opens(again));
  CHECK(window_state_of(opened.view()) == before);
}

TEST_CASE("pinned: a link brings the pinned run, which is simulated once it is looked at") {
  Opened opened;
  opened.after(PinRun{});
  const double time = opened.view().lane().simulation->time.value;
  opened.after(SetAlgorithm{"standard"});
  const std::string link = to_link(window_state_of(opened.view()));

  Opened other;
  const auto state = from_link(link);
  REQUIRE(static_cast<bool>(state));
  other.after(opens(*state));
  REQUIRE(other.view().pinned.run != nullptr);
  CHECK(other.view().pinned.run->simulation == nullptr);
  other.after(SetCenter{CenterView::compare});
  REQUIRE(other.view().pinned.comparison != nullptr);
  CHECK(other.view().pinned.comparison->first->time.value == time);
  CHECK(other.view().pinned.comparison->first->request.algorithm == "flash2");
}

TEST_CASE("pinned: a run that cannot be simulated says why, and the window keeps what it shows") {
  Opened opened;
  WindowState state = window_state_of(opened.view());
  state.center = CenterView::compare;
  state.pinned = "gpu=nowhere";
  opened.after(opens(state));
  REQUIRE(opened.view().pinned.run != nullptr);
  REQUIRE(opened.view().pinned.refused != nullptr);
  CHECK(opened.view().pinned.refused->sentence.text().find("nowhere") != std::string::npos);
  CHECK(opened.view().pinned.comparison == nullptr);
  CHECK(opened.view().lanes.size() == 1);
}

TEST_CASE("pinned: the key of a link is a link, in its one form, and has no pinned run of its own") {
  const auto state = from_link("pinned=seq%3D32%26heads%3D2&seq=16");
  REQUIRE(static_cast<bool>(state));
  CHECK(*state->pinned == "heads=2&seq=32");
  CHECK(comes_back(*state));
  const auto usual = from_link("pinned=");
  REQUIRE(static_cast<bool>(usual));
  CHECK(usual->pinned.has_value());
  CHECK(comes_back(*usual));
  for (const char* broken : {"pinned=pinned%3D", "pinned=seq%3D16%26pinned%3Dseq%253D1", "pinned=seq", "pinned=seq%3D0"}) {
    CAPTURE(broken);
    const auto refused = from_link(broken);
    REQUIRE_FALSE(static_cast<bool>(refused));
    CHECK(refused.error().sentence.text().starts_with("pinned: "));
  }
}
