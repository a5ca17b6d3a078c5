// both_passes() joins a forward and a backward program into one. The backward launches read the forward results from HBM.
#include <algorithm>
#include <utility>

#include "sim/programs/programs.h"

namespace tilescope {

namespace {

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

template <class T>
std::vector<T> joined(std::vector<T> first, const std::vector<T>& second) {
  for (const T& each : second)
    if (!contains(first, each)) first.push_back(each);
  return first;
}

Schema joined(const Schema& forward, const Schema& backward) {
  Schema schema = {.tensors = joined(forward.tensors, backward.tensors),
                   .inputs = forward.inputs,
                   .outputs = joined(forward.outputs, backward.outputs),
                   .tiles = joined(forward.tiles, backward.tiles)};
  for (const Tensor input : backward.inputs)
    if (!contains(forward.outputs, input) && !contains(schema.inputs, input)) schema.inputs.push_back(input);
  return schema;
}

AttentionProblem of_both(AttentionProblem problem) {
  problem.pass = Pass::both;
  return problem;
}

class BothPasses final : public TileProgram {
 public:
  BothPasses(std::unique_ptr<TileProgram> forward, std::unique_ptr<TileProgram> backward, int forward_lines)
      : TileProgram(of_both(backward->problem()), backward->tile(), joined(forward->schema(), backward->schema())),
        forward_(std::move(forward)),
        backward_(std::move(backward)),
        forward_lines_(forward_lines),
        forward_launches_(static_cast<int>(forward_->launches().size())) {
    tile_.forward = forward_->tile();
    launches_.assign(forward_->launches().begin(), forward_->launches().end());
    for (LaunchSpec launch : backward_->launches()) {
      launch.first_line += forward_lines;
      launch.last_line += forward_lines;
      launches_.push_back(launch);
    }
  }

  void emit_block(int launch, std::int64_t block, BlockOperations& out) const override {
    if (launch < forward_launches_) {
      forward_->emit_block(launch, block, out);
    } else {
      backward_->emit_block(launch - forward_launches_, block, out);
      out.launch = launch;
      for (Operation& op : out.operations) op.line = static_cast<std::uint8_t>(op.line + forward_lines_);
    }
    out.tiles = schema_.tiles;
  }

  std::optional<BlockPlace> place_of(int launch, std::int64_t block) const override {
    return launch < forward_launches_ ? forward_->place_of(launch, block) : backward_->place_of(launch - forward_launches_, block);
  }

  std::optional<Domain> domain_of(int launch, std::int64_t block) const override {
    return launch < forward_launches_ ? forward_->domain_of(launch, block)
                                      : backward_->domain_of(launch - forward_launches_, block);
  }
  /// A backward program has the tables of its forward program too.
  std::shared_ptr<const TableValues> tables() const override {
    const std::shared_ptr<const TableValues> of_backward = backward_->tables();
    return of_backward ? of_backward : forward_->tables();
  }

  std::optional<ClosedForm> closed_form() const override {
    std::optional<ClosedForm> form = forward_->closed_form();
    const std::optional<ClosedForm> second = backward_->closed_form();
    if (!form || !second) return std::nullopt;
    for (const ClosedFormTerm& term : second->terms) {
      const auto same = std::find_if(form->terms.begin(), form->terms.end(), [&](const ClosedFormTerm& other) {
        return other.tensor == term.tensor && other.link == term.link;
      });
      if (same == form->terms.end()) {
        form->terms.push_back(term);
      } else {
        same->bytes += term.bytes;
        same->formula += " + " + term.formula;
      }
    }
    form->reduced += second->reduced;
    form->flops += second->flops;
    form->exps += second->exps;
    return form;
  }

 private:
  std::unique_ptr<TileProgram> forward_, backward_;
  int forward_lines_, forward_launches_;
};

}  // namespace

std::unique_ptr<TileProgram> both_passes(std::unique_ptr<TileProgram> forward, std::unique_ptr<TileProgram> backward,
                                         int forward_lines) {
  return std::make_unique<BothPasses>(std::move(forward), std::move(backward), forward_lines);
}

}  // namespace tilescope
