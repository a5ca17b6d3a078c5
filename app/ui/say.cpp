// The window's names of a request's settings, and units kept with their numbers.
#include "app/ui/say.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace tilescope {

namespace {

/// Units written by sim/analysis/format.h; a prefix alone shortens a count.
constexpr std::array<std::string_view, 35> units = {
    "B",     "kB",    "MB",    "GB",      "TB",  "KiB", "MiB",   "GiB",    "TiB",     "GB/s",      "TB/s",  "B/cycle",
    "ns",    "µs",    "ms",    "s",       "%",   "k",   "M",     "G",      "T",       "FLOP",      "kFLOP", "MFLOP",
    "GFLOP", "TFLOP", "PFLOP", "TFLOP/s", "MHz", "GHz", "bytes", "cycles", "threads", "registers", "SMs"};

/// How a word ends: it decides which particle follows.
enum class Ending { unknown, vowel, rieul, consonant };

/// A particle after a vowel and after a consonant, and how both are written where that is not known: eun(neun), eul(reul), i(ga),
/// gwa(wa), wa(gwa), (eu)ro.
struct Particle {
  std::string_view pair, after_vowel, after_consonant;
};
constexpr std::array particles = {
    Particle{"\uC740(\uB294)", "\uB294", "\uC740"}, Particle{"\uC744(\uB97C)", "\uB97C", "\uC744"},
    Particle{"\uC774(\uAC00)", "\uAC00", "\uC774"}, Particle{"\uACFC(\uC640)", "\uC640", "\uACFC"},
    Particle{"\uC640(\uACFC)", "\uC640", "\uACFC"}, Particle{"(\uC73C)\uB85C", "\uB85C", "\uC73C\uB85C"}};

/// Of the last character of `text` that is read aloud: a Hangul syllable, a digit, or a capital letter that stands for itself.
Ending ending_of(std::string_view text) {
  constexpr std::array<std::string_view, 7> silent = {"'", "\"", "”", "’", "`", "]", " "};
  for (bool cut = true; cut;) {
    cut = false;
    for (const std::string_view mark : silent)
      if (text.ends_with(mark)) text.remove_suffix(mark.size()), cut = true;
  }
  if (text.empty()) return Ending::unknown;
  const char last = text.back();
  constexpr std::string_view digits = "crvcvvcrrv",
                             letters = "vvvvvvvvvvvrccvvvrvvvvvvvv";  // as they are called, from 0 and from A
  const auto called = [](char how) { return how == 'v' ? Ending::vowel : how == 'r' ? Ending::rieul : Ending::consonant; };
  const std::size_t number = text.find_last_not_of("0123456789");
  const bool in_name = number != std::string_view::npos && number + 1 < text.size() &&
                       (text[number] == '-' || std::isalpha(static_cast<unsigned char>(text[number])) != 0);
  // flash3 and H100 are read in English or in Korean; these three end in a vowel in both.
  if (in_name && std::string_view("245").find(last) == std::string_view::npos) return Ending::unknown;
  if (last >= '0' && last <= '9') return called(digits[static_cast<std::size_t>(last - '0')]);
  if (last >= 'A' && last <= 'Z') return called(letters[static_cast<std::size_t>(last - 'A')]);
  constexpr std::uint32_t first_syllable = 0xAC00, last_syllable = 0xD7A3, finals = 28, rieul = 8;
  if (text.size() < 3 || (static_cast<unsigned char>(text[text.size() - 3]) & 0xF0U) != 0xE0U) return Ending::unknown;
  const auto byte = [&](std::size_t from_end) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[text.size() - from_end]));
  };
  const std::uint32_t syllable = (byte(3) & 0x0FU) << 12U | (byte(2) & 0x3FU) << 6U | (byte(1) & 0x3FU);
  if (syllable < first_syllable || syllable > last_syllable) return Ending::unknown;
  const std::uint32_t final = (syllable - first_syllable) % finals;
  return final == 0 ? Ending::vowel : final == rieul ? Ending::rieul : Ending::consonant;
}

bool begins_with_unit(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" ,.;:)\n"));
  return std::find(units.begin(), units.end(), word) != units.end();
}

}  // namespace

const char* control_name(Setting setting) {
  switch (setting) {
    case Setting::batch:
      return tr("B");
    case Setting::heads:
      return tr("H");
    case Setting::kv_heads:
      return tr("key heads");
    case Setting::seq:
      return tr("N");
    case Setting::seq_kv:
      return tr("keys");
    case Setting::head_dim:
      return tr("d");
    case Setting::dtype:
      return tr("type");
    case Setting::causal:
      return tr("causal");
    case Setting::pass:
      return tr("pass");
    case Setting::algorithm:
      return tr("algorithm");
    case Setting::block_q:
      return tr("Br");
    case Setting::block_kv:
      return tr("Bc");
    case Setting::stages:
      return tr("K, V buffers");
    case Setting::blocks_per_sm:
      return tr("blocks per SM");
    case Setting::key_order:
      return tr("key order");
    case Setting::suite:
      return tr("suite");
    case Setting::set:
      return tr("What if");
    case Setting::mask:
      return tr("mask");
    case Setting::score:
      return tr("score change");
    case Setting::preset:
      return tr("preset");
    case Setting::table:
      return tr("table");
    case Setting::mask_block:
      return tr("mask block");
    case Setting::page_size:
      return tr("page size");
    case Setting::page_order:
      return tr("page order");
    case Setting::table_gradient:
      return tr("table gradient");
  }
  return "";
}

std::string say(const Sentence& sentence) {
  return with_particles(
      with_units_kept(sentence.text(control_name, [](const std::string& pattern) { return tr(pattern.c_str()); })));
}

std::string spec_key_name(const SpecKey& key) {
  const std::string meaning = translated(key.meaning);
  std::size_t end = meaning.size();
  for (const std::string_view after : {", ", "; ", ". "}) end = std::min(end, meaning.find(after));
  return meaning.substr(0, end - (end > 0 && meaning[end - 1] == '.' ? 1 : 0));
}

std::string with_particles(std::string text) {
  for (const Particle& particle : particles)
    for (std::size_t at = text.find(particle.pair); at != std::string::npos; at = text.find(particle.pair, at)) {
      const Ending ending = ending_of(std::string_view(text).substr(0, at));
      if (ending == Ending::unknown) {
        at += particle.pair.size();
        continue;
      }
      const bool open = ending == Ending::vowel || (ending == Ending::rieul && particle.after_vowel == "\uB85C");
      text.replace(at, particle.pair.size(), open ? particle.after_vowel : particle.after_consonant);
    }
  return text;
}

bool joins_unit(std::string_view text, std::size_t blank) {
  const bool after_digit = blank > 0 && text[blank - 1] >= '0' && text[blank - 1] <= '9';
  return after_digit && begins_with_unit(text.substr(blank + 1));
}

std::string with_units_kept(std::string_view sentence) {
  std::string out;
  for (std::size_t i = 0; i < sentence.size(); ++i)
    if (sentence[i] == ' ' && joins_unit(sentence, i))
      out += "\u00A0";
    else
      out += sentence[i];
  return out;
}

}  // namespace tilescope
