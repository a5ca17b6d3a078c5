// Workspace: messages come and go, and rows are chosen by the user or for them.
#include <doctest/doctest.h>

#include "app/model/state/workspace.h"
#include "sim/core/refuse.h"

using namespace tilescope;

TEST_CASE("workspace: what is said of a control stays, what is said of the window goes away by itself") {
  Workspace workspace;
  workspace.refuse("seq", Error{"seq is 0"});
  workspace.tick(1000);
  REQUIRE(workspace.message);
  CHECK(workspace.message->control == "seq");
  workspace.notify(Error{"measured"});
  workspace.tick(5);
  REQUIRE(workspace.message);
  CHECK(workspace.message->error.sentence == "measured");
  workspace.tick(10);
  REQUIRE(workspace.message);  // what is said of the control still holds
  CHECK(workspace.message->control == "seq");
  workspace.message.reset();
  workspace.notify(Error{"measured"});
  workspace.tick(20);
  CHECK_FALSE(workspace.message);
  workspace.notify(Notice::block_not_in_trace);
  CHECK(workspace.message->notice == Notice::block_not_in_trace);
}

TEST_CASE("workspace: a chosen row is never below the first") {
  Workspace workspace;
  CHECK_FALSE(workspace.row_by_user);
  workspace.choose_row(-3);
  CHECK(workspace.row == 0);
  CHECK(workspace.row_chosen);
  CHECK(workspace.row_by_user);
}
