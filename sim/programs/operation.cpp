// Names, units and colours of operations and slots.
#include "sim/programs/operation.h"

namespace tilescope {

std::string_view to_string(OpKind kind) {
  constexpr std::array<std::string_view, op_kind_count> names = {"load",  "store",       "fill",    "matmul",  "mask",   "row_max",
                                                                 "exp",   "exp_rows",    "row_sum", "rescale", "divide", "add",
                                                                 "merge", "log_sum_exp", "copy",    "barrier"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(Slot slot) {
  constexpr std::array<std::string_view, slot_count> names = {"none", "Q",  "K", "V", "S", "P", "m",  "m′", "m̃",
                                                              "l",    "l′", "l̃", "α", "β", "O", "PV", "L"};
  return names[static_cast<std::size_t>(slot)];
}

Tensor tensor_of(Slot slot) {
  switch (slot) {
    case Slot::none:
    case Slot::q:
      return Tensor::q;
    case Slot::k:
      return Tensor::k;
    case Slot::v:
      return Tensor::v;
    case Slot::s:
      return Tensor::s;
    case Slot::p:
      return Tensor::p;
    case Slot::m:
    case Slot::m_new:
    case Slot::m_tile:
    case Slot::alpha:
    case Slot::beta:
      return Tensor::m;
    case Slot::l:
    case Slot::l_new:
    case Slot::l_tile:
      return Tensor::l;
    case Slot::o:
    case Slot::pv:
      return Tensor::o;
    case Slot::lse:
      return Tensor::lse;
  }
  return Tensor::q;
}

bool is_shared(Slot slot) {
  return slot == Slot::q || slot == Slot::k || slot == Slot::v;
}

bool is_shared(const BlockOperations& block, Slot slot) {
  return (block.shared_slots >> static_cast<int>(slot) & 1U) != 0;
}

std::string_view to_string(Unit unit) {
  constexpr std::array<std::string_view, unit_count> names = {"copy", "tensor core", "exp", "scale, sum", "store", "barrier"};
  return names[static_cast<std::size_t>(unit)];
}

Unit unit_of(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::load:
      return Unit::copy;
    case OpKind::store:
      return Unit::store;
    case OpKind::matmul:
      return Unit::tensor;
    case OpKind::exp:
    case OpKind::exp_rows:
      return Unit::exp;
    case OpKind::barrier:
      return Unit::sync;
    case OpKind::fill:
    case OpKind::mask:
    case OpKind::row_max:
    case OpKind::row_sum:
    case OpKind::rescale:
    case OpKind::divide:
    case OpKind::add:
    case OpKind::merge:
    case OpKind::log_sum_exp:
    case OpKind::copy:
      return Unit::fp32;
  }
  return Unit::fp32;
}

}  // namespace tilescope
