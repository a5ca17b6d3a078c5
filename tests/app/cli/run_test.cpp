// `tilescope run`: the tile machine on tensors that NumPy wrote, against what NumPy computes from them; and what is refused.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels/device.h"
#include "sim/core/npy.h"
#include "sim/programs/tile_program.h"
#include "tests/app/cli/run_program.h"
#include "tests/app/temporary_folder.h"
#include "tests/skip.h"

namespace tilescope {

namespace {

std::string fixture(std::string_view name) {
  return fmt::format("{}/tests/app/cli/numpy/{}.npy", TILESCOPE_SOURCE_DIR, name);
}

NpyArray read_npy(const std::string& path, std::size_t dimensions) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, path);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  auto array = parse_npy_floats(bytes, path, dimensions);
  REQUIRE_MESSAGE(array, array.error().sentence.text());
  return *array;
}

/// Returns ‖got − expected‖ / ‖expected‖ of the file `name` in a folder of results.
double error_of(const std::string& folder, const std::string& name, const std::string& expected) {
  const std::size_t dimensions = name == "L" ? 3 : 4;
  const NpyArray got = read_npy(folder + "/" + name + ".npy", dimensions), right = read_npy(fixture(expected), dimensions);
  REQUIRE(got.shape == right.shape);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.values.size(); ++i) {
    const double apart = static_cast<double>(got.values[i]) - right.values[i];
    difference += apart * apart;
    norm += static_cast<double>(right.values[i]) * right.values[i];
  }
  return std::sqrt(difference / norm);
}

