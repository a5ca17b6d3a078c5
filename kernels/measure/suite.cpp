// Reads and writes the cases of a suite, one a line.
#include "kernels/measure/suite.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <sstream>

#include "kernels/kernel_table.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"
#include "sim/masks/mask_choice.h"
#include "sim/masks/presets.h"

namespace tilescope {

namespace {

/// Reads "full", "causal", or presets joined by '+'.
Status take_mask(const std::string& word, SuiteCase& one) {
  std::istringstream parts(word);
  std::string part;
  while (std::getline(parts, part, '+')) {
    if (part == "causal")
      one.problem.causal = true;
    else if (part != "full")
      one.presets.push_back(part);
  }
  if (word.empty() || word.back() == '+' || part.empty())
    return refuse("'{}' is no mask: full, causal, or presets joined by '+'", printable(word));
  for (const std::string& preset : one.presets)
    if (const auto text = preset_text(preset); !text) return refuse("'{}' is no mask: {}", printable(word), text.error().sentence);
  return Done{};
}

std::string mask_word(const SuiteCase& one) {
  std::string word = one.problem.causal ? "causal" : "";
  for (const std::string& preset : one.presets) word += (word.empty() ? "" : "+") + preset;
  return word.empty() ? "full" : word;
}

/// Reads "pages=64" or "pages=64,contiguous".
Status take_pages(const std::string& word, AttentionProblem& p) {
  constexpr std::string_view start = "pages=";
  if (!word.starts_with(start)) return refuse("'{}' is one word too many: only pages follow, as in pages=128", printable(word));
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto [end, error] = std::from_chars(word.data() + start.size(), word.data() + word.size(), p.page_size);
  const std::string_view rest(end, static_cast<std::size_t>(word.data() + word.size() - end));
  if (error != std::errc() || p.page_size < 1 || p.page_size > most || !(rest.empty() || rest.front() == ','))
    return refuse("'{}' is no page size: a whole number of keys from 1 to {}, as in pages=128", printable(word), most);
  if (rest.empty()) return Done{};
  const std::optional<PageOrder> order = page_order_from(rest.substr(1));
  if (!order) return refuse("'{}' has no order of pages: shuffled or contiguous, as in pages=128,contiguous", printable(word));
  p.page_order = *order;
  return Done{};
}

std::string pages_word(const AttentionProblem& p) {
  if (p.page_size == 0) return "";
  return fmt::format(" pages={}{}", p.page_size, p.page_order == PageOrder::shuffled ? "" : ",contiguous");
}

/// Errors  a line that ends before its case does
Status check_words(const std::string& line) {
  constexpr std::string_view names[] = {"kernel", "batch",    "heads", "kv_heads", "seq_q",
                                        "seq_kv", "head_dim", "type",  "mask",     "list"};
  std::istringstream words(line);
  std::string word, shown;
  std::size_t count = 0;
  while (words >> word) ++count, shown += (shown.empty() ? "" : " ") + word;
  if (count >= std::size(names)) return Done{};
  return refuse("'{}' ends before its {}: a case has {} words, as in 'flash2 1 8 8 1024 1024 64 fp16 causal build'",
                printable(shown, 100), std::string(names[count]), std::size(names));
}

Result<SuiteCase> case_from_line(const std::string& line) {
  if (const Status whole = check_words(line); !whole) return whole.error();
  std::istringstream words(line);
  SuiteCase one;
  AttentionProblem& p = one.problem;
  std::string type, mask, rest;
  words >> one.kernel;
  for (std::int64_t* size : {&p.batch, &p.heads, &p.kv_heads, &p.seq_q, &p.seq_kv, &p.head_dim}) {
    std::string word;
    words >> word;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *size);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) return refuse("'{}' is no size", printable(word));
  }
  words >> type >> mask >> one.list;
  const std::optional<DataType> dtype = data_type_from(type);
  if (!dtype) return refuse("'{}' is no type: fp16 or bf16", printable(type));
  p.dtype = *dtype;
  if (const Status known = take_mask(mask, one); !known) return known.error();
  if (one.list != "build" && one.list != "judge") return refuse("'{}' is no list: build or judge", printable(one.list));
  if (words >> rest)
    if (const Status taken = take_pages(rest, p); !taken) return taken.error();
  if (words >> rest) return refuse("'{}' is one word too many", printable(rest));
  const Result<const KernelInfo*> kernel = find_kernel(one.kernel);
  if (!kernel) return kernel.error();
  p.pass = (*kernel)->pass;
  if (Status fits = supports(**kernel, p); !fits) return fits.error();
  if (one.presets.empty()) return one;
  if (!(*kernel)->takes_masks) return refuse("{} takes no preset: give 'full' or 'causal', or the kernel flex", one.kernel);
  MaskChoice choice;
  choice.presets = one.presets;
  if (const auto fault = find_mask_fault(choice, p)) return error_of(*fault);
  return one;
}

}  // namespace

Result<AttentionProblem> settled_problem(const SuiteCase& one) {
  AttentionProblem problem = one.problem;
  MaskChoice choice;
  choice.presets = one.presets;
  if (const Status settled = settle_masks(choice, problem); !settled) return settled.error();
  return problem;
}

Result<std::vector<SuiteCase>> suite_from_text(std::string_view text, std::string_view origin) {
  std::vector<SuiteCase> suite;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<SuiteCase> one = case_from_line(line);
    if (!one) {
      const Sentence& why = one.error().sentence;
      return Error{origin.empty() ? phrase("line {} of the suite: {}", number, why)
                                  : phrase("{}, line {}: {}", printable(origin, 200), number, why),
                   one.error().kind};
    }
    suite.push_back(*one);
  }
  if (suite.empty())
    return refuse("the suite has no case: give lines like 'flash2 1 8 8 1024 1024 64 fp16 causal build', or {} default",
                  Setting::suite);
  return suite;
}

std::string to_text(const SuiteCase& one) {
  const AttentionProblem& p = one.problem;
  return fmt::format("{} {} {} {} {} {} {} {} {} {}{}", one.kernel, p.batch, p.heads, p.kv_heads, p.seq_q, p.seq_kv, p.head_dim,
                     to_string(p.dtype), mask_word(one), one.list, pages_word(p));
}

}  // namespace tilescope
