// Exports of a small run: as many pictures as steps, text as text, a page that holds them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "app/model/requests/assets.h"
#include "app/model/state/deck.h"
#include "app/model/state/window_state.h"
#include "app/platform/files.h"
#include "app/platform/png.h"
#include "app/step_pictures.h"
#include "app/window.h"
#include "sim/masks/expression_mask.h"
#include "tests/app/model/lessons/lesson_fixture.h"
#include "tests/app/picture_compare.h"
#include "tests/app/temporary_folder.h"
#include "tests/skip.h"

namespace tilescope {

namespace {

ExportOptions small_export(ExportFormat format) {
  ExportOptions options;
  options.format = format;
  options.picture.request.gpu = *load_gpu("toy");
  options.picture.request.problem = {1, 1, 1, 16, 16, 4, DataType::fp16, false, Pass::forward, {}};
  options.picture.request.tile = TileShape{4, 4};
  options.picture.request.blocks_per_sm = 1;
  options.picture.width = 800;
  options.picture.height = 500;
  options.steps = ExportSteps{2, 4};
  options.frames_per_second = 10;
  options.seconds_per_step = 0.5;
  return options;
}

/// nullopt where this machine cannot draw or encode: the test is then skipped.
std::optional<ExportedSteps> exported(const ExportOptions& options) {
  Result<ExportedSteps> done = export_steps(options);
  if (!done && done.error().kind == Error::Kind::machine_lacks) {
    skip_test(done.error().sentence.text());
    return std::nullopt;
  }
  REQUIRE_MESSAGE(done, done.error().sentence.text());
  return std::move(*done);
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

/// What a reader sees: a term of the glossary is marked by a tag of its own.
std::string without_tags(std::string_view page) {
  std::string out;
  bool inside = false;
  for (const char c : page) {
    if (c == '<') inside = true;
    if (!inside) out += c;
    if (c == '>') inside = false;
  }
  return out;
}

/// The first tag that is not closed, or closed without having been opened; empty where there is none.
std::string broken_tag(std::string_view text, const std::set<std::string>& empty_ones) {
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    const bool closes = text.substr(at + 1, 1) == "/";
    const std::size_t name_at = at + 1 + (closes ? 1 : 0);
    const std::string name(text.substr(name_at, text.find_first_of(" />\n", name_at) - name_at));
    bool quoted = false;
    while (at < text.size() && (text[at] != '>' || quoted)) quoted = (text[at++] == '"') != quoted;
    if (at == text.size()) return name;
    if (name.starts_with('?') || name.starts_with('!') || text[at - 1] == '/' || empty_ones.contains(name)) continue;
    if (!closes) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != name) return name;
      open.pop_back();
    }
  }
  return open.empty() ? std::string() : open.back();
}

/// Where the vector picture of the first step places its texts.
std::vector<SvgText> vector_texts(const ExportOptions& options) {
  RenderOptions picture = options.picture;
  picture.step = options.steps->first;
  const auto pictures = StepPictures::make(picture, options.caption);
  REQUIRE(pictures);
  (*pictures)->set_vector(true);
  (*pictures)->seek(options.steps->first);
  return (*pictures)->draw_svg().texts;
}

double gray(const Picture& picture, int x, int y) {
  const std::size_t at = (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) + static_cast<std::size_t>(x)) * 4;
  return 0.3 * picture.rgba[at] + 0.6 * picture.rgba[at + 1] + 0.1 * picture.rgba[at + 2];
}

/// How far the text's pixels of `b` must be moved to look most like those of `a`, in pixels; nullopt where it has hardly any
/// contrast.
std::optional<double> displacement(const Picture& a, const Picture& b, const SvgText& text) {
  constexpr int reach = 4;
  const int left = static_cast<int>(text.min.x), right = static_cast<int>(std::ceil(text.max.x));
  const int top = static_cast<int>(text.min.y), bottom = static_cast<int>(std::ceil(text.max.y));
  if (left < reach || top < reach || right + reach > a.width || bottom + reach > a.height || text.text.size() < 5)
    return std::nullopt;
  double least_gray = 255, most_gray = 0;
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) {
      least_gray = std::min(least_gray, gray(a, x, y));
      most_gray = std::max(most_gray, gray(a, x, y));
    }
  if (most_gray - least_gray < 40) return std::nullopt;
  double least = 1e300, best = 0;
  for (int dy = -reach; dy <= reach; ++dy)
    for (int dx = -reach; dx <= reach; ++dx) {
      double sum = 0;
      for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x) sum += std::fabs(gray(a, x, y) - gray(b, x + dx, y + dy));
      const double way = std::hypot(dx, dy);
      if (sum < least || (sum == least && way < best)) {
        least = sum;
        best = way;
      }
    }
  return best;
}

}  // namespace