std::vector<std::string> with_fixture(const std::string& out, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"run",        "--device", "cpu",        "--q",   fixture("Q"), "--k",
                                        fixture("K"), "--v",      fixture("V"), "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

RunOutcome good_run(const std::vector<std::string>& arguments) {
  const RunOutcome outcome = run_program(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.err.empty());
  return outcome;
}

/// The sentence of a refused run: exit code 2, one line, and no folder left behind.
std::string refused_run(const std::vector<std::string>& arguments, const std::string& out) {
  const RunOutcome outcome = run_program(arguments);
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK_FALSE(std::filesystem::exists(out));
  REQUIRE(outcome.err.starts_with("tilescope: "));
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  return outcome.err.substr(11, outcome.err.size() - 12);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("run: forward and backward on the tile machine are what NumPy computes") {
  const TemporaryFolder folder;
  struct Kind {
    std::vector<std::string> flags;
    double outputs, gradients;  // largest errors
  };
  const Kind kinds[] = {{{}, 2e-3, 6e-3}, {{"--dtype", "fp32"}, 2e-6, 1e-5}, {{"--dtype", "bf16"}, 1.6e-2, 5e-2}};
  for (const Kind& kind : kinds)
    for (const std::string algorithm :
         {"standard", "flash1", "flash2", "flash2_backward_deterministic", "flash2_backward_two_pass", "flex"})
      for (const bool causal : {false, true}) {
        CAPTURE(algorithm);
        CAPTURE(causal);
        const std::string out = folder.path("out"), suffix = causal ? "_causal" : "";
        std::vector<std::string> flags = {"--algorithm", algorithm, "--do", fixture("dO"), "--block-q", "8", "--block-kv", "8"};
        flags.insert(flags.end(), kind.flags.begin(), kind.flags.end());
        if (causal) flags.emplace_back("--causal");
        std::vector<std::string> arguments = with_fixture(out, flags);
        if (!kind.flags.empty()) {  // these take files in float32
          for (std::string& argument : arguments)
            for (const std::string name : {"Q", "K", "V", "dO"})
              if (argument == fixture(name)) {
                const NpyArray half = read_npy(argument, 4);
                argument = folder.file(name + "_32.npy", to_npy(DataType::fp32, half.shape, half.values));
                break;
              }
        }
        good_run(arguments);
        CHECK(error_of(out, "O", "O" + suffix) < kind.outputs);
        CHECK(error_of(out, "L", "L" + suffix) < kind.outputs);
        for (const std::string gradient : {"dQ", "dK", "dV"}) {
          CAPTURE(gradient);
          CHECK(error_of(out, gradient, gradient + suffix) < kind.gradients);
        }
        const bool half = kind.flags.empty();
        CHECK(read_npy(out + "/O.npy", 4).type == (half ? DataType::fp16 : DataType::fp32));
        CHECK(read_npy(out + "/L.npy", 3).type == DataType::fp32);
      }
}

TEST_CASE("run: every algorithm of the table runs on given tensors") {
  const TemporaryFolder folder;
  for (const ProgramInfo& info : program_table()) {
    CAPTURE(info.id);
    const std::string out = folder.path(fmt::format("out_{}", info.id));
    std::vector<std::string> arguments = {
        "run", "--device", "cpu", "--algorithm", std::string(info.id), "--q", fixture("Q"), "--k", fixture("K"), "--out", out};
    const bool reads_values = info.family != "matmul" && info.id != "softmax_safe" && info.id != "softmax_online";
    if (reads_values) arguments.insert(arguments.end(), {"--v", fixture("V")});
    if (info.pass == Pass::backward) arguments.insert(arguments.end(), {"--do", fixture("dO")});
    const RunOutcome outcome = good_run(arguments);
    CHECK(contains(outcome.out, "tile machine"));
    if (info.family == "matmul") {
      CHECK(read_npy(out + "/S.npy", 4).shape == std::vector<std::int64_t>{2, 4, 12, 20});
    } else if (!reads_values) {
      const NpyArray p = read_npy(out + "/P.npy", 4);
      CHECK(p.shape == std::vector<std::int64_t>{2, 4, 12, 20});
      double sum = 0;
      for (int key = 0; key < 20; ++key) sum += static_cast<double>(p.values[static_cast<std::size_t>(20 * 95 + key)]);
      CHECK(sum == doctest::Approx(1).epsilon(2e-3));
    } else {
      CHECK(error_of(out, "O", "O") < 3e-3);
      CHECK(std::filesystem::exists(out + "/L.npy") == (info.id != "softmax_fused"));
      CHECK(std::filesystem::exists(out + "/dQ.npy") == (info.pass == Pass::backward));
    }
  }
}

TEST_CASE("run: a mask and a score change reach the tile machine") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  good_run(with_fixture(out, {"--mask", "kv <= q + NK - N"}));
  CHECK(error_of(out, "O", "O_causal") < 2e-3);
  CHECK(error_of(out, "L", "L_causal") < 2e-3);
  good_run(with_fixture(out, {"--mask", "kv <= q + NK - N", "--algorithm", "standard"}));
  CHECK(error_of(out, "L", "L_causal") < 2e-3);
  good_run(with_fixture(out, {"--score", "score + 3.0"}));  // moves L by 3 and leaves O
  CHECK(error_of(out, "O", "O") < 2e-3);
  const NpyArray moved = read_npy(out + "/L.npy", 3), plain = read_npy(fixture("L"), 3);
  CHECK(moved.values[17] == doctest::Approx(plain.values[17] + 3).epsilon(1e-3));
}

TEST_CASE("run: the gradient of a captured table has its shape, and the same numbers added in order") {
  const TemporaryFolder folder;
  const std::int64_t heads = read_npy(fixture("Q"), 4).shape[1];
  std::string slopes;
  for (std::int64_t h = 0; h < heads; ++h) slopes += fmt::format("{}\n", 0.375 / static_cast<double>(h + 1));
  const std::vector<std::string> flags = {"--do",
                                          fixture("dO"),
                                          "--score",
                                          "score + slope[h] * (kv - q)",
                                          "--table",
                                          "slope=" + folder.file("slope.csv", slopes),
                                          "--table-gradient"};
  const auto run = [&](const std::string& choice) {
    std::vector<std::string> all = flags;
    all.push_back(choice);
    const std::string out = folder.path(choice.substr(0, 7));
    CHECK(contains(good_run(with_fixture(out, all)).out, fmt::format("dslope  [{}]", heads)));
    return read_npy(out + "/dslope.npy", 1);
  };
  const NpyArray added = run("slope"), in_order = run("slope:in_order");
  CHECK(added.type == DataType::fp32);
  CHECK(added.shape == std::vector<std::int64_t>{heads});
  for (std::size_t h = 0; h < added.values.size(); ++h) {
    CHECK(added.values[h] != 0);
    CHECK(added.values[h] == doctest::Approx(in_order.values[h]).epsilon(1e-3));
  }
  std::vector<std::string> unknown = flags;
  unknown.emplace_back("slopes");
  CHECK(contains(refused_run(with_fixture(folder.path("none"), unknown), folder.path("none")),
                 "--table-gradient: there is no table 'slopes'"));
}

TEST_CASE("run: files and flags that contradict each other are refused with both values") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  CHECK(refused_run(with_fixture(out, {"--seq", "13"}), out) ==
        fmt::format("--q {} is [2, 4, 12, 8]: it has 12 rows, but --seq has 13; make them agree", fixture("Q")));
  CHECK(contains(refused_run(with_fixture(out, {"--heads", "8"}), out), "it has 4 heads, but --heads has 8"));
  CHECK(contains(refused_run(with_fixture(out, {"--batch", "1"}), out), "it has 2 batches, but --batch has 1"));
  CHECK(contains(refused_run(with_fixture(out, {"--head-dim", "16"}), out), "it has 8 columns, but --head-dim has 16"));
  CHECK(contains(refused_run(with_fixture(out, {"--kv-heads", "4"}), out), "it has 2 heads, but --kv-heads has 4"));
  CHECK(contains(refused_run(with_fixture(out, {"--seq-kv", "12"}), out), "it has 20 rows, but --seq-kv has 12"));
  CHECK(contains(refused_run(with_fixture(out, {"--do", fixture("K")}), out), "K.npy is [2, 2, 20, 8]: it has 2 heads, but --q"));
  CHECK(contains(
      refused_run({"run", "--device", "cpu", "--q", fixture("Q"), "--k", fixture("K"), "--v", fixture("Q"), "--out", out}, out),
      "it has 4 heads, but --k"));
  CHECK(
      contains(refused_run(with_fixture(out, {"--dtype", "bf16"}), out), "holds float16, but --dtype is bf16: save it as float32"));
  CHECK(contains(
      refused_run({"run", "--device", "cpu", "--q", fixture("Q_float32"), "--k", fixture("K"), "--v", fixture("V"), "--out", out},
                  out),
      "holds float16, but --q"));
  good_run(with_fixture(out, {"--batch", "2", "--heads", "4", "--kv-heads", "2", "--seq", "12", "--seq-kv", "20", "--head-dim", "8",
                              "--dtype", "fp16"}));
}

