// Which algorithm stands beside which.
#include "app/model/requests/racers.h"

#include <doctest/doctest.h>

#include "sim/programs/tile_program.h"

using namespace tilescope;

TEST_CASE("racers: the baseline and the chosen program; the best of its family if the baseline is chosen") {
  using Pair = std::pair<std::string, std::string>;
  CHECK(racers("standard") == Pair{"standard", "flash2"});
  CHECK(racers("flash1") == Pair{"standard", "flash1"});
  CHECK(racers("flash2") == Pair{"standard", "flash2"});
  CHECK(racers("softmax_safe") == Pair{"softmax_safe", "softmax_fused"});
  CHECK(racers("softmax_online") == Pair{"softmax_safe", "softmax_online"});
  CHECK(racers("matmul_tiled") == Pair{"matmul_naive", "matmul_tiled"});
  CHECK(racers("standard_backward") == Pair{"standard_backward", "flex_backward"});
  CHECK(racers("flash2_backward") == Pair{"standard_backward", "flash2_backward"});
  CHECK(racers("no such program") == Pair{"no such program", "no such program"});
  CHECK(companion_of("flash1") == "standard");
  CHECK(companion_of("standard") == "flash2");
  CHECK(companion_of("no such program") == "");
  for (const ProgramInfo& info : program_table()) {
    const auto [first, second] = racers(info.id);
    CHECK(first != second);
    CHECK((first == info.id || second == info.id));
    CHECK(companion_of(info.id) == (first == info.id ? second : first));
  }
}

TEST_CASE("racers: a partner of the same kind takes the place of the baseline, and the baseline stays first") {
  using Pair = std::pair<std::string, std::string>;
  CHECK(racers("flash2_backward", "flash2_backward_two_pass") == Pair{"flash2_backward_two_pass", "flash2_backward"});
  CHECK(racers("flash2_backward_two_pass", "flash2_backward") == Pair{"flash2_backward", "flash2_backward_two_pass"});
  CHECK(racers("standard_backward", "flash2_backward") == Pair{"standard_backward", "flash2_backward"});
  CHECK(racers("flash2_backward", "standard_backward") == racers("flash2_backward"));
  for (const std::string_view other : {"flash2_backward", "flash2", "no such program", ""})  // itself, another kind, none
    CHECK(racers("flash2_backward", other) == racers("flash2_backward"));
  for (const ProgramInfo& info : program_table())
    for (const ProgramInfo* partner : partners_of(info.id)) {
      const auto [first, second] = racers(info.id, partner->id);
      CHECK((first == info.id ? second : first) == partner->id);
      CHECK((first == info.id || second == info.id));
    }
}

TEST_CASE("racers: the rungs to FlashAttention-3 are compared with each other, and it alone with other programs") {
  const auto compared = [](std::string_view row, std::string_view chosen) {
    return is_compared(**find_program(row), **find_program(chosen));
  };
  CHECK(compared("flash3", "flash2"));
  CHECK_FALSE(compared("hopper_producer", "flash2"));
  CHECK(compared("hopper_producer", "hopper_wgmma"));
  CHECK(compared("hopper_producer", "flash3"));
  CHECK(compared("flash2", "hopper_producer"));
  CHECK_FALSE(compared("flash2", "flash2_backward"));
}