TEST_CASE("export: numbered pictures, one a step, each another") {
  const auto done = exported(small_export(ExportFormat::png));
  if (!done) return;
  REQUIRE(done->files.size() == 3);
  std::set<std::string> different;
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(done->files[i].step == static_cast<std::int64_t>(2 + i));
    CHECK(decode_png(done->files[i].bytes, "a step")->width == 800);
    different.insert(done->files[i].bytes);
  }
  CHECK(different.size() == 3);
}

TEST_CASE("export: a mask that hides every key is drawn: what is said about it is no refusal") {
  ExportOptions options = small_export(ExportFormat::png);
  options.picture.request.algorithm = "flex";
  AttentionProblem& problem = options.picture.request.problem;
  problem.mask = *ExpressionMask::make(*parse_mask_expression("q < 0", sizes_of(problem)));
  options.steps = ExportSteps{0, 0};
  const auto done = exported(options);
  if (done) CHECK(done->files.size() == 1);
}

TEST_CASE("export: a step drawn after others is the same as drawn alone") {
  ExportOptions options = small_export(ExportFormat::png);
  const auto many = exported(options);
  if (!many) return;
  options.steps = ExportSteps{4, 4};
  const auto one = exported(options);
  REQUIRE(one->files.size() == 1);
  CHECK_FALSE(one->files.front().step);
  const PictureDifference differ =
      compare_pictures(*decode_png(many->files.back().bytes, "after others"), *decode_png(one->files.front().bytes, "alone"));
  CHECK(differ.mean < 0.05);
}

TEST_CASE("export: a range is checked against the run, and the encoder before it") {
  ExportOptions options = small_export(ExportFormat::png);
  options.steps = ExportSteps{0, 100000};
  const Result<ExportedSteps> beyond = export_steps(options);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().sentence.text().find("100000") != std::string::npos);
  options = small_export(ExportFormat::mp4);
  options.picture.width = 801;
  const Result<ExportedSteps> odd = export_steps(options);
  REQUIRE_FALSE(odd);
  CHECK(odd.error().sentence.text().find("800x500") != std::string::npos);
}

TEST_CASE("export: the same options give the same GIF") {
  const auto first = exported(small_export(ExportFormat::gif));
  if (!first) return;
  CHECK(first->files.front().bytes == exported(small_export(ExportFormat::gif))->files.front().bytes);
  CHECK(first->files.front().bytes.starts_with("GIF89a"));
}

TEST_CASE("export: a vector picture is well formed and has its text as text") {
  for (const char* panel : {"", "stage", "softmax"}) {
    CAPTURE(panel);
    ExportOptions options = small_export(ExportFormat::svg);
    options.steps = ExportSteps{4, 4};
    options.picture.panel = panel;
    const auto done = exported(options);
    if (!done) return;
    const std::string& svg = done->files.front().bytes;
    CHECK(broken_tag(svg, {}) == "");
    CHECK(svg.starts_with("<?xml"));
    CHECK(count(svg, "<text ") > 10);
    CHECK(count(svg, "<rect ") + count(svg, "<path ") > 10);
    // Dashes begin at the middle of each side, as on screen.
    CHECK(count(svg, "stroke-dasharray=\"5 3\"") == count(svg, "stroke-dashoffset=\"6.5\""));
    if (std::string_view(panel) == "stage") CHECK(count(svg, "stroke-dashoffset") > 0);
    CHECK(svg.find("FlashAttention-2") != std::string::npos);
    CHECK(svg.find("<image") == std::string::npos);
    CHECK(svg.find("nan") == std::string::npos);
  }
}

