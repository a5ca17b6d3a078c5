// RungCode: the source of a rung of the ladder to Hopper, with the lines that are new against the rung that it builds on.
//
//   kernels/hopper_causal/tickets.cuh               not there before: every line is new
//   kernels/hopper_causal/hopper_causal_kernel.cuh  compared with kernels/hopper_persistent/hopper_persistent_kernel.cuh
//   kernels/hopper_ping_pong/ping_pong.cuh          part of both rungs: nothing is new
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

/// One file of a rung, by lines.
struct RungFile {
  std::string_view path;     // from the repository's root
  std::string_view against;  // the file of the rung before that it is compared with; empty: none
  std::vector<std::string_view> lines;
  std::vector<bool> is_new;  // by line
  std::size_t new_count() const;
  bool is_whole_new() const { return new_count() == lines.size(); }
};

struct RungCode {
  std::string_view id, over;    // over: the rung that it is compared with; empty: none
  std::vector<RungFile> files;  // in the order of reading: what makes the rung first, what both rungs have last
  std::size_t new_count() const;
  /// Returns all files in one text, each below a comment with its path.
  std::string text() const;
};

/// True of an id of ladder().
bool is_rung(std::string_view id);

/// Returns the kernel of a rung: its own source, and what that includes of the embedded ones. A line that differs from the rung
/// before in nothing but the rung's own name is not new.
/// Errors  an id that is not on the ladder: no files
RungCode rung_code(std::string_view id);

/// Marks the lines of `after` that a longest common subsequence with `before` leaves out. `renamed` has the lines of `before` in a
/// second spelling, which counts as the same line.
std::vector<bool> added_lines(std::span<const std::string_view> before, std::span<const std::string_view> renamed,
                              std::span<const std::string_view> after);

}  // namespace tilescope
