// Reads the blocks of a lesson, page by page.
#include "app/model/lessons/lesson.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "app/model/lessons/lesson_expression.h"
#include "app/model/lessons/lesson_figures.h"
#include "app/model/state/panel_ids.h"
#include "sim/core/document.h"
#include "sim/core/refuse.h"
#include "sim/core/text.h"

namespace tilescope {

namespace {

constexpr double drawn_tolerance = 0.5;  // where the question gives none
constexpr std::array<std::string_view, 6> block_kinds = {"lesson", "scene", "ask", "reveal", "try", "notes"};
constexpr std::array<std::string_view, 5> question_names = {"choice", "number", "point", "order", "draw"};
constexpr std::array<std::string_view, 3> drawn_ways = {"above", "below", "shape"};
constexpr std::int64_t newest_version = 1;
constexpr std::size_t most_options = 12, most_points = 16, most_pages = 99;

/// One block's TOML table. The first thing that is wrong is kept; what is read after it is empty.
class Block {
 public:
  Block(const Fence& fence, std::string_view origin) : origin_(origin), first_line_(fence.line) {
    if (const Status fits = check_document(fence.content, DocumentKind::toml, origin); !fits) {
      error_ = Error{fmt::format("{}:{}: the block nests too deep or is too large", printable(origin_, 200), fence.line)};
      return;
    }
    try {
      table_ = toml::parse(fence.content);
    } catch (const toml::parse_error& error) {
      fail(static_cast<int>(error.source().begin.line), fmt::format("not TOML: {}", printable(error.description(), 160)));
    }
  }

  const std::optional<Error>& error() const { return error_; }
  std::string_view origin() const { return origin_; }
  int line() const { return first_line_; }
  int line_of(std::string_view key) const {
    const toml::node* node = table_.get(key);
    return first_line_ + (node != nullptr ? std::max(1, static_cast<int>(node->source().begin.line)) : 1) - 1;
  }
  bool has(std::string_view key) const { return table_.contains(key); }

  void fail(int line, std::string_view sentence) {
    if (!error_) error_ = Error{fmt::format("{}:{}: {}", printable(origin_, 200), std::max(1, first_line_ + line - 1), sentence)};
  }
  void fail_key(std::string_view key, std::string_view sentence) {
    if (!error_) error_ = Error{fmt::format("{}:{}: {}", printable(origin_, 200), line_of(key), sentence)};
  }
  void take(const Error& error) {
    if (!error_) error_ = error;
  }

  void allow(std::span<const std::string_view> keys) {
    for (const auto& [key, node] : table_)
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        fail_key(key.str(), fmt::format("unknown key '{}': {}", printable(key.str()), name_hint(key.str(), keys)));
  }

  std::string text(std::string_view key, bool needed = true) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (needed) fail(1, fmt::format("the block has no {}: add {} = \"…\"", key, key));
      return {};
    }
    const auto value = node->value<std::string>();
    if (!node->is_string() || !value || value->empty()) {
      fail_key(key, fmt::format("{} must be a text: write {} = \"…\"", key, key));
      return {};
    }
    return *value;
  }

