// What `tilescope search` found, as a table, JSON and CSV.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/model/measurements/common_clock.h"
#include "app/model/measurements/measurements.h"
#include "sim/analysis/search.h"
#include "sim/core/refuse.h"

namespace tilescope {

/// A program without a kernel of its own, and the rung that it launches for a problem: its id, and the words for it.
struct LaunchedRung {
  std::string program, rung, words;
};

struct Searched {
  std::vector<SearchCandidate> ranked;  // those that were simulated
  std::size_t candidates = 0;           // with those that were given up
  std::size_t untried = 0;              // tiles between powers of two for which there was no time
  RankingClock clock;                   // of all candidates
  double noise = 0;                     // relative change of the quickest time that the order of events alone makes
  Measurements known;                   // of the GPU
  bool whole = true;                    // false after Ctrl-C
  Sentence refusal;                     // why the first of those that could not be simulated was refused; empty if none was
  std::vector<std::string> left_out;    // programs that --algorithm would add
  std::vector<LaunchedRung> launching;  // programs that are rows under the name of the rung that they launch
};

/// Times on this machine's GPU, by row, and why a row with a kernel has none.
struct MeasuredRows {
  std::vector<std::optional<double>> ns;
  Sentence refusal;  // of the last row that was refused; empty if none was
};

/// The rows of the table: the quickest, each tile in its best order, and the kernel as it stands, wherever it is.
struct RankedRows {
  std::vector<const SearchCandidate*> all;
  std::size_t shown = 0;

  RankedRows(const std::vector<SearchCandidate>& ranked, std::size_t wanted)
      : all(best_of_each_tile(ranked)), shown(std::min(all.size(), wanted)) {}
  std::span<const SearchCandidate* const> quickest() const { return std::span(all).first(shown); }
};

std::string search_table(const Searched& searched, const RankedRows& rows, const MeasuredRows& measured);
std::string search_json(const Searched& searched, const RankedRows& rows, const MeasuredRows& measured);
/// Writes every candidate, the quickest first.
std::string search_csv(const Searched& searched, const RankedRows& rows, const MeasuredRows& measured);

}  // namespace tilescope