TEST_CASE("export: another renderer draws a vector picture like the window, with text where it stands") {
  if (std::system("rsvg-convert --version >/dev/null 2>&1") != 0) return skip_test("rsvg-convert is not installed (librsvg2-bin)");
  for (const char* panel : {"", "stage"}) {
    for (ThemeKind theme : {ThemeKind::dark, ThemeKind::light}) {
      CAPTURE(panel);
      ExportOptions options = small_export(ExportFormat::svg);
      options.steps = ExportSteps{4, 4};
      options.picture.panel = panel;
      options.picture.theme = theme;
      options.picture.width = 1600;
      options.picture.height = 900;
      const auto vector = exported(options);
      if (!vector) return;
      options.format = ExportFormat::png;
      const Picture drawn = *decode_png(exported(options)->files.front().bytes, "the window");

      const TemporaryFolder folder;
      const std::string svg = folder.file("a.svg", vector->files.front().bytes), png = folder.path("a.png");
      REQUIRE(std::system(fmt::format("rsvg-convert '{}' -o '{}'", svg, png).c_str()) == 0);
      const Picture other = *decode_png(*read_binary_file(png), "rsvg-convert");
      REQUIRE(other.width == drawn.width);
      REQUIRE(other.height == drawn.height);
      const PictureDifference differ = compare_pictures(drawn, other);
      int looked_at = 0, displaced = 0;
      for (const SvgText& text : vector_texts(options)) {
        const std::optional<double> moved = displacement(drawn, other, text);
        if (!moved) continue;
        ++looked_at;
        if (*moved <= 1.5) continue;
        ++displaced;
        MESSAGE(text.text, " is ", *moved, " pixels off at ", text.min.x, ", ", text.min.y);
      }
      MESSAGE("mean difference ", differ.mean, " of 255, blurred ", differ.blurred, "; ", looked_at, " texts");
      CHECK(differ.mean < 3);
      CHECK(differ.blurred < 70);
      CHECK(looked_at > (*panel != '\0' ? 10 : 80));
      CHECK(displaced == 0);
    }
  }
}

TEST_CASE("export: a page holds every step with its text and counters, and fetches nothing") {
  for (const char* language : {"en", "ko"}) {
    ExportOptions options = small_export(ExportFormat::html);
    options.picture.language = language;
    const auto done = exported(options);
    if (!done) return;
    const std::string& page = done->files.front().bytes;
    CHECK(count(page, "<article class=\"step\"") == 3);
    CHECK(count(page, "<table>") == 3);
    CHECK(count(page, "<svg ") + count(page, "<img ") == 3);
    CHECK(page.find("id=\"step-2\"") != std::string::npos);
    CHECK(page.find(fmt::format("<html lang=\"{}\"", language)) != std::string::npos);
    const std::string without_script = page.substr(0, page.find("<script>"));
    CHECK(broken_tag(without_script.substr(without_script.find("<body>") + 6), {"img", "input"}) == "");
    CHECK(count(page, "http://") == count(page, "http://www.w3.org/2000/svg"));
    CHECK(page.find("https://") == std::string::npos);
    CHECK(page.find("L2→SM") != std::string::npos);
  }
}

TEST_CASE("export: a lesson is one page with its questions before their answers, and fetches nothing") {
  const TemporaryFolder folder;
  ExportOptions options = small_export(ExportFormat::html);
  options.steps.reset();
  options.picture.lesson = folder.file("00-small.en.md", small_lesson);
  const auto done = exported(options);
  if (!done) return;
  REQUIRE(done->files.size() == 1);
  const std::string& page = done->files.front().bytes;
  CHECK(count(page, "<article class=\"step page\"") >= 10);  // five questions, five answers, and the way between them
  CHECK(broken_tag(page, {"meta", "input", "img"}).empty());
  CHECK(count(page, "src=\"http") + count(page, "href=\"http") == 0);
  // The first question stands before its answer, and its article does not hold it.
  const std::size_t asked = page.find("Which moves more?"), answered = page.find("Simulated: standard");
  REQUIRE(asked != std::string::npos);
  REQUIRE(answered != std::string::npos);
  CHECK(asked < answered);
  CHECK(page.find("name=\"answer-1\" value=\"flash2\"") < answered);
  CHECK(page.find("data-own=\"answer-1\"") != std::string::npos);
  CHECK(count(page, "<button type=\"button\" class=\"answer\">") == 5);
  CHECK(count(page, "data-judge=\"{&quot;kind&quot;:") == 5);
  // Reasons are hidden until an answer is wrong.
  CHECK(count(page, "<div class=\"dim why\" hidden>") == 5);
  CHECK(page.find("&quot;wrong&quot;:[{&quot;near&quot;:4},{&quot;near&quot;:256},{}]") != std::string::npos);
  CHECK(page.find("&quot;wrong&quot;:[{&quot;choice&quot;:0}]") != std::string::npos);
  for (int i = 1; i < 10; ++i) CHECK(page.find(fmt::format("id=\"page-{}\"", i)) < page.find(fmt::format("id=\"page-{}\"", i + 1)));
}

