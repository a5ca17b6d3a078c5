// From a command line to a request: defaults, user's matrices, and what is refused before anything runs.
#include "app/cli/request.h"

#include <doctest/doctest.h>

#include "tests/app/temporary_folder.h"

namespace tilescope {

namespace {

Result<Request> request_of(const std::vector<std::string>& arguments) {
  const auto line = parse_command_line(arguments);
  REQUIRE_MESSAGE(line, (line ? "" : line.error().sentence));
  return make_request(*line);
}

Request good_request(const std::vector<std::string>& arguments) {
  auto request = request_of(arguments);
  REQUIRE_MESSAGE(request, (request ? "" : request.error().sentence));
  return *request;
}

std::string bad_request(const std::vector<std::string>& arguments) {
  const auto request = request_of(arguments);
  REQUIRE_FALSE(request);
  CHECK(request.error().kind == Error::Kind::wrong_request);
  return request.error().sentence;
}

std::string matrix(int rows, int columns) {
  std::string text;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) text += std::to_string(r - c) + (c + 1 == columns ? "\n" : ",");
  return text;
}

}  // namespace

TEST_CASE("request: the default is one head of 64 queries on toy") {
  const Request request = good_request({"simulate"});
  CHECK(request.simulation.problem == AttentionProblem{});
  CHECK(request.simulation.algorithm == "flash2");
  CHECK(request.simulation.gpu.id == "toy");
  CHECK_FALSE(request.simulation.tile);
  CHECK_FALSE(request.simulation.blocks_per_sm);
  CHECK(request.inputs.seed == 1);
}

TEST_CASE("request: a changed GPU must hold together, as one from a file must") {
  CHECK(bad_request({"simulate", "--set", "sm.shared_bytes_per_block=1e6"}) ==
        "--set: sm.shared_bytes_per_block is 1000000 and sm.shared_bytes 65536: a block cannot have more than its SM");
  const Request both =
      good_request({"simulate", "--set", "sm.shared_bytes_per_block=1e6", "--set", "sm.shared_bytes=1e6"});  // in any order
  CHECK(both.simulation.gpu.sm_shared_bytes_per_block == 1e6);
}

TEST_CASE("request: kv-heads follow heads, and keys follow queries, unless given") {
  const AttentionProblem follows = good_request({"simulate", "--heads", "6", "--seq", "100"}).simulation.problem;
  CHECK(follows.kv_heads == 6);
  CHECK(follows.seq_kv == 100);
  const AttentionProblem given =
      good_request({"simulate", "--heads", "6", "--kv-heads", "2", "--seq-kv", "100"}).simulation.problem;
  CHECK(given.kv_heads == 2);
  CHECK(given.seq_q == 64);
  CHECK(given.seq_kv == 100);
}

TEST_CASE("request: one side of the tile may be given; the other is the program's") {
  const auto tile = good_request({"simulate", "--block-q", "32"}).simulation.tile;
  REQUIRE(tile);
  CHECK(*tile == TileShape{32, 16});
  CHECK(*good_request({"simulate", "--block-kv", "8"}).simulation.tile == TileShape{16, 8});
  CHECK(*good_request({"simulate", "--block-q", "4", "--block-kv", "8"}).simulation.tile == TileShape{4, 8});
}

TEST_CASE("request: --set changes the GPU") {
  const GpuSpec gpu = good_request({"simulate", "--set", "l2.capacity_bytes=0", "--set", "sm.count=2"}).simulation.gpu;
  CHECK(gpu.sm_count == 2);
  CHECK_FALSE(gpu.has_l2());
  CHECK(bad_request({"simulate", "--set", "sm.cuont=8"}) ==
        "--set: unknown GPU key 'sm.cuont': did you mean sm.count? tilescope simulate --help lists all keys");
}

TEST_CASE("request: invalid names and sizes are refused with their values") {
  CHECK(bad_request({"simulate", "--algorithm", "flash22"}) == "unknown algorithm 'flash22': did you mean flash2?");
  CHECK(bad_request({"simulate", "--algorithm", "transformer"})
            .find("unknown algorithm 'transformer': there are standard, flash1, flash2") == 0);
  CHECK(bad_request({"simulate", "--gpu", "h20"}) == "unknown GPU 'h20': did you mean h200?");
  CHECK(bad_request({"simulate", "--heads", "6", "--kv-heads", "4"}).find("6 heads cannot be shared evenly by 4") == 0);
  CHECK(bad_request({"simulate", "--batch", "2147483647", "--heads", "2147483647"}).find("2147483647") != std::string::npos);
  CHECK(bad_request({"simulate", "--seq", "2147483647"}).find("2147483647") != std::string::npos);
}

TEST_CASE("request: a user's matrices give the sizes, and reach the inputs") {
  const TemporaryFolder folder;
  const std::string six = folder.file("six.csv", matrix(6, 4)), ten = folder.file("ten.csv", matrix(10, 4));
  const Request q = good_request({"render", "--out", "x.png", "--q", six});
  CHECK(q.simulation.problem.seq_q == 6);
  CHECK(q.simulation.problem.seq_kv == 6);
  CHECK(q.simulation.problem.head_dim == 4);
  REQUIRE(q.inputs.q);
  CHECK(q.inputs.q->at(5, 0) == 5);
  CHECK_FALSE(q.inputs.k);
  const Request cross = good_request({"render", "--out", "x.png", "--q", six, "--k", ten, "--v", ten});
  CHECK(cross.simulation.problem.seq_q == 6);
  CHECK(cross.simulation.problem.seq_kv == 10);
  CHECK(cross.inputs.v->rows == 10);
  CHECK(good_request({"render", "--out", "x.png", "--k", ten}).simulation.problem.seq_q == 10);
  CHECK(good_request({"render", "--out", "x.png", "--q", six, "--seq-kv", "9"}).simulation.problem.seq_kv == 9);
}

TEST_CASE("request: matrices that contradict each other or the flags are refused with both sizes") {
  const TemporaryFolder folder;
  const std::string six = folder.file("six.csv", matrix(6, 4)), ten = folder.file("ten.csv", matrix(10, 4)),
                    wide = folder.file("wide.csv", matrix(6, 5));
  CHECK(bad_request({"render", "--out", "x", "--q", six, "--seq", "8"}) == six + " has 6 rows, but --seq says 8: make them agree");
  CHECK(bad_request({"render", "--out", "x", "--q", six, "--head-dim", "8"}) ==
        six + " has 4 columns, but --head-dim says 8: make them agree");
  CHECK(bad_request({"render", "--out", "x", "--k", six, "--v", ten}) ==
        ten + " has 10 rows, but " + six + " says 6: make them agree");
  CHECK(bad_request({"render", "--out", "x", "--q", six, "--k", wide}) ==
        wide + " has 5 columns, but " + six + " says 4: make them agree");
  CHECK(bad_request({"render", "--out", "x", "--q", folder.path("no.csv")}).find("there is no such file") != std::string::npos);
  CHECK(bad_request({"render", "--out", "x", "--q", folder.file("empty.csv", "")}).find("it is empty") != std::string::npos);
  CHECK(bad_request({"render", "--out", "x", "--q", folder.file("words.csv", "a,b\n")}).find("words.csv") != std::string::npos);
  CHECK(bad_request({"render", "--out", "x", "--q", folder.file("ragged.csv", "1,2\n3\n")}).find("ragged.csv") !=
        std::string::npos);
}

}  // namespace tilescope
