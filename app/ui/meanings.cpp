// Tooltip texts.
#include "app/ui/meanings.h"

#include "app/ui/language.h"

namespace tilescope {

const char* meaning_of(Tensor tensor) {
  switch (tensor) {
    case Tensor::q:
      return tr("Queries: one row per query position.");
    case Tensor::k:
      return tr("Keys: one row per key position.");
    case Tensor::v:
      return tr("Values: one row per key position; O is their weighted average.");
    case Tensor::s:
      return tr("Scores: how well each query matches each key.");
    case Tensor::p:
      return tr("Weights: exp(score − row maximum).");
    case Tensor::o:
      return tr("Output: the weighted average of the values, one row per query.");
    case Tensor::lse:
      return tr("Log-sum-exp of each row, m + log l. The backward pass needs nothing else of the softmax.");
    case Tensor::m:
      return tr("Running row maximum. Subtracted before the exponential, so nothing overflows.");
    case Tensor::l:
      return tr("Running row sum of the weights. O is divided by it at the end.");
  }
  return "";
}

const char* meaning_of(Slot slot) {
  switch (slot) {
    case Slot::m_new:
      return tr("Row maximum including this tile.");
    case Slot::m_tile:
      return tr("Row maximum of this tile alone.");
    case Slot::l_new:
      return tr("Row sum including this tile.");
    case Slot::l_tile:
      return tr("Row sum of this tile alone.");
    case Slot::alpha:
      return tr("Rescale factor for the earlier tiles; 1 if the maximum did not change.");
    case Slot::beta:
      return tr("Rescale factor for this tile; 1 if this tile has the new maximum.");
    case Slot::pv:
      return tr("P·V of this tile, to be added to O.");
    default:
      return meaning_of(tensor_of(slot));
  }
}

}  // namespace tilescope