TEST_CASE("run: each bad file is refused by one sentence") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  const auto with_q = [&](const std::string& q) {
    return std::vector<std::string>{"run", "--device", "cpu", "--q", q, "--k", fixture("K"), "--v", fixture("V"), "--out", out};
  };
  CHECK(contains(refused_run(with_q(fixture("Q_fortran")), out), "is in Fortran order: save numpy.ascontiguousarray of it"));
  CHECK(contains(refused_run(with_q(fixture("Q_float64")), out),
                 "holds elements of type '<f8': save it as numpy.float16 or numpy.float32"));
  CHECK(contains(refused_run(with_q(fixture("L")), out), "has 3 dimensions, [2, 4, 12]: it needs 4"));
  CHECK(contains(refused_run(with_q(folder.file("q.npy", "1,2,3\n")), out), "--q: "));
  CHECK(contains(refused_run(with_q(folder.path("none.npy")), out), "there is no such file"));
  const NpyArray q = read_npy(fixture("Q"), 4);
  const std::string bytes = to_npy(q.type, q.shape, q.values);
  CHECK(contains(refused_run(with_q(folder.file("cut.npy", bytes.substr(0, bytes.size() - 5))), out), "it was cut off"));
  CHECK(contains(refused_run(with_q(folder.file("empty.npy", "")), out), "empty.npy"));
}

TEST_CASE("run: what does not belong together is refused") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  CHECK(refused_run({"run", "--q", fixture("Q"), "--out", out}, out) == "run needs --k K.npy");
  CHECK(refused_run({"run", "--q", fixture("Q"), "--k", fixture("K")}, out) == "run needs --out DIR: the folder for the results");
  CHECK(refused_run({"run", "--device", "cpu", "--q", fixture("Q"), "--k", fixture("K"), "--out", out}, out) ==
        "flash2 needs --v V.npy");
  CHECK(refused_run(with_fixture(out, {"--algorithm", "matmul_tiled"}), out) == "matmul_tiled reads no V: leave --v out");
  CHECK(refused_run(with_fixture(out, {"--algorithm", "flash2_backward"}), out) == "flash2_backward needs --do dO.npy");
  CHECK(contains(refused_run(with_fixture(out, {"--algorithm", "hopper_flex", "--do", fixture("dO")}), out),
                 "hopper_flex has no backward pass"));
  CHECK(refused_run(with_fixture(out, {"--pass", "both"}), out) == "--pass both needs --do dO.npy");
  CHECK(contains(refused_run(with_fixture(out, {"--pass", "forward", "--do", fixture("dO")}), out), "leave one of them out"));
  CHECK(contains(refused_run(with_fixture(out, {"--device", "tpu"}), out), "--device is given more than once"));
  const std::string file = folder.file("file", "x");
  CHECK(contains(run_program(with_fixture(file, {})).err, "is a file: name a folder"));
  CHECK(contains(run_program(with_fixture(folder.path("none/out"), {})).err, "there is no folder"));
}