TEST_CASE("export: a deck is one page with the presented picture, title, question and answer of each scene, without notes") {
  ExportOptions options = small_export(ExportFormat::html);
  options.steps.reset();
  auto deck = std::make_shared<Deck>();
  deck->title = "Attention in an hour";
  const std::string link = "seq=16&head_dim=4&block_q=4&block_kv=4&blocks_per_sm=1&step=";
  for (const char* step : {"1", "4"}) {
    Scene scene;
    scene.state = *from_link(link + step);
    scene.title = std::string("Step <") + step + ">";
    scene.notes = "First line\nSecond line";
    deck->scenes.push_back(scene);
  }
  deck->scenes[1].question = ClassQuestion{"Which is larger?", {"S", "O"}, 1};
  options.picture.deck = deck;
  const auto page = exported(options);
  if (!page) return;
  REQUIRE(page->files.size() == 1);
  const std::string& html = page->files.front().bytes;
  CHECK(count(html, "<article") == 2);
  CHECK(count(html, "<svg") + count(html, "<img") >= 2);
  for (const char* text : {"Attention in an hour", "Step &lt;1>", "Step &lt;4>", "Which is larger?", "@media print", "B. O",
                           "<summary>Answer</summary>", "Answer: A. S"})
    CHECK_MESSAGE(html.find(text) != std::string::npos, text);
  CHECK(html.find("Second line") == std::string::npos);
  CHECK(html.find("src=\"http") == std::string::npos);
}

TEST_CASE("export: a page of a lesson in a deck has its answer below the picture") {
  ExportOptions options = small_export(ExportFormat::html);
  options.steps.reset();
  auto deck = std::make_shared<Deck>();
  deck->scenes.resize(1);
  deck->scenes[0].lesson = ScenePage{"01-why-memory", 0};
  deck->scenes[0].state = *from_link("seq=16");
  options.picture.deck = deck;
  const auto page = exported(options);
  if (!page) return;
  const std::string& html = page->files.front().bytes;
  CHECK(count(html, "<article") == 1);
  for (const char* text :
       {"A GPU has two budgets", "can toy do while", "<summary>Answer</summary>", "Answer: 512", " that does fewer "})
    CHECK_MESSAGE(html.find(text) != std::string::npos, text);
  // The picture is that of the stage alone: its text and its buttons are the page's.
  for (const char* text : {">Page Down", ">Back<", ">Next<"}) CHECK_MESSAGE(html.find(text) == std::string::npos, text);
  CHECK(count(html, "can toy do while") == 1);
}

TEST_CASE("export: the options of a lesson's question are in the handout of a deck") {
  const TemporaryFolder folder;
  ExportOptions options = small_export(ExportFormat::html);
  options.steps.reset();
  auto deck = std::make_shared<Deck>();
  deck->scenes.resize(1);
  deck->scenes[0].lesson = ScenePage{folder.file("00-small.en.md", small_lesson), 0};
  deck->scenes[0].state = *from_link("seq=16");
  options.picture.deck = deck;
  const auto page = exported(options);
  if (!page) return;
  CHECK(page->files.front().bytes.find("<p>A. ") != std::string::npos);
}

TEST_CASE("export: as pictures a deck is a file for each scene, or for the one that is asked for") {
  for (const ExportFormat format : {ExportFormat::png, ExportFormat::svg}) {
    ExportOptions options = small_export(format);
    options.steps.reset();
    auto deck = std::make_shared<Deck>();
    deck->scenes.resize(2);
    const std::string link = "seq=16&head_dim=4&block_q=4&block_kv=4&blocks_per_sm=1&step=";
    deck->scenes[0].state = *from_link(link + "1");
    deck->scenes[1].state = *from_link(link + "4");
    options.picture.deck = deck;
    const auto all = exported(options);
    if (!all) return;
    REQUIRE(all->files.size() == 2);
    CHECK(all->last_step == 2);
    CHECK(all->files[0].step == 1);
    CHECK(all->files[1].step == 2);
    CHECK(all->files[0].bytes != all->files[1].bytes);
    options.one_scene = true;
    options.picture.scene = 1;
    const auto one = exported(options);
    REQUIRE(one->files.size() == 1);
    CHECK_FALSE(one->files.front().step.has_value());
    CHECK(one->files.front().bytes == all->files[1].bytes);
  }
}

