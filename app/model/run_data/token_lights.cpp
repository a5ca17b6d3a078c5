// Collects the signals of a block's tokens, and counts them up to a moment.
#include "app/model/run_data/token_lights.h"

#include <algorithm>
#include <set>

#include "sim/programs/block_plan.h"

namespace tilescope {

TokenLights::TokenLights(const Simulation& simulation, const StepIndex& steps, std::int32_t run, const BlockOperations& block) {
  const auto intervals = simulation.trace->intervals(steps.sm);
  for (std::size_t i = 0; i < intervals.size(); ++i)
    if (intervals[i].run == run && steps.labels[i].signal_token >= 0)
      signals_[steps.labels[i].signal_token].push_back({intervals[i].end, int{intervals[i].group}});
  for (auto& [token, found] : signals_) std::ranges::stable_sort(found, {}, &Signal::time);

  std::map<std::int16_t, std::set<int>> waiting;  // groups that wait for tokens of no buffer
  constexpr std::int16_t first_of_buffers = BufferToken::full(BufferToken::most_stages);
  for (const Operation& op : block.operations) {
    if (op.kind == OpKind::load && op.dst.is_ring() && op.wait_token >= 0 && op.signal_token >= 0 &&
        BufferToken::is_empty(static_cast<std::size_t>(op.wait_token)))
      tokens_[{op.dst, op.ring}] = {op.signal_token, op.wait_token};
    if (op.wait_token >= 0 && op.wait_token < first_of_buffers) waiting[op.wait_token].insert(op.group);
  }
  // A turn is passed to one group. A barrier of all groups is no turn.
  for (const auto& [token, groups] : waiting) {
    if (groups.size() != 1) continue;
    turns_[token] = *groups.begin();
    taking_turns_.push_back(*groups.begin());
  }
  std::ranges::sort(taking_turns_);
}

std::optional<BufferLights> TokenLights::buffer(ChipTile chip_tile, int ring, double cycle) const {
  const auto tokens = tokens_.find({chip_tile, ring});
  if (tokens == tokens_.end()) return std::nullopt;
  const auto [full, empty] = tokens->second;
  const auto signals_of = [&](std::int16_t token) {
    const auto found = signals_.find(token);
    return found != signals_.end() ? found->second : std::vector<Signal>();
  };
  const auto landed = std::ranges::count_if(signals_of(full), [&](const Signal& signal) { return signal.time <= cycle; });
  std::map<int, std::ptrdiff_t> read;
  for (const Signal& signal : signals_of(empty)) read[signal.group] += signal.time <= cycle ? 1 : 0;
  BufferLights lights;
  for (const auto& [group, count] : read) {
    lights.groups.push_back({group, count >= landed});
    lights.is_full = lights.is_full || count < landed;
  }
  return lights;
}

int TokenLights::turn(double cycle) const {
  if (turns_.empty()) return -1;
  int group = taking_turns_.front();
  double latest = 0;
  for (const auto& [token, next] : turns_) {
    const auto found = signals_.find(token);
    if (found == signals_.end()) continue;
    for (const Signal& signal : found->second)
      if (signal.time <= cycle && signal.time >= latest) latest = signal.time, group = next;
  }
  return group;
}

}  // namespace tilescope
