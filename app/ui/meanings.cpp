// Tooltip texts.
#include "app/ui/meanings.h"

#include "app/ui/language.h"

namespace tilescope {

const char* meaning_of(Tensor tensor) {
  if (!tensor) return "";
  if (tensor->gradient) return tr("The gradient of the loss with respect to this tensor.");
  switch (tensor->meaning) {
    case Meaning::query:
      return tr("Queries: a row for each position that asks.");
    case Meaning::key:
      return tr("Keys: a row for each position that can be asked about.");
    case Meaning::value:
      return tr("Values: what each position gives to those that attend to it.");
    case Meaning::score:
      return tr("Scores: how well each query matches each key.");
    case Meaning::probability:
      return tr("Weights: the exponential of each score against the row's largest.");
    case Meaning::output:
      return tr("Output: for each query the sum of the values times their weights. Divided by l at the end, it is their average.");
    case Meaning::log_sum_exp:
      return tr("Log-sum-exp of each row, m + log l: all that a backward pass needs of the softmax.");
    case Meaning::row_max:
      return tr("The largest score of each row so far: taken off before the exponential, so that nothing overflows.");
    case Meaning::row_sum:
      return tr("The sum of each row's weights so far: O is divided by it at the end.");
    case Meaning::row_dot:
      return tr("The dot product of each row of O and its gradient: what a backward pass takes off dP.");
    case Meaning::bias:
      return tr("Bias: a number added to each score.");
    case Meaning::table:
      return tr("Table: indices that say which tiles a block visits.");
  }
  return "";
}

const char* meaning_of(ChipTile chip_tile) {
  if (chip_tile == ChipTile::none) return "";
  const bool is_max = chip_tile.tensor().means(Meaning::row_max), is_sum = chip_tile.tensor().means(Meaning::row_sum);
  switch (chip_tile->part) {
    case TilePart::updated:
      if (is_max) return tr("The largest score of each row with this tile counted in.");
      if (is_sum) return tr("The sum of each row's weights with this tile counted in.");
      break;
    case TilePart::of_tile:
      if (is_max) return tr("The largest score of each row in this tile alone.");
      if (is_sum) return tr("The sum of each row's weights in this tile alone.");
      if (chip_tile.tensor().means(Meaning::output)) return tr("This tile's weights times its values, to be added to O.");
      break;
    case TilePart::factor:
      return tr("Rescale factor for the earlier tiles; 1 where the maximum did not move.");
    case TilePart::factor_of_tile:
      return tr("Rescale factor for this tile; 1 where it holds the maximum.");
    case TilePart::whole:
      break;
  }
  return meaning_of(tensor_of(chip_tile));
}

}  // namespace tilescope