TEST_CASE("export: a deck is a film, in which a scene that walks through steps takes longer") {
  ExportOptions options = small_export(ExportFormat::mp4);
  options.steps.reset();
  options.frames_per_second = 5;
  auto deck = std::make_shared<Deck>();
  Scene scene;
  scene.state = *from_link("seq=16&head_dim=4&block_q=4&block_kv=4&blocks_per_sm=1&step=1");
  scene.title = "One tile";
  deck->scenes = {scene, scene};
  options.picture.deck = deck;
  const auto still = exported(options);
  if (!still) return;
  REQUIRE(still->files.size() == 1);
  CHECK(still->files.front().bytes.substr(4, 4) == "ftyp");
  auto walking = std::make_shared<Deck>(*deck);
  walking->scenes[1].steps = StepRange{1, 9};
  options.picture.deck = walking;
  CHECK(exported(options)->files.front().bytes.size() > still->files.front().bytes.size());
}

TEST_CASE("export: a scene whose steps go beyond its run is refused with its number and the last step") {
  ExportOptions options = small_export(ExportFormat::html);
  options.steps.reset();
  auto deck = std::make_shared<Deck>();
  Scene scene;
  scene.state = *from_link("seq=16&head_dim=4&block_q=4&block_kv=4");
  scene.steps = StepRange{3, 12000};
  deck->scenes = {scene};
  options.picture.deck = deck;
  const auto page = export_steps(options);
  REQUIRE_FALSE(page);
  if (page.error().kind == Error::Kind::machine_lacks) return skip_test(page.error().sentence.text());
  CHECK(page.error().sentence.text() == "scene 1: steps 3:12000 go beyond the run, whose last step is 48");
}

TEST_CASE("export: one page of a lesson is a page, and a lesson that is not there is refused") {
  const TemporaryFolder folder;
  ExportOptions options = small_export(ExportFormat::html);
  options.steps.reset();
  options.picture.lesson = folder.file("00-small.en.md", small_lesson) + ":2";
  if (const auto done = exported(options)) {
    const std::string page = without_tags(done->files.front().bytes);
    CHECK(page.find("How many keys?") != std::string::npos);
    CHECK(page.find("Which moves more?") == std::string::npos);
  }
  options.picture.lesson = "99-nothing";
  const Result<ExportedSteps> refused = export_steps(options);
  REQUIRE_FALSE(refused);
}

TEST_CASE("export: one page of a lesson is a vector picture with its text and its question") {
  const TemporaryFolder folder;
  ExportOptions options = small_export(ExportFormat::svg);
  options.steps.reset();
  options.picture.width = 1280;
  options.picture.height = 720;
  options.picture.lesson = folder.file("00-small.en.md", small_lesson) + ":2";
  const auto done = exported(options);
  if (!done) return;
  REQUIRE(done->files.size() == 1);
  const std::string& svg = done->files.front().bytes;
  CHECK(broken_tag(svg, {}) == "");
  CHECK(svg.starts_with("<?xml"));
  CHECK(without_tags(svg).find("How many keys?") != std::string::npos);
}

TEST_CASE("export: an answered page of a lesson is a handout, with the right answer and no other") {
  const TemporaryFolder folder;
  ExportOptions options = small_export(ExportFormat::svg);
  options.steps.reset();
  options.picture.width = 1280;
  options.picture.height = 720;
  const std::string page = folder.file("00-small.en.md", small_lesson) + ":2:answered";
  options.picture.lesson = page;
  const auto done = exported(options);
  if (!done) return;
  const std::string handout = without_tags(done->files.front().bytes);
  CAPTURE(handout);
  CHECK(handout.find("Computed") != std::string::npos);
  CHECK(handout.find("Your answer") == std::string::npos);
  CHECK(handout.find("too high") == std::string::npos);
  options.picture.lesson = page + "=100000";
  const auto wrong = exported(options);
  REQUIRE(wrong);
  const std::string answered = without_tags(wrong->files.front().bytes);
  CHECK(answered.find("Your answer") != std::string::npos);
  CHECK(answered.find("too high") != std::string::npos);
}

}  // namespace tilescope
