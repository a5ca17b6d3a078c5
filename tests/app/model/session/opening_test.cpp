// Opening: a session opened on a link shows the state that the link was written from.
#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "app/model/session/opening.h"

using namespace tilescope;

namespace {

WindowState opened(const WindowState& state) {
  auto start = opening_of(state, &load_gpu);
  REQUIRE_MESSAGE(start, (start ? "" : start.error().sentence));
  start->threads = false;
  Session session(std::move(*start));
  session.finish();
  CHECK_FALSE(session.view().workspace->message.has_value());
  return window_state_of(session.view());
}

}  // namespace

TEST_CASE("opening: a session opened on a link has the same link") {
  for (const char* link : {
           "step=7",
           "gpu=h200&l2.capacity_bytes=30000000&heads=4&seq=512&head_dim=64&causal=1&step=40&sm=3",
           "algorithm=standard&heads=2&kv_heads=1&block_q=16&block_kv=16&cycle=1234.5&grain=tile&speed=0.5&theme=light&language=ko",
           "seq=4&head_dim=2&q=1,2;3,4;5,6;7,8.5&spread=0.5&seed=18446744073709551615&step=3&row=2&alone=softmax&side=traffic",
           "race=1&cycle=900&view=sweep&lanes_by_sm=1&present=1&sweep=seq=64,128&sweep_algorithms=flash2,standard&plot=time",
       }) {
    CAPTURE(link);
    const auto state = from_link(link);
    REQUIRE_MESSAGE(state, (state ? "" : state.error().sentence));
    CHECK(to_link(opened(*state)) == to_link(*state));
  }
}

TEST_CASE("opening: a user's GPU file stays in the link by its path") {
  WindowState state;
  state.gpu = std::string(TILESCOPE_SOURCE_DIR) + "/assets/gpus/toy.toml";
  CHECK(opened(state).gpu == state.gpu);
}

TEST_CASE("opening: a GPU that is not there is the loader's sentence") {
  const auto opening = opening_of(*from_link("gpu=h9000"), &load_gpu);
  REQUIRE_FALSE(opening);
  CHECK(opening.error().sentence.text().starts_with("unknown GPU 'h9000'"));
}
