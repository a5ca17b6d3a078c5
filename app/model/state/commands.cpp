// Commands: the queue that panels push into, compiled here for every kind of command.
#include <tuple>
#include <utility>

#include "app/model/state/commands.h"

namespace tilescope {

Changes changes_of(const Command& command) {
  return std::visit([]<class Each>(const Each&) { return Each::changes; }, command);
}

bool moves_playhead(const Command& command) {
  const auto* playing = std::get_if<SetPlaying>(&command);
  return changes_of(command) == Changes::playhead && (playing == nullptr || playing->on);
}

Commands::Commands() = default;
Commands::~Commands() = default;

template <class T>
void Commands::push(T command) {
  queue_.emplace_back(std::move(command));
}

std::vector<Command> Commands::take() {
  return std::exchange(queue_, {});
}

/// Names push() for each alternative, so that it is there for whoever pushes one.
template <class... Each>
auto every_push(const std::variant<Each...>&) {
  return std::tuple(&Commands::push<Each>...);
}
template auto every_push(const Command&);

}  // namespace tilescope