TEST_CASE("run: an input in the folder of the results is not overwritten") {
  const TemporaryFolder folder;
  const NpyArray q = read_npy(fixture("Q"), 4);
  const std::string bytes = to_npy(q.type, q.shape, q.values), path = folder.file("O.npy", bytes);
  const RunOutcome outcome =
      run_program({"run", "--device", "cpu", "--q", path, "--k", fixture("K"), "--v", fixture("V"), "--out", folder.path(".")});
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, "would overwrite the file that --q reads"));
  CHECK(read_npy(path, 4).values == q.values);
  CHECK(folder.entries() == 1);
}

TEST_CASE("run: a file of terabytes is refused by its header, without reading it") {
  const TemporaryFolder folder;
  const std::vector<std::int64_t> shape = {1, 1, 4, 4};
  std::string header = to_npy(DataType::fp16, shape, std::vector<float>(16));
  const std::string path = folder.file("q.npy", header);
  std::error_code sparse;
  std::filesystem::resize_file(path, std::uintmax_t{5} << 40U, sparse);
  if (sparse) return skip_test("this file system has no file of 5 TiB");
  const RunOutcome outcome =
      run_program({"run", "--device", "cpu", "--q", path, "--k", fixture("K"), "--v", fixture("V"), "--out", folder.path("out")});
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.err, "bytes of elements, but its header says [1, 1, 4, 4] of 2 bytes each: it holds more than one array"));
}

TEST_CASE("run: NaN, infinities and values beyond the type are allowed and said") {
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  NpyArray q = read_npy(fixture("Q"), 4);
  q.values[0] = std::nanf("");
  q.values[1] = INFINITY;
  q.values[2] = 1e6F;
  const std::string path = folder.file("q.npy", to_npy(DataType::fp32, q.shape, q.values));
  const auto as_float = [&](const char* name) {
    const NpyArray half = read_npy(fixture(name), 4);
    return folder.file(fmt::format("{}.npy", name), to_npy(DataType::fp32, half.shape, half.values));
  };
  const RunOutcome outcome = good_run(
      {"run", "--device", "cpu", "--dtype", "fp16", "--q", path, "--k", as_float("K"), "--v", as_float("V"), "--out", out});
  CHECK(contains(outcome.out, "of 768 elements 1 NaN, 1 infinite, 1 beyond fp16, now infinite"));
  CHECK(contains(outcome.out, "\nO: of 768 elements 8 NaN"));  // the row of the NaN
  CHECK(std::isnan(read_npy(out + "/O.npy", 4).values[0]));
  CHECK_FALSE(std::isnan(read_npy(out + "/O.npy", 4).values[8]));  // the next row
}

TEST_CASE("run: without a GPU the kernel's device is what the machine lacks, and nothing is left behind") {
  if (find_device()) return skip_test("there is a GPU");
  const TemporaryFolder folder;
  const std::string out = folder.path("out");
  std::vector<std::string> arguments = {"run", "--out", out};
  for (const char* name : {"Q", "K", "V"}) {
    const std::vector<std::int64_t> shape = {1, 1, 16, 64};
    arguments.push_back(name[0] == 'Q' ? "--q" : name[0] == 'K' ? "--k" : "--v");
    arguments.push_back(folder.file(fmt::format("{}.npy", name), to_npy(DataType::fp16, shape, std::vector<float>(1024, 1.0F))));
  }
  const RunOutcome outcome = run_program(arguments);
  CHECK(outcome.code == 3);
  CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
  CHECK(contains(outcome.err, "--device cpu"));
  CHECK_FALSE(std::filesystem::exists(out));
  // What the kernel does not take is a wrong request, with or without a GPU.
  const RunOutcome refused = run_program({"run", "--q", fixture("Q"), "--k", fixture("K"), "--v", fixture("V"), "--out", out});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "head dimensions 64 and 128, not 8"));
}

}  // namespace tilescope