  double number(std::string_view key, double usual, double low, double high) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return usual;
    const auto value = node->value<double>();
    if (!node->is_number() || !value || !(*value >= low && *value <= high)) {
      fail_key(key, fmt::format("{} must be a number from {:g} to {:g}", key, low, high));
      return usual;
    }
    return *value;
  }

  /// True or false; false where it is not there.
  bool truth(std::string_view key) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return false;
    if (!node->is_boolean()) fail_key(key, fmt::format("{} must be true or false", key));
    return node->value_or(false);
  }

  std::vector<std::string> texts(std::string_view key, std::size_t most, bool needed = true) {
    std::vector<std::string> out;
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (needed) fail(1, fmt::format("the block has no {}: add {} = [\"…\"]", key, key));
      return out;
    }
    const toml::array* list = node->as_array();
    if (list == nullptr || list->size() > most) {
      fail_key(key, fmt::format("{} must be a list of at most {} texts", key, most));
      return out;
    }
    for (const toml::node& each : *list) {
      const auto value = each.value<std::string>();
      if (!each.is_string() || !value || value->empty()) {
        fail_key(key, fmt::format("{} must be a list of texts", key));
        return out;
      }
      out.push_back(*value);
    }
    if (needed && out.empty()) fail_key(key, fmt::format("{} is empty", key));
    return out;
  }

  std::vector<double> numbers(std::string_view of, std::string_view key) {
    std::vector<double> out;
    const toml::node_view<const toml::node> node = std::as_const(table_)[of][key];
    const toml::array* list = node.as_array();
    if (list == nullptr || list->size() < 2 || list->size() > most_points) {
      fail_key(of, fmt::format("{} of {} must be a list of 2 to {} numbers", key, of, most_points));
      return out;
    }
    for (const toml::node& each : *list) {
      const auto value = each.value<double>();
      if (!each.is_number() || !value || !(*value > 0) || !std::isfinite(*value) || (!out.empty() && *value <= out.back())) {
        fail_key(of, fmt::format("{} of {} must be positive numbers, each larger than the one before", key, of));
        return out;
      }
      out.push_back(*value);
    }
    return out;
  }

  std::string text_of(std::string_view of, std::string_view key) {
    const auto value = std::as_const(table_)[of][key].value<std::string>();
    if (!value || value->empty()) fail_key(has(of) ? of : key, fmt::format("{} needs {} = \"…\"", of, key));
    return value.value_or("");
  }

  std::vector<std::pair<std::string, std::string>> pairs(std::string_view key) {
    std::vector<std::pair<std::string, std::string>> out;
    const toml::node* node = table_.get(key);
    if (node == nullptr) return out;
    const toml::table* table = node->as_table();
    if (table == nullptr || table->size() > 8) {
      fail_key(key, fmt::format("{} must be a table of at most 8 links: write {{ standard = \"algorithm=standard\" }}", key));
      return out;
    }
    for (const auto& [name, value] : *table) {
      const auto text = value.value<std::string>();
      if (!text || text->empty()) fail_key(key, fmt::format("{} of {} must be a text", printable(name.str()), key));
      out.emplace_back(std::string(name.str()), text.value_or(""));
    }
    return out;
  }

  /// The tables of a list, none with another key than `keys`.
  std::vector<const toml::table*> tables(std::string_view key, std::size_t most, std::span<const std::string_view> keys) {
    std::vector<const toml::table*> out;
    const toml::node* node = table_.get(key);
    if (node == nullptr) return out;
    const toml::array* list = node->as_array();
    if (list == nullptr || list->empty() || list->size() > most || !list->is_homogeneous(toml::node_type::table)) {
      fail_key(key, fmt::format("{} must be a list of 1 to {} tables: write {{ say = \"…\" }}", key, most));
      return out;
    }
    for (const toml::node& each : *list) {
      for (const auto& [name, value] : *each.as_table())
        if (std::find(keys.begin(), keys.end(), name.str()) == keys.end())
          fail(line_of(each), fmt::format("unknown key '{}' in {}: {}", printable(name.str()), key, name_hint(name.str(), keys)));
      out.push_back(each.as_table());
    }
    return out;
  }
  /// The line of a node, counted from the block's first.
  static int line_of(const toml::node& node) { return std::max(1, static_cast<int>(node.source().begin.line)); }
  std::string text_in(const toml::table& row, std::string_view key) {
    const auto value = row[key].value<std::string>();
    if (!row[key].is_string() || !value || value->empty())
      fail(line_of(row), fmt::format("{} must be a text: write {} = \"…\"", key, key));
    return value.value_or("");
  }

  Prose prose(std::string_view key, bool needed = true) {
    const std::string words = text(key, needed);
    if (words.empty()) return {};
    return prose_of(words, line_of(key));
  }
  Prose prose_of(const std::string& words, int line) {
    Result<Prose> parsed = parse_prose(words, origin_, line);
    if (!parsed) {
      take(parsed.error());
      return {};
    }
    return std::move(*parsed);
  }

 private:
  std::string_view origin_;
  int first_line_;
  toml::table table_;
  std::optional<Error> error_;
};

std::string_view key_of(std::string_view pair) {
  return pair.substr(0, pair.find('='));
}

class LessonReader {
 public:
  LessonReader(std::string_view id, std::string_view origin) : origin_(origin) {
    lesson_.id = std::string(id);
    lesson_.origin = std::string(origin);
  }

