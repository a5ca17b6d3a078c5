// A consumer group that computes the softmax of a key tile under O += P V of the tile before.
//
//   tensor cores   S0 │               │ S1 │ O += P0 V0    │ S2 │ O += P1 V1    │ …
//   the group         │ softmax of S0 │    │ softmax of S1 │    │ softmax of S2 │ …     P needs registers of its own, beside S
//
// Left alone, the compiler moves the exponentials behind the wait for O. Where groups take turns that costs nothing: they run under
// the products of the others. Without turns, `softmax_first` keeps them under the group's own product.
#pragma once

#include <type_traits>

#include "kernels/hopper_producer/hopper_roles.cuh"

namespace tilescope::device {

template <class Shape, class Turns = NoTurns, class Recorder = NoRoleProbe, bool softmax_first = !Turns::are_taken>
struct OverlappedConsumer : Consumer<Shape, Turns, Recorder> {
  using Consumer<Shape, Turns, Recorder>::Consumer;
  using Tile = HopperTile<Shape>;

  __device__ __forceinline__ void visit(const Tile& tile) {
    this->work.clear();
    if (tile.key_tiles == 0) return;
    this->await_queries();
    int t = tile.key_tiles - 1;
    const int first_masked = this->first_masked(tile);
    this->start_scores();
    this->turns.pass();
    wgmma_wait<0>();
    this->scores_done();
    if (t >= first_masked) this->mask(tile, t);
    this->softmax(tile, t);
    this->work.round();
    --t;
    if constexpr (Shape::causal)
      for (; t >= 0 && t >= first_masked; --t) step(tile, t, std::true_type());
    for (; t >= 0; --t) step(tile, t, std::false_type());
    this->queries_done();
    this->start_output();
    wgmma_wait<0>();
    this->output_done();
  }

 private:
  /// Starts S of key tile t, then O += P V of the one before. The softmax of S runs under that second product.
  template <class Masked>
  __device__ __forceinline__ void step(const Tile& tile, int t, Masked) {
    this->start_scores();
    this->start_output();
    this->turns.pass();
    wgmma_wait<1>();
    this->scores_done();
    if constexpr (Masked::value) this->mask(tile, t);
    // A stamp would keep the softmax before the wait, where without a probe the compiler moves it behind.
    constexpr bool softmax_last = Recorder::on && !softmax_first;
    if constexpr (!softmax_last) this->softmax(tile, t);
    if constexpr (softmax_first) finish_before_here(this->work.row_sum[0] + this->work.row_sum[1], this->memory.q);
    wgmma_wait<0>();
    this->output_done();
    if constexpr (softmax_last) this->softmax(tile, t);
    this->work.rescale();
    this->work.round();
    if constexpr (Recorder::on) pin(this->work.p);
    this->probe.ended(ProbeStage::rescale);
  }
};

}  // namespace tilescope::device
