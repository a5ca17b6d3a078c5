// The session: matrices of one's own.
#include <string>

#include <doctest/doctest.h>

#include "tests/app/model/session/opened_session.h"
#include "tests/app/temporary_folder.h"

using namespace tilescope;

TEST_CASE("session: a user's matrix is used; one of another shape is refused with both shapes") {
  Opened opened;
  opened.after(SetProblem{two_numbers_a_row(4), "seq"});
  const SessionView good = opened.after(SetMatrix{Meaning::query, "1,2\n3,4\n5,6\n7,8"});
  CHECK_FALSE(good.workspace->message.has_value());
  REQUIRE(good.requested->inputs.q != nullptr);
  CHECK(good.requested->inputs.q->at(3, 1) == 8);
  const SessionView bad = opened.after(SetMatrix{Meaning::key, "1,2,3\n4,5,6"});
  REQUIRE(bad.workspace->message.has_value());
  CHECK(bad.workspace->message->control == "inputs.K");
  CHECK(bad.requested->inputs.k == nullptr);
  CHECK(bad.requested->inputs.q != nullptr);
  const SessionView rubbish = opened.after(SetMatrix{Meaning::value, "one, two"});
  REQUIRE(rubbish.workspace->message.has_value());
  CHECK(rubbish.workspace->message->control == "inputs.V");
  const SessionView seeded = opened.after(SetMatrix{Meaning::query, ""});
  CHECK(seeded.requested->inputs.q == nullptr);
  CHECK_FALSE(seeded.workspace->message.has_value());
}

TEST_CASE("session: a matrix is loaded from a file; a missing file is an error") {
  const TemporaryFolder folder;
  Opened opened;
  opened.after(SetProblem{two_numbers_a_row(2), "seq"});
  CHECK(opened.after(SetMatrix{Meaning::value, folder.file("v.csv", "1 0\n0 1\n"), true}).requested->inputs.v != nullptr);
  const SessionView missing = opened.after(SetMatrix{Meaning::value, folder.path("none.csv"), true});
  REQUIRE(missing.workspace->message.has_value());
  CHECK(missing.workspace->message->error.sentence.text().find("none.csv") != std::string::npos);
}

TEST_CASE("session: a matrix that no longer fits is dropped with a message") {
  Opened opened;
  opened.after(SetProblem{two_numbers_a_row(2), "seq"});
  opened.after(SetMatrix{Meaning::query, "1 0\n0 1"});
  const SessionView view = opened.after(SetProblem{with_rows(opened.view(), 8), "seq"});
  REQUIRE(view.workspace->message.has_value());
  CHECK(view.workspace->message->control == "inputs");
  CHECK(view.lane().history != nullptr);
}