  Result<LessonHead> read_head(std::string_view text) {
    const std::size_t first_page = text.starts_with("## ") ? 0 : text.find("\n## ");
    Result<MarkdownText> parsed = parse_markdown(text.substr(0, first_page), origin_, block_kinds);
    if (!parsed) return parsed.error();
    if (parsed->fences.empty() || parsed->fences.front().info != "lesson") return no_head();
    if (const Status taken = take(parsed->fences.front()); !taken) return taken.error();
    return LessonHead{std::move(lesson_.title), lesson_.minutes, std::move(lesson_.goal), std::move(lesson_.group)};
  }

  Result<std::shared_ptr<const Lesson>> read(std::string_view text) {
    if (text.empty()) return Error{fmt::format("{}: the file is empty", printable(origin_, 200))};
    if (text.size() > largest_lesson_bytes)
      return Error{fmt::format("{}: a lesson has at most {} KiB, this has {}", printable(origin_, 200), largest_lesson_bytes >> 10U,
                               (text.size() + 1023) >> 10U)};
    Result<MarkdownText> parsed = parse_markdown(text, origin_, block_kinds);
    if (!parsed) return parsed.error();
    if (const Status placed = check_places(*parsed); !placed) return placed.error();
    for (MarkdownText::Page& page : parsed->pages) {
      LessonPage& added = lesson_.pages.emplace_back();
      added.title = std::move(page.title);
      added.line = page.line;
      added.prose = std::move(page.prose);
    }
    for (const Fence& fence : parsed->fences)
      if (const Status taken = take(fence); !taken) return taken.error();
    if (const Status whole = check_pages(); !whole) return whole.error();
    return std::make_shared<const Lesson>(std::move(lesson_));
  }

 private:
  Error fail(int line, std::string_view sentence) const {
    return Error{fmt::format("{}:{}: {}", printable(origin_, 200), std::max(1, line), sentence)};
  }

  Error no_head() const { return fail(1, "a lesson begins with a block ```lesson that has title, minutes and goal"); }

  Status check_places(const MarkdownText& text) const {
    if (text.fences.empty() || text.fences.front().info != "lesson") return no_head();
    if (!text.before.empty())
      return fail(text.before.front().line, "this stands before the first page: begin a page with ## Heading");
    if (text.pages.empty()) return fail(1, "the lesson has no page: begin one with ## Heading");
    if (text.pages.size() > most_pages)
      return fail(text.pages.back().line, fmt::format("a lesson has at most {} pages", most_pages));
    for (const Fence& fence : text.fences) {
      const bool head = fence.info == "lesson";
      if (head && &fence != &text.fences.front()) return fail(fence.line, "there is a second block lesson: remove it");
      if (!head && fence.page == 0) return fail(fence.line, fmt::format("the block {} stands before the first page", fence.info));
    }
    return Done{};
  }

  Status take(const Fence& fence) {
    Block block(fence, origin_);
    if (!block.error()) {
      if (fence.info == "lesson") {
        take_lesson(block);
      } else {
        LessonPage& page = lesson_.pages[fence.page - 1];
        if (fence.info == "scene") take_scene(block, page);
        if (fence.info == "ask") take_ask(block, page);
        if (fence.info == "reveal") take_reveal(block, page);
        if (fence.info == "try") take_try(block, page);
        if (fence.info == "notes") take_notes(block, page);
      }
    }
    if (block.error()) return *block.error();
    return Done{};
  }

  void take_lesson(Block& block) {
    // A newer version is said before its unknown keys.
    const auto version = static_cast<std::int64_t>(block.number("version", 1, 1, 1e9));
    if (version > newest_version)
      return block.fail_key("version", fmt::format("the lesson is of version {}, and this program reads version {}: update it",
                                                   version, newest_version));
    constexpr std::array<std::string_view, 5> keys = {"title", "minutes", "goal", "group", "version"};
    block.allow(keys);
    lesson_.title = block.text("title");
    lesson_.minutes = static_cast<int>(block.number("minutes", 0, 1, 600));
    if (lesson_.minutes == 0) block.fail(1, "the block has no minutes: add minutes = 10");
    lesson_.goal = block.prose("goal");
    lesson_.group = block.text("group", false);
  }

