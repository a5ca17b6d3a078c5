// The sentences.
#include "app/ui/meanings.h"

#include "app/ui/language.h"

namespace tilescope {

const char* meaning_of(Tensor tensor) {
  switch (tensor) {
    case Tensor::q:
      return tr("Queries: a row for each position that asks.");
    case Tensor::k:
      return tr("Keys: a row for each position that can be asked about.");
    case Tensor::v:
      return tr("Values: what each position gives to those that attend to it.");
    case Tensor::s:
      return tr("Scores: how well each query matches each key.");
    case Tensor::p:
      return tr("Weights: the exponential of each score against the row's largest.");
    case Tensor::o:
      return tr("Output: for each query the values, averaged by their weights.");
    case Tensor::lse:
      return tr("Log-sum-exp of each row, m + log l: all that a backward pass needs of the softmax.");
    case Tensor::m:
      return tr("The largest score of each row so far: taken off before the exponential, so that nothing overflows.");
    case Tensor::l:
      return tr("The sum of each row's weights so far: O is divided by it at the end.");
  }
  return "";
}

const char* meaning_of(Slot slot) {
  switch (slot) {
    case Slot::m_new:
      return tr("The largest score of each row with this tile counted in.");
    case Slot::m_tile:
      return tr("The largest score of each row in this tile alone.");
    case Slot::l_new:
      return tr("The sum of each row's weights with this tile counted in.");
    case Slot::l_tile:
      return tr("The sum of each row's weights in this tile alone.");
    case Slot::alpha:
      return tr("By how much what was gathered so far shrinks, now that the maximum has moved; 1 when it has not.");
    case Slot::beta:
      return tr("By how much this tile's share shrinks, where the maximum came from an earlier tile.");
    case Slot::pv:
      return tr("This tile's weights times its values, to be added to O.");
    default:
      return meaning_of(tensor_of(slot));
  }
}

}  // namespace tilescope
