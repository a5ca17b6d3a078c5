// The table of results: it reads back to the same bits, and what became worse than an accepted one is found.
#include "sim/analysis/validation_csv.h"

#include <doctest/doctest.h>

#include "tests/sim/test_gpus.h"
#include "tests/synthetic_measurements.h"

using namespace tilescope;

namespace {

struct Validated {
  std::vector<MeasuredCase> cases;
  std::vector<CaseValidation> results;
};

/// A library's case, one that cannot be simulated, and six whose times are a tenth longer than simulated.
Validated validated() {
  const GpuSpec gpu = toy_gpu();
  Validated out;
  out.cases = synthetic_bundle(gpu).cases;
  for (MeasuredCase& c : out.cases) c.time_cold_ns = exactly(c.time_cold_ns.median * 1.1);
  out.cases.push_back(out.cases.front());
  out.cases.back().kernel = "standard_cublas";
  out.cases.push_back(out.cases.front());
  out.cases.back().kernel = "flash9, \"new\"";
  for (const MeasuredCase& c : out.cases) {
    const auto result = simulate_case(gpu, c);
    REQUIRE(result);
    out.results.push_back(*result);
  }
  return out;
}

std::vector<ValidationRow> rows_of(const Validated& v) {
  const auto rows = validation_from_csv(validation_csv(v.cases, v.results));
  REQUIRE_MESSAGE(static_cast<bool>(rows), (rows ? "" : rows.error().sentence));
  return *rows;
}

Comparison& figure(CaseValidation& result, Figure f) {
  return *result.figures[static_cast<std::size_t>(f)];
}

bool any_has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("validation table: simulated figures and verdicts come back to the same bits") {
  const Validated v = validated();
  const auto rows = rows_of(v);
  const auto again = results_of(rows, v.cases, {});
  REQUIRE(again);
  REQUIRE(again->size() == v.cases.size());
  for (std::size_t i = 0; i < v.cases.size(); ++i) {
    CAPTURE(v.cases[i].kernel);
    CHECK((*again)[i].verdict() == v.results[i].verdict());
    CHECK((*again)[i].not_simulated == v.results[i].not_simulated);
    CHECK((*again)[i].algorithm == v.results[i].algorithm);
    for (const Figure f : all_figures) {
      const auto &before = v.results[i].figure(f), &after = (*again)[i].figure(f);
      REQUIRE(before.has_value() == after.has_value());
      if (before) CHECK(before->simulated == after->simulated);
    }
  }
  CHECK(validation_csv(v.cases, *again) == validation_csv(v.cases, v.results));
  CHECK(differences(rows, v.cases, v.results).empty());
  CHECK(regressions(rows, v.cases, v.results).empty());
}

TEST_CASE("validation table: a table from before the last figure is read, and lacks it") {
  const Validated v = validated();
  std::string text = validation_csv(v.cases, v.results), old;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    std::size_t comma = end;
    for (int i = 0; i < 3; ++i) comma = text.rfind(',', comma - 1);
    old += text.substr(from, comma - from) + '\n';
    from = end + 1;
  }
  const auto rows = validation_from_csv(old);
  REQUIRE(rows);
  REQUIRE(rows->size() == v.cases.size());
  CHECK(differences(*rows, v.cases, v.results).empty());
  CHECK(regressions(*rows, v.cases, v.results).empty());
  CHECK_FALSE(rows->front().errors.back());
}

TEST_CASE("validation table: the gate fails where a mean error grows by half a point, and not before") {
  Validated v = validated();
  const auto accepted = rows_of(v);
  const auto with_time_of = [&](double error) {
    for (CaseValidation& result : v.results)
      if (result.figure(Figure::time)) {
        Comparison& time = figure(result, Figure::time);
        time.simulated = time.measured.median * (1 + error);
      }
    return regressions(accepted, v.cases, v.results);
  };
  CHECK(with_time_of(-0.0949).empty());  // 9.09 % was accepted
  CHECK(with_time_of(-0.09).empty());
  CHECK(with_time_of(0.05).empty());
  const auto grown = with_time_of(-0.0962);
  CHECK(any_has(grown, "all kernels: the mean error of time is 9.6 % and was 9.1 %"));
  CHECK(any_has(grown, "flash2: the mean error of time"));
  CHECK(with_time_of(0.0962).size() == grown.size());  // on the other side too
}

TEST_CASE("validation table: the mean of one kernel is held, though the others make up for it") {
  Validated v = validated();
  const auto accepted = rows_of(v);
  for (std::size_t i = 0; i < v.cases.size(); ++i)
    if (v.results[i].figure(Figure::time)) {
      Comparison& time = figure(v.results[i], Figure::time);
      time.simulated = time.measured.median * (v.cases[i].kernel == "flash2" ? 0.9 : 1);
    }
  const auto lines = regressions(accepted, v.cases, v.results);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("flash2: the mean error of time"));
}

TEST_CASE("validation table: the gate fails where a figure leaves its verdict, for the worse or for the better") {
  Validated v = validated();
  const auto accepted = rows_of(v);
  Comparison& reads = figure(v.results[0], Figure::hbm_read);
  const double before = reads.simulated;
  reads.simulated += 1e6;
  CHECK(any_has(regressions(accepted, v.cases, v.results), "hbm_read is fails and was within"));
  CHECK(any_has(regressions(accepted, v.cases, v.results), "the verdict is fails and was within"));
  const auto worse = rows_of(v);
  reads.simulated = before;
  CHECK(any_has(regressions(worse, v.cases, v.results), "hbm_read is within and was fails"));
  reads.known = KnownMiss{"", "", Figure::hbm_read, 1e6, ""};
  reads.simulated += 1e6;
  CHECK(any_has(regressions(accepted, v.cases, v.results), "hbm_read is known_miss and was within"));
}

TEST_CASE("validation table: a case without a row and a row without a case are found") {
  Validated v = validated();
  auto rows = rows_of(v);
  rows[0].problem = "B7 H7 N7 d16 fp16";
  const auto lines = regressions(rows, v.cases, v.results);
  CHECK(any_has(lines, "the table has no row for it"));
  CHECK(any_has(lines, "the table has a row, and there is no such case"));
  CHECK_FALSE(results_of(rows, v.cases, {}));
  CHECK(any_has(differences(rows, v.cases, v.results), "the table has no row for it"));
}

TEST_CASE("validation table: a figure that differs by a byte makes it out of date") {
  Validated v = validated();
  const auto rows = rows_of(v);
  figure(v.results[1], Figure::l2_to_sm).simulated += 1;
  const auto lines = differences(rows, v.cases, v.results);
  REQUIRE(lines.size() == 1);
  CHECK(any_has(lines, "l2_to_sm is simulated as"));
}

TEST_CASE("validation table: text that is no such table is refused with its line") {
  const auto refused = [](const std::string& text) {
    const auto rows = validation_from_csv(text);
    REQUIRE_FALSE(rows);
    return rows.error().sentence.text();
  };
  const Validated v = validated();
  const std::string good = validation_csv(v.cases, v.results);
  const std::string heading = good.substr(0, good.find('\n') + 1);
  CHECK(refused("").find("line 1") != std::string::npos);
  CHECK(refused("kernel,problem\n").find("line 1: another heading") != std::string::npos);
  CHECK(refused(heading + "flash2,x\n").find("line 2: 2 fields") != std::string::npos);
  std::string bad = good;
  bad.replace(bad.find(",within,"), 8, ",witin,");
  CHECK(refused(bad).find("verdict is 'witin' and must be a verdict") != std::string::npos);
}