  static std::optional<WindowState> state_of(Block& block, std::string_view key, const std::string& link) {
    const Result<WindowState> state = from_link(link);
    if (state) return *state;
    block.fail_key(key, std::string(state.error().sentence));
    return std::nullopt;
  }

  static std::vector<std::string> panels_of(Block& block) {
    std::vector<std::string> look = block.texts("look", panel_ids.size(), false);
    for (const std::string& id : look)
      if (std::find(panel_ids.begin(), panel_ids.end(), id) == panel_ids.end())
        block.fail_key("look", fmt::format("there is no panel '{}': {}", printable(id), name_hint(id, panel_ids)));
    return look;
  }

  void take_scene(Block& block, LessonPage& page) {
    if (page.scene) return block.fail(1, "the page has a second scene: begin another page");
    constexpr std::array<std::string_view, 4> keys = {"link", "look", "others", "shown"};
    block.allow(keys);
    LessonScene scene;
    scene.line = block.line();
    scene.link = block.text("link");
    if (block.error()) return;
    const auto state = state_of(block, "link", scene.link);
    if (!state) return;
    scene.state = *state;
    scene.look = panels_of(block);
    scene.shown = block.truth("shown");
    for (auto& [name, changes] : block.pairs("others")) {
      if (block.error()) return;
      const bool word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      });
      if (!word || (name.front() >= '0' && name.front() <= '9'))
        return block.fail_key("others", fmt::format("'{}' is no name of a run: use letters, digits and _", printable(name)));
      if (name == scene_run || name == "self" || check_figure(name, {}))
        return block.fail_key("others", fmt::format("the name '{}' is taken: choose another for this run", name));
      const auto other = state_of(block, "others", changed_link(scene.link, changes));
      if (!other) return;
      scene.others.push_back({std::move(name), std::move(changes), *other});
    }
    page.scene = std::move(scene);
  }

  LessonExpression expression(Block& block, std::string_view key, bool needed = true) const {
    LessonExpression out{block.text(key, needed), block.line_of(key)};
    return out;
  }

  void take_ask(Block& block, LessonPage& page) {
    if (page.ask) return block.fail(1, "the page has a second question: begin another page");
    LessonQuestion ask;
    ask.line = block.line();
    const std::string kind = block.text("kind");
    if (block.error()) return;
    const auto known = index_of_name(question_names, kind);
    if (!known)
      return block.fail_key("kind", fmt::format("there is no question '{}': {}", printable(kind), name_hint(kind, question_names)));
    ask.kind = static_cast<QuestionKind>(*known);
    ask.question = block.prose("question");
    ask.shows_values = block.has("unit");
    if (ask.shows_values) {
      const std::string name = block.text("unit");
      if (const auto unit = figure_unit_from(name))
        ask.unit = *unit;
      else
        block.fail_key("unit", fmt::format("there is no unit '{}': {}", printable(name), figure_unit_hint(name)));
    }
    switch (ask.kind) {
      case QuestionKind::number:
        take_number(block, ask);
        break;
      case QuestionKind::draw:
        take_draw(block, ask);
        break;
      default:
        take_options(block, ask);
    }
    take_wrong(block, ask);
    page.ask = std::move(ask);
  }

  void take_number(Block& block, LessonQuestion& ask) const {
    constexpr std::array<std::string_view, 6> keys = {"kind", "question", "answer", "tolerance", "unit", "wrong"};
    block.allow(keys);
    ask.answer = expression(block, "answer");
    ask.tolerance = block.number("tolerance", 0.1, 0, 10);
  }

  void take_options(Block& block, LessonQuestion& ask) const {
    constexpr std::array<std::string_view, 8> keys = {"kind", "question", "options", "values", "pick", "answer", "unit", "wrong"};
    constexpr std::array<std::string_view, 6> of_order = {"kind", "question", "options", "values", "unit", "wrong"};
    ask.kind == QuestionKind::order ? block.allow(of_order) : block.allow(keys);
    const std::vector<std::string> options = block.texts("options", most_options);
    for (const std::string& option : options) ask.options.push_back(block.prose_of(option, block.line_of("options")));
    if (options.size() < 2) block.fail_key("options", "a question needs at least two options");
    const bool by_answer = ask.kind == QuestionKind::choice && block.has("answer");
    if (by_answer) {
      if (block.has("values") || block.has("pick")) block.fail_key("answer", "answer and values are both given: give one of them");
      ask.answer = expression(block, "answer");
      return;
    }
    for (std::string& value : block.texts("values", most_options))
      ask.values.push_back({std::move(value), block.line_of("values")});
    if (ask.values.size() != options.size())
      block.fail_key(
          "values", fmt::format("there are {} options and {} values: give one value an option", options.size(), ask.values.size()));
    if (ask.kind == QuestionKind::order) return;
    const std::string pick = block.text("pick");
    ask.smallest = pick == "smallest";
    if (pick != "smallest" && pick != "largest") block.fail_key("pick", "pick must be \"largest\" or \"smallest\"");
  }

  void take_draw(Block& block, LessonQuestion& ask) const {
    constexpr std::array<std::string_view, 7> keys = {"kind", "question", "x", "curve", "tolerance", "unit", "wrong"};
    block.allow(keys);
    ask.x_key = block.text_of("x", "key");
    ask.xs = block.numbers("x", "values");
    ask.curve = expression(block, "curve");
    ask.tolerance = block.number("tolerance", drawn_tolerance, 0, 10);
  }

  static void take_wrong(Block& block, LessonQuestion& ask) {
    constexpr std::array<std::string_view, 1> of_any = {"say"};
    constexpr std::array<std::string_view, 2> of_options = {"choice", "say"}, of_number = {"near", "say"},
                                              of_drawing = {"drawn", "say"};
    const bool chosen = ask.kind == QuestionKind::choice || ask.kind == QuestionKind::point;
    std::span<const std::string_view> keys = of_any;
    if (chosen) keys = of_options;
    if (ask.kind == QuestionKind::number) keys = of_number;
    if (ask.kind == QuestionKind::draw) keys = of_drawing;
    for (const toml::table* row : block.tables("wrong", most_options, keys)) {
      const int place = Block::line_of(*row);
      LessonWrong wrong;
      wrong.line = block.line() + place - 1;
      if (row->contains("choice")) {
        const auto option = (*row)["choice"].value_exact<std::int64_t>().value_or(0);
        if (option < 1 || option > static_cast<std::int64_t>(ask.options.size()))
          return block.fail(place, fmt::format("choice must be the place of an option, 1 to {}", ask.options.size()));
        wrong.option = static_cast<int>(option) - 1;
      }
      if (row->contains("near")) wrong.near = {block.text_in(*row, "near"), wrong.line};
      if (row->contains("drawn")) {
        const std::string way = block.text_in(*row, "drawn");
        const auto known = std::find(drawn_ways.begin(), drawn_ways.end(), way);
        if (known == drawn_ways.end()) return block.fail(place, "drawn must be \"above\", \"below\" or \"shape\"");
        wrong.drawn = static_cast<DrawnWay>(known - drawn_ways.begin());
      }
      const std::string words = block.text_in(*row, "say");
      if (block.error()) return;
      wrong.say = block.prose_of(words, wrong.line);
      for (const LessonWrong& before : ask.wrong) {
        if (before.takes_all())
          return block.fail(place, "this reason comes after the one for every other answer: move it before that one");
        if (wrong.option >= 0 && before.option == wrong.option)
          return block.fail(place, fmt::format("option {} has a second reason: keep one", wrong.option + 1));
        if (wrong.drawn && before.drawn == wrong.drawn)
          return block.fail(place, fmt::format("drawn = \"{}\" has a second reason: keep one", to_string(*wrong.drawn)));
      }
      ask.wrong.push_back(std::move(wrong));
    }
  }

  static void take_reveal(Block& block, LessonPage& page) {
    if (page.reveal) return block.fail(1, "the page has a second reveal: keep one");
    constexpr std::array<std::string_view, 4> keys = {"say", "play", "link", "look"};
    block.allow(keys);
    LessonReveal reveal;
    reveal.say = block.prose("say");
    reveal.keys = block.text("link", false);
    reveal.look = panels_of(block);
    const std::string play = block.text("play", false);
    if (play == "end") {
      reveal.play = LessonReveal::Play::end;
    } else if (play.starts_with("step:")) {
      reveal.play = LessonReveal::Play::step;
      const char* const end = play.data() + play.size();
      const auto [at, code] = std::from_chars(play.data() + 5, end, reveal.step);
      if (code != std::errc() || at != end || reveal.step < 0) block.fail_key("play", "play = \"step:…\" needs a whole number");
    } else if (!play.empty() && play != "none") {
      block.fail_key("play", "play must be \"end\", \"step:37\" or \"none\"");
    }
    page.reveal = std::move(reveal);
  }

  void take_try(Block& block, LessonPage& page) const {
    if (page.task) return block.fail(1, "the page has a second task: begin another page");
    constexpr std::array<std::string_view, 5> keys = {"free", "say", "goal", "done", "solution"};
    block.allow(keys);
    LessonTry task;
    task.line = block.line();
    task.free = block.texts("free", 12);
    for (const std::string& key : task.free) {
      // A link with the key alone is read, or refused for its value; only an unknown key is called one.
      const Result<WindowState> read = from_link(fmt::format("{}=?", key));
      if (!read && std::string(read.error().sentence).starts_with("a link has no key"))
        block.fail_key("free", std::string(read.error().sentence));
    }
    task.say = block.prose("say");
    task.goal = expression(block, "goal");
    task.done = block.prose("done");
    if (block.has("solution")) task.solution = LessonVariant{"", block.text("solution"), {}};
    page.task = std::move(task);
  }

  static void take_notes(Block& block, LessonPage& page) {
    constexpr std::array<std::string_view, 1> keys = {"text"};
    block.allow(keys);
    page.notes.push_back(block.prose("text"));
  }

  // --- what takes the whole page ---------------------------------------------------------------------------------------------

  Status check_names(const std::string& text, int line, const std::vector<std::string>& others) const {
    const auto names = names_in(text);
    if (!names) return fail(line, std::string(names.error().sentence));
    for (const std::string& name : *names)
      if (const Status known = check_figure(name, others); !known) return fail(line, std::string(known.error().sentence));
    return Done{};
  }
  Status check_names(const LessonExpression& expression, const std::vector<std::string>& others) const {
    return expression.empty() ? Status(Done{}) : check_names(expression.text, expression.line, others);
  }
  Status check_names(const Prose& prose, const std::vector<std::string>& others) const {
    for (const FigureText* figure : figures_of(prose))
      if (const Status known = check_names(figure->expression, figure->line, others); !known) return known;
    return Done{};
  }

  Status check_expressions(const LessonPage& page, const LessonScene& scene) const {
    std::vector<std::string> others;
    for (const LessonVariant& other : scene.others) others.push_back(other.name);
    std::vector<const Prose*> texts = {&page.prose};
    std::vector<const LessonExpression*> expressions;
    if (page.ask) {
      texts.push_back(&page.ask->question);
      for (const Prose& option : page.ask->options) texts.push_back(&option);
      for (const LessonExpression& value : page.ask->values) expressions.push_back(&value);
      expressions.insert(expressions.end(), {&page.ask->answer, &page.ask->curve});
      for (const LessonWrong& wrong : page.ask->wrong) {
        texts.push_back(&wrong.say);
        expressions.push_back(&wrong.near);
      }
    }
    if (page.reveal) texts.push_back(&page.reveal->say);
    for (const Prose& note : page.notes) texts.push_back(&note);
    for (const Prose* text : texts)
      if (const Status known = check_names(*text, others); !known) return known;
    for (const LessonExpression* each : expressions)
      if (const Status known = check_names(*each, others); !known) return known;
    if (!page.task) return Done{};
    others.emplace_back(scene_run);
    for (const Prose* text : {&page.task->say, &page.task->done})
      if (const Status known = check_names(*text, others); !known) return known;
    return check_names(page.task->goal, others);
  }

  /// The states of a curve's points and of the variants at each of them.
  Status make_points(LessonQuestion& ask, const LessonScene& scene) const {
    for (const double x : ask.xs) {
      const std::string change = fmt::format("{}={}", ask.x_key, x);
      const Result<WindowState> state = from_link(changed_link(scene.link, change));
      if (!state) return fail(ask.line, std::string(state.error().sentence));
      ask.points.push_back(*state);
      std::vector<LessonVariant>& others = ask.point_others.emplace_back();
      for (const LessonVariant& other : scene.others) {
        const Result<WindowState> beside = from_link(changed_link(changed_link(scene.link, other.keys), change));
        if (!beside) return fail(ask.line, std::string(beside.error().sentence));
        others.push_back({other.name, other.keys, *beside});
      }
    }
    return Done{};
  }

  /// What the window shows once the question is answered.
  Status make_revealed_scene(LessonPage& page, const LessonScene& scene) {
    LessonReveal& reveal = *page.reveal;
    if (reveal.keys.empty() && reveal.look.empty()) return Done{};
    LessonScene then = scene;
    if (!reveal.look.empty()) then.look = reveal.look;
    then.link = changed_link(scene.link, reveal.keys);
    const Result<WindowState> state = from_link(then.link);
    if (!state) return fail(page.ask->line, fmt::format("the link of the reveal: {}", std::string(state.error().sentence)));
    then.state = *state;
    if (page.task && !same_run(then.state, scene.state))
      return fail(page.ask->line, "the reveal shows another run, and the page has a task: give the task a page of its own");
    reveal.scene = std::move(then);
    return Done{};
  }

  Status check_pages() {
    const LessonScene* scene = nullptr;
    for (LessonPage& page : lesson_.pages) {
      if (page.scene) scene = &*page.scene;
      if (scene == nullptr) return fail(page.line, "the first page has no scene: add a block ```scene with a link");
      if (page.title.empty()) return fail(page.line, "the page has no title: write ## Heading");
      if (page.ask && !page.reveal) return fail(page.ask->line, "the question has no reveal: add a block ```reveal");
      if (page.reveal && !page.ask)
        return fail(page.line, "the page has a reveal and no question: add a block ```ask, or use prose");
      if (const Status known = check_expressions(page, *scene); !known) return known;
      if (page.reveal)
        if (const Status made = make_revealed_scene(page, *scene); !made) return made;
      if (page.ask && page.ask->kind == QuestionKind::draw)
        if (const Status made = make_points(*page.ask, *scene); !made) return made;
      if (page.task && page.task->solution) {
        const Result<WindowState> state = from_link(changed_link(scene->link, page.task->solution->keys));
        if (!state) return fail(page.task->line, std::string(state.error().sentence));
        page.task->solution->state = *state;
      }
    }
    return Done{};
  }

  std::string_view origin_;
  Lesson lesson_;
};

}  // namespace

