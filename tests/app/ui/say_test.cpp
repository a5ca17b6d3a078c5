// Refusals of the model in the window's words and the command line's.
#include <doctest/doctest.h>

#include "app/cli/command_words.h"
#include "app/ui/say.h"
#include "sim/core/refuse.h"

using namespace tilescope;

TEST_CASE("say: the window and the command line name a setting each in their own words") {
  const Sentence sentence =
      refuse("{} is {}: use a smaller {} or {}", Setting::kv_heads, 4, Setting::seq, Setting::block_kv).sentence;
  CHECK(sentence.text() == "kv_heads is 4: use a smaller seq or block_kv");
  CHECK(say(sentence) == "key heads is 4: use a smaller N or Bc");
  CHECK(command_words(sentence) == "--kv-heads is 4: use a smaller --seq or --block-kv");
}

TEST_CASE("say: a sentence without a pattern stays as it is") {
  CHECK(say(Sentence("there is no file 'a{}b'")) == "there is no file 'a{}b'");
  CHECK(say(Sentence()).empty());
}

TEST_CASE("say: a sentence inside another keeps its settings and is translated too") {
  const Sentence sentence =
      phrase("{}, line {}: {}", "a{b}", 3, refuse("{} is {}: it must be at least 1", Setting::batch, 0).sentence);
  CHECK(sentence.text() == "a{b}, line 3: batch is 0: it must be at least 1");
  CHECK(say(sentence) == "a{b}, line 3: B is 0: it must be at least 1");
  CHECK(command_words(sentence) == "a{b}, line 3: --batch is 0: it must be at least 1");
  const auto language = Language::parse(
      "name = \"x\"\n[text]\n\"{}, line {}: {}\" = \"{} Zeile {}: {}\"\n\"{} is {}: it must be at least 1\" = \"{} ist {}\"",
      "x.toml");
  REQUIRE(static_cast<bool>(language));
  use_language(*language);
  CHECK(say(sentence) == "a{b} Zeile 3: B ist 0");
  use_language(nullptr);
}

TEST_CASE("say: sentences are equal where their patterns, values and inner sentences are") {
  const auto outer = [](int number) { return phrase("{}: {}", "x", phrase("{} is wrong", number)); };
  CHECK(outer(1) == outer(1));
  CHECK_FALSE(outer(1) == outer(2));
  CHECK_FALSE(phrase("{} is wrong", 1) == Sentence("1 is wrong"));
}

TEST_CASE("say: a number and its unit stay on one line") {
  CHECK(say(Sentence("a block needs 300 KiB, an SM has 227 KiB")) == "a block needs 300\u00A0KiB, an SM has 227\u00A0KiB");
  CHECK(with_units_kept("1.5 G to 76.8 T is possible.") == "1.5\u00A0G to 76.8\u00A0T is possible.");
  CHECK(with_units_kept("keys 4 and N 8, 12 %") == "keys 4 and N 8, 12\u00A0%");
  CHECK(with_units_kept("launch 2 sums 16 rows; of 3 Bytes") == "launch 2 sums 16 rows; of 3 Bytes");
}
TEST_CASE("say: a Korean particle follows the sound before it, and both stay where that cannot be known") {
  CHECK(with_particles("단계 48은(는)") == "단계 48은");
  CHECK(with_particles("단계 12은(는)") == "단계 12는");
  CHECK(with_particles("1\u2009048\u2009576을(를) 사용") == "1\u2009048\u2009576을 사용");
  CHECK(with_particles("N은(는) 64이고 B은(는)") == "N은 64이고 B는");
  CHECK(with_particles("마스크이(가), 블록이(가)") == "마스크가, 블록이");
  CHECK(with_particles("코드 7(으)로, 3(으)로, 2(으)로") == "코드 7로, 3으로, 2로");
  CHECK(with_particles("“9”은(는)") == "“9”는");
  CHECK(with_particles("flash2과(와)") == "flash2와");
  CHECK(with_particles("flash3은(는)") == "flash3은(는)");
  CHECK(with_particles("standard은(는)") == "standard은(는)");
  CHECK(with_particles("no Korean (at all)") == "no Korean (at all)");
}
