// Fuzzes the reader of decks.
#include <string>

#include "app/model/state/deck.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilescope;
  const auto deck = parse_deck({reinterpret_cast<const char*>(data), size}, "deck.toml");
  if (!deck) {
    fuzz_check_sentence(deck.error().sentence.text());
    return 0;
  }
  const std::string text = format_deck(*deck);
  const auto again = parse_deck(text, "deck.toml");
  fuzz_check(again && *again == *deck, "a deck that was written is read as it was");
  fuzz_check(format_deck(*again) == text, "a deck has one text");
  return 0;
}