std::string_view to_string(DrawnWay way) {
  return drawn_ways[static_cast<std::size_t>(way)];
}

std::string_view to_string(QuestionKind kind) {
  return question_names[static_cast<std::size_t>(kind)];
}

const LessonScene& Lesson::scene_of(std::size_t page) const {
  while (page > 0 && !pages[page].scene) --page;
  return *pages[page].scene;
}

std::string changed_link(std::string_view link, std::string_view changes) {
  std::set<std::string_view, std::less<>> changed;
  for (std::string_view rest = changes; !rest.empty();) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    changed.insert(key_of(pair));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
  }
  // Where one stands is one of two keys.
  if (changed.contains("step")) changed.insert("cycle");
  if (changed.contains("cycle")) changed.insert("step");
  std::string out;
  while (!link.empty()) {
    const std::string_view pair = link.substr(0, link.find('&'));
    link.remove_prefix(std::min(link.size(), pair.size() + 1));
    if (changed.contains(key_of(pair))) continue;
    if (!out.empty()) out += '&';
    out += pair;
  }
  while (!changes.empty()) {
    const std::string_view pair = changes.substr(0, changes.find('&'));
    changes.remove_prefix(std::min(changes.size(), pair.size() + 1));
    if (pair.ends_with('=')) continue;
    if (!out.empty()) out += '&';
    out += pair;
  }
  return out;
}

Result<std::shared_ptr<const Lesson>> parse_lesson(std::string_view text, std::string_view id, std::string_view origin) {
  return LessonReader(id, origin).read(text);
}

Result<LessonHead> parse_lesson_head(std::string_view text, std::string_view origin) {
  return LessonReader("", origin).read_head(text);
}

}  // namespace tilescope
