// tilescope_l2_policy, section sets: which lines share a set, and how reads and writes replace the lines of one set.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/lab/l2_policy.h"
#include "kernels/lab/l2_sets.h"

namespace tilescope {

namespace {

constexpr std::uint32_t lines_of_a_mib = 8192, mapped_mib = 128;

using LinesOfSets = std::vector<std::vector<std::uint32_t>>;

LinesOfSets lines_of_sets(const L2Lab& lab, const SetMap& map, int home) {
  LinesOfSets lines(static_cast<std::size_t>(map.count));
  for (std::uint32_t line = 0; line < map.set_of.size(); ++line)
    if (lab.homes()[line] == home && map.set_of[line] >= 0) lines[static_cast<std::size_t>(map.set_of[line])].push_back(line);
  return lines;
}

std::pair<std::size_t, std::size_t> least_and_most(const LinesOfSets& lines) {
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const auto [least, most] = std::minmax_element(lines.begin(), lines.end(), fewer);
  return {least->size(), most->size()};
}

void print_sizes(const L2Lab& lab, const SetMap& map, int partition) {
  const auto [least, most] = least_and_most(lines_of_sets(lab, map, partition));
  const auto [fewest_copies, most_copies] = least_and_most(lines_of_sets(lab, map, 1 - partition));
  fmt::print("  partition {}: {} sets, each {} to {} lines of its home and {} to {} copies; {} lines are on none\n", partition,
             map.count, least, most, fewest_copies, most_copies, std::count(map.set_of.begin(), map.set_of.end(), -1));
  fmt::print("    {} lines of 128 bytes a set make {} bytes; half of what the driver reports is {}\n", l2_ways,
             std::int64_t{map.count} * l2_ways * 128, lab.device().l2_bytes / 2);
}

/// Statistics over the sets, averaged over the added windows.
struct Evenness {
  double mean = 0, variance = 0, covariance = 0, variance_of_both = 0;
};

void add_window(Evenness& all, double part, const L2Lab& lab, const SetMap& map, int partition, std::size_t first,
                std::size_t lines) {
  std::vector<std::array<double, 2>> counts(static_cast<std::size_t>(map.count));  // lines of this home, copies of the other
  for (std::size_t line = first; line < first + lines; ++line)
    if (map.set_of[line] >= 0) ++counts[static_cast<std::size_t>(map.set_of[line])][lab.homes()[line] == partition ? 0 : 1];
  const double sets = map.count;
  double home = 0, copies = 0;
  for (const auto& [h, c] : counts) home += h / sets, copies += c / sets;
  all.mean += part * home;
  for (const auto& [h, c] : counts) {
    const double off_h = h - home, off_c = c - copies, of_all = part / sets;
    all.variance += of_all * off_h * off_h;
    all.covariance += of_all * off_h * off_c;
    all.variance_of_both += of_all * (off_h + off_c) * (off_h + off_c);
  }
}

void print_evenness(const L2Lab& lab, const SetMap& map, int partition) {
  title(fmt::format("sets of partition {}, how even: lines a set of aligned windows of so many MiB", partition));
  for (std::size_t lines = lines_of_a_mib / 2; lines < map.set_of.size(); lines *= 2) {
    Evenness all;
    const std::size_t windows = map.set_of.size() / lines;
    for (std::size_t i = 0; i < windows; ++i)
      add_window(all, 1.0 / static_cast<double>(windows), lab, map, partition, i * lines, lines);
    fmt::print("  {:>4}: home lines {:7.4f}, variance {:.4f}, covariance with copies {:7.4f}, variance of both together {:.4f}\n",
               static_cast<double>(lines) / lines_of_a_mib, all.mean, all.variance, all.covariance, all.variance_of_both);
  }
}

/// Line lists with one line of each set: home lines h0, h1, ... and copies c0, c1, ... of lines of the other home.
struct SetLines {
  static constexpr std::size_t each = 32;
  std::array<LineList, each> home, copies;
  int sets = 0;
};

SetLines pick_sets(L2Lab& lab, const SetMap& map) {
  constexpr std::size_t most_sets = 5000;
  const LinesOfSets home = lines_of_sets(lab, map, 0), copies = lines_of_sets(lab, map, 1);
  std::vector<std::size_t> full;
  for (std::size_t set = 0; set < home.size(); ++set)
    if (std::min(home[set].size(), copies[set].size()) >= SetLines::each) full.push_back(set);
  const std::size_t count = std::min(most_sets, full.size());
  SetLines picked;
  picked.sets = static_cast<int>(count);
  for (std::size_t at = 0; at < SetLines::each; ++at) {
    std::vector<std::uint32_t> h, c;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t set = full[i * full.size() / count];
      h.push_back(home[set][at]);
      c.push_back(copies[set][at]);
    }
    picked.home[at] = lab.list_of(h);
    picked.copies[at] = lab.list_of(c);
  }
  return picked;
}

int number_of(std::string_view text, int k) {
  int number = k;
  if (text != "k") std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Runs a program of steps: "R0h1-k W1c0" means that side 0 reads home lines h1 to hk of each set, then side 1 writes copy line c0.
void run(L2Lab& lab, const SetLines& lines, std::string_view steps, int k) {
  while (!steps.empty()) {
    const std::string_view step = steps.substr(0, steps.find(' '));
    steps.remove_prefix(std::min(steps.size(), step.size() + 1));
    const std::string_view range = step.substr(3), first = range.substr(0, range.find('-'));
    const std::string_view last = first.size() < range.size() ? range.substr(first.size() + 1) : first;
    const auto& lists = step[2] == 'h' ? lines.home : lines.copies;
    for (int at = number_of(first, k); at <= number_of(last, k); ++at)
      lab.touch_lines(lists[static_cast<std::size_t>(at)], step[1] == '0' ? Who::side0 : Who::side1, step[0] == 'W');
  }
}

struct Program {
  std::string_view name, prepared, counted;
  int first_k, last_k;
  double L2Bytes::*what;
  int rounds = 1;
};
constexpr Program programs[] = {
    {"ways: h0 read from HBM again", "R0h0 R0h1-k", "R0h0", 12, 18, &L2Bytes::hbm_read},
    {"a copy: c0 crosses again", "R0c0 R0h1-k", "R0c0", 12, 18, &L2Bytes::fabric_read},
    {"a far read that finds a copy is no use of the home", "R1h0 R0h1-15 R1h0 R0h16-k", "R0h0", 16, 18, &L2Bytes::hbm_read},
    {"a far read that finds none is", "R0h0-14 R1h0 R0h15-k", "R0h0", 15, 31, &L2Bytes::hbm_read},
    {"four dirty lines: written to HBM", "W0h0-3", "R0h4-k", 8, 25, &L2Bytes::hbm_write},
    {"four dirty lines: h0 read from HBM again", "W0h0-3 R0h4-k", "R0h0", 12, 25, &L2Bytes::hbm_read},
    {"four dirty lines: h1", "W0h0-3 R0h4-k", "R0h1", 12, 25, &L2Bytes::hbm_read},
    {"four dirty lines: h2", "W0h0-3 R0h4-k", "R0h2", 12, 25, &L2Bytes::hbm_read},
    {"four dirty lines: h3", "W0h0-3 R0h4-k", "R0h3", 12, 25, &L2Bytes::hbm_read},
    {"how many stay dirty: written to HBM", "", "W0h0-k", 4, 20, &L2Bytes::hbm_write},
    {"written over and over: to HBM, a round", "W0h0-k", "W0h0-k", 5, 12, &L2Bytes::hbm_write, 9}};

void print_program(L2Lab& lab, const SetLines& lines, const Program& program) {
  constexpr double lines_of_mib = lines_of_a_mib;
  fmt::print("  {} ({} | {})\n   ", program.name, program.prepared, program.counted);
  for (int k = program.first_k; k <= program.last_k; ++k) {
    const L2Bytes b = lab.bytes([&] { run(lab, lines, program.prepared, k); },
                                [&] {
                                  for (int i = 0; i < program.rounds; ++i) run(lab, lines, program.counted, k);
                                });
    fmt::print(" {}:{:.2f}", k, b.*program.what * lines_of_mib / lines.sets / program.rounds);
  }
  fmt::print("\n");
}

void run_programs(L2Lab& lab, const SetMap& map) {
  const SetLines lines = pick_sets(lab, map);
  title(
      fmt::format("set programs: {} sets of partition 0 at once, lines moved a set, by k; after | is counted. R0h1-k: side 0 reads "
                  "home lines h1 to hk; W1c0: side 1 writes c0, a line of the other home",
                  lines.sets));
  if (lines.sets == 0) return;
  for (const Program& program : programs) print_program(lab, lines, program);
}

}  // namespace

void sets(L2Lab& lab) {
  title(fmt::format("sets: lines of {} MiB that push each other out of a partition, read by the SMs of its side", mapped_mib));
  std::array<SetMap, 2> maps;
  for (int partition = 0; partition < 2; ++partition) {
    SetMap& map = maps[static_cast<std::size_t>(partition)] = find_sets(lab, partition, mapped_mib * lines_of_a_mib);
    if (map.count == 0) return fmt::print("  partition {}: none found\n", partition);
    print_sizes(lab, map, partition);
  }
  for (int partition = 0; partition < 2; ++partition) print_evenness(lab, maps[static_cast<std::size_t>(partition)], partition);
  run_programs(lab, maps[0]);
}

}  // namespace tilescope
