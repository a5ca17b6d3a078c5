// export_steps(): many steps of one run as pictures, a film or a page, without a display.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/answer_script.h"
#include "app/lesson_page.h"
#include "app/model/lessons/lecture.h"
#include "app/model/lessons/lesson.h"
#include "app/model/lessons/lesson_answer.h"
#include "app/model/state/deck.h"
#include "app/platform/animation.h"
#include "app/platform/png.h"
#include "app/step_page.h"
#include "app/step_pictures.h"
#include "app/ui/say.h"
#include "app/views/caption.h"
#include "app/views/chrome.h"
#include "app/views/lesson/figure_words.h"
#include "app/window.h"
#include "sim/core/refuse.h"

namespace tilescope {

namespace {

constexpr std::int64_t most_files = 500, most_film_frames = 20000;
/// The way from a step to the next, as in the window.
constexpr double motion_seconds = 0.32;

bool is_film(ExportFormat format) {
  return format == ExportFormat::gif || format == ExportFormat::mp4;
}

/// Hears how far the drawing is.
class Told {
 public:
  Told(const std::function<void(const std::string&, double)>& told, std::int64_t first, std::int64_t last)
      : told_(told), first_(first), last_(std::max(last, first + 1)) {}
  void at(const char* what, std::int64_t step) const {
    if (told_) told_(what, std::clamp(static_cast<double>(step - first_) / static_cast<double>(last_ - first_), 0.0, 1.0));
  }

 private:
  const std::function<void(const std::string&, double)>& told_;
  std::int64_t first_, last_;
};

/// The steps at which pictures are at rest.
struct Stops {
  std::int64_t first = 0, last = 0;
  bool to_the_end = false;  // of the run, which in a race can be after the chosen algorithm's last step
};

Result<Stops> stops_of(const ExportOptions& options, const SessionView& view) {
  const std::int64_t end = view.lane().step_count;
  if (!options.steps) return Stops{view.lane().step, view.lane().step, false};
  const Stops stops{options.steps->first, options.steps->last.value_or(end), !options.steps->last};
  for (std::int64_t step : {stops.first, stops.last})
    if (step > end) return refuse("there is no step {}: {} has steps 0 to {}", step, view.requested->request.algorithm, end);
  return stops;
}

/// Goes to the stop after the present one. False where that was the last.
bool set_out(StepPictures& pictures, const Stops& stops, Grain grain) {
  if (!stops.to_the_end && pictures.view().playback.step >= stops.last) return false;
  return pictures.set_out(grain);
}

void arrive(StepPictures& pictures) {
  while (pictures.moving()) pictures.pass(motion_seconds);
}

/// Colours of some steps of the range stand for those of all.
Result<Palette> palette_of(StepPictures& pictures, const Stops& stops, const Told& told) {
  constexpr std::int64_t samples = 8;
  PaletteBuilder builder;
  const std::int64_t count = std::min(samples, stops.last - stops.first + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    told.at("colours", stops.first);
    pictures.seek(stops.first + (count > 1 ? i * (stops.last - stops.first) / (count - 1) : 0));
    const Result<Picture> picture = pictures.draw();
    if (!picture) return picture.error();
    builder.add(*picture);
  }
  return builder.build();
}

Error too_many(std::int64_t most, const Sentence& what) {
  return refuse("these steps are more than {} {}: choose fewer --steps, or a coarser --grain tile or phase", most, what);
}

/// Draws the way to a stop and the rest there.
Status film_stop(StepPictures& pictures, const ExportOptions& options, Animation& film, std::int64_t& frames) {
  const int fps = options.frames_per_second;
  const int whole = std::max(1, static_cast<int>(std::lround(options.seconds_per_step * fps)));
  const double motion = std::min(motion_seconds, 0.6 * options.seconds_per_step);
  int drawn = 0;
  while (pictures.moving() && drawn + 1 < whole) {
    pictures.pass(motion_seconds / motion / fps);
    if (!pictures.moving()) break;
    const Result<Picture> picture = pictures.draw();
    if (!picture) return picture.error();
    if (Status added = film.add(*picture, 1); !added) return added;
    ++drawn;
  }
  arrive(pictures);
  const Result<Picture> picture = pictures.draw();
  if (!picture) return picture.error();
  frames += whole;
  return film.add(*picture, whole - drawn);
}

Result<ExportedSteps> export_film(StepPictures& pictures, const ExportOptions& options, const Stops& stops) {
  const Told told(options.picture.told, stops.first, stops.last);
  Animation::Options how;
  how.kind = options.format == ExportFormat::gif ? AnimationKind::gif : AnimationKind::mp4;
  how.width = options.picture.width;
  how.height = options.picture.height;
  how.frames_per_second = options.frames_per_second;
  if (how.kind == AnimationKind::gif) {
    Result<Palette> palette = palette_of(pictures, stops, told);
    if (!palette) return palette.error();
    how.palette = std::move(*palette);
  }
  Result<std::unique_ptr<Animation>> film = Animation::make(how);
  if (!film) return film.error();
  pictures.seek(stops.first);
  std::int64_t frames = 0;
  do {
    told.at("frames", pictures.view().playback.step);
    if (frames > most_film_frames) return too_many(most_film_frames, phrase("frames"));
    if (Status shown = film_stop(pictures, options, **film, frames); !shown) return shown.error();
  } while (set_out(pictures, stops, options.grain));
  Result<std::string> bytes = (*film)->finish();
  if (!bytes) return bytes.error();
  ExportedSteps out;
  out.files.push_back({std::nullopt, std::move(*bytes)});
  out.notice = (*film)->notice();
  return out;
}

Result<std::string> draw_file(StepPictures& pictures, ExportFormat format) {
  if (format == ExportFormat::svg) return pictures.draw_svg().svg;
  const Result<Picture> picture = pictures.draw();
  if (!picture) return picture.error();
  return encode_png(*picture);
}

Result<ExportedSteps> export_files(StepPictures& pictures, const ExportOptions& options, const Stops& stops) {
  const Told told(options.picture.told, stops.first, stops.last);
  ExportedSteps out;
  pictures.set_vector(options.format == ExportFormat::svg);
  if (options.steps) pictures.seek(stops.first);
  do {
    told.at("pictures", pictures.view().playback.step);
    if (static_cast<std::int64_t>(out.files.size()) >= most_files) return too_many(most_files, phrase("files"));
    arrive(pictures);
    Result<std::string> bytes = draw_file(pictures, options.format);
    if (!bytes) return bytes.error();
    out.files.push_back({pictures.view().playback.step, std::move(*bytes)});
  } while (set_out(pictures, stops, options.grain));
  if (out.files.size() == 1) out.files.front().step.reset();
  return out;
}

/// Without the head of a file of its own, and with ids that no other step has.
std::string inline_svg(const StepPictures& pictures, std::int64_t step) {
  std::string svg = pictures.draw_svg(fmt::format("s{}-", step)).svg;
  return svg.erase(0, svg.find("<svg"));
}

/// Each step as text and a picture; vector pictures where they are the smaller ones.
Result<ExportedSteps> export_page(StepPictures& pictures, const ExportOptions& options, const Stops& stops) {
  const Told told(options.picture.told, stops.first, stops.last);
  std::vector<PageStep> steps;
  bool vector = true;
  pictures.set_vector(true);
  if (options.steps) pictures.seek(stops.first);
  do {
    told.at("pictures", pictures.view().playback.step);
    if (static_cast<std::int64_t>(steps.size()) >= most_files) return too_many(most_files, phrase("steps of a page"));
    arrive(pictures);
    PageStep step = page_step(pictures.view());
    if (vector) step.picture = inline_svg(pictures, step.step);
    if (steps.empty() || !vector) {
      pictures.set_vector(false);
      const Result<Picture> drawn = pictures.draw();
      if (!drawn) return drawn.error();
      std::string png = page_picture(encode_png(*drawn), fmt::format("{}, {}", step.heading, step.line));
      if (steps.empty()) vector = step.picture.size() <= png.size();
      if (!vector) step.picture = std::move(png);
      pictures.set_vector(vector);
    }
    steps.push_back(std::move(step));
  } while (set_out(pictures, stops, options.grain));
  PageHead head;
  const View view{pictures.view(), nullptr};
  head.title = caption_run(view);
  head.problem = caption_problem(view);
  head.language = options.picture.language;
  head.dark = options.picture.theme == ThemeKind::dark;
  if (view.playback.race)
    for (const Lane& lane : view.lanes) head.runs.push_back(translated(lane.simulation->info->title));
  ExportedSteps out;
  out.files.push_back({std::nullopt, step_page(head, steps)});
  return out;
}

/// The window now, as whichever of <svg> and <img> is smaller.
Result<std::string> smaller_picture(StepPictures& pictures, int number, const std::string& description) {
  pictures.set_vector(true);
  std::string svg = inline_svg(pictures, number);
  pictures.set_vector(false);
  const Result<Picture> drawn = pictures.draw();
  if (!drawn) return drawn.error();
  std::string png = page_picture(encode_png(*drawn), description);
  return svg.size() <= png.size() ? std::move(svg) : std::move(png);
}

/// Pages of a lesson: what each asks, how the run plays, and the answer.
class LessonPages {
 public:
  LessonPages(StepPictures& pictures, const Told& told) : pictures_(pictures), told_(told) {}

  /// The page that is open. Errors  no figures: those of its expressions
  Status add_page() {
    const LessonView lesson = pictures_.view().lesson;
    if (lesson.problem != nullptr) return *lesson.problem;
    told_.at("pages of the lesson", static_cast<std::int64_t>(lesson.page));
    if (Status added = add(LessonMoment::asked); !added || !lesson.locked) return added;
    const std::int64_t from = pictures_.view().playback.step;
    LessonAnswer none;
    none.given = false;
    pictures_.carry_out(AnswerLesson{std::make_shared<const LessonAnswer>(none)});
    // The end of the run can lie after the last step, and only the reveal goes there: it is drawn first.
    const std::int64_t to = pictures_.view().playback.step;
    const std::size_t play_at = articles_.size();
    if (Status added = add(LessonMoment::answered); !added) return added;
    std::string answer = std::move(articles_.back());
    articles_.resize(play_at);
    if (Status played = add_way(from, to); !played) return played;
    articles_.push_back(std::move(answer));
    return Done{};
  }

  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < articles_.size(); ++i)
      out += fmt::format("<article class=\"step page\" id=\"page-{}\">\n{}</article>\n", i + 1, articles_[i]);
    return out;
  }

 private:
  /// Some steps between the question and the answer.
  Status add_way(std::int64_t from, std::int64_t to) {
    constexpr std::int64_t most = 3;
    const std::int64_t count = std::min(most, to - from - 1);
    for (std::int64_t i = 1; i <= count; ++i) {
      pictures_.seek(from + (to - from) * i / (count + 1));
      if (Status added = add(LessonMoment::playing); !added) return added;
    }
    return Done{};
  }

  Status add(LessonMoment moment) {
    const SessionView view = pictures_.view();
    const LessonView& lesson = view.lesson;
    const Result<std::string> picture = smaller_picture(pictures_, ++pictures_made_, lesson.lesson->pages[lesson.page].title);
    if (!picture) return picture.error();
    articles_.push_back(lesson_article(pictures_.view(), moment, *picture));
    return Done{};
  }

  StepPictures& pictures_;
  const Told& told_;
  std::vector<std::string> articles_;
  int pictures_made_ = 0;
};

Result<ExportedSteps> export_lesson(StepPictures& pictures, const ExportOptions& options) {
  const LessonView first = pictures.view().lesson;
  const bool one_page = options.picture.lesson.find(':') != std::string::npos;
  const auto last = static_cast<std::int64_t>(first.lesson->pages.size()) - 1;
  const Told told(options.picture.told, static_cast<std::int64_t>(first.page), last + 1);
  LessonPages pages(pictures, told);
  while (true) {
    if (Status added = pages.add_page(); !added) return added.error();
    if (one_page || static_cast<std::int64_t>(pictures.view().lesson.page) == last) break;
    pictures.carry_out(TurnLessonPage{1});
  }
  const View view{pictures.view(), nullptr};
  PageHead head;
  head.title = view.lesson.lesson->title;
  head.problem = prose_words(view.lesson.lesson->goal, nullptr);
  head.language = options.picture.language;
  head.dark = options.picture.theme == ThemeKind::dark;
  ExportedSteps out;
  out.files.push_back({std::nullopt, page_around(head, fmt::format("<script>{}</script>\n", answer_script()) + pages.text())});
  out.notice = pictures.notice();
  return out;
}

std::string article_of_scene(const Scene& scene, int number, const std::string& picture) {
  std::string out = fmt::format("<h2>{}. {}</h2>{}", number, html_text(scene_name(scene)), picture);
  if (!scene.question) return out;
  const ClassQuestion& question = *scene.question;
  out += fmt::format("<p class=\"question\"><b>{}</b></p>", html_text(question.text));
  const auto choice_words = [&](std::size_t i) { return lettered_choice(i, html_text(question.choices[i])); };
  for (std::size_t i = 0; i < question.choices.size(); ++i) out += fmt::format("<p>{}</p>", choice_words(i));
  if (question.answer < 1 || question.answer > static_cast<int>(question.choices.size())) return out;
  const std::string answer = choice_words(static_cast<std::size_t>(question.answer) - 1);
  return out + closed_answer(answer);
}

/// Shows a scene. Errors  what it is refused for; its steps go beyond its run
Status show_scene(StepPictures& pictures, int scene) {
  pictures.carry_out(GoToScene{scene});
  const SessionView view = pictures.view();
  if (const Error* const refused = view.workspace->refused()) return *refused;
  return view.lecture->check_steps(view.lane().step_count);
}

/// A picture of the scene that was asked for, or of each.
Result<ExportedSteps> export_scenes(StepPictures& pictures, const ExportOptions& options) {
  const auto count = static_cast<int>(options.picture.deck->scenes.size());
  const int first = options.one_scene ? options.picture.scene : 0, last = options.one_scene ? first + 1 : count;
  const Told told(options.picture.told, first, last);
  pictures.set_vector(options.format == ExportFormat::svg);
  ExportedSteps out;
  for (int i = first; i < last; ++i) {
    told.at("scenes", i);
    if (Status shown = show_scene(pictures, i); !shown) return shown.error();
    Result<std::string> bytes = draw_file(pictures, options.format);
    if (!bytes) return bytes.error();
    out.files.push_back({i + 1, std::move(*bytes)});
  }
  if (out.files.size() == 1) out.files.front().step.reset();
  out.last_step = count;
  out.notice = pictures.notice();
  return out;
}

/// A handout: of every scene of a deck its picture, its title and its question. The text of a lesson's page stands above its
/// picture. The notes are the lecturer's, and stay out.
Result<ExportedSteps> export_deck(StepPictures& pictures, const ExportOptions& options) {
  const Deck& deck = *options.picture.deck;
  const auto count = static_cast<int>(deck.scenes.size());
  const Told told(options.picture.told, 0, count);
  std::string articles;
  for (int i = 0; i < count; ++i) {
    told.at("scenes", i);
    if (Status shown = show_scene(pictures, i); !shown) return shown.error();
    const Scene& scene = deck.scenes[static_cast<std::size_t>(i)];
    const Result<std::string> picture = smaller_picture(pictures, i + 1, scene_name(scene));
    if (!picture) return picture.error();
    articles +=
        fmt::format("<article class=\"step\" id=\"scene-{}\">\n{}{}</article>\n", i + 1,
                    article_of_scene(scene, i + 1, lesson_text(pictures.view()) + *picture), lesson_answer(pictures.view()));
  }
  PageHead head;
  head.title = deck.title.empty() ? std::string(tr("Scenes")) : deck.title;
  head.language = options.picture.language;
  head.dark = options.picture.theme == ThemeKind::dark;
  ExportedSteps out;
  out.files.push_back({std::nullopt, page_around(head, articles)});
  out.notice = pictures.notice();
  return out;
}

/// The scenes of a deck one after another: each stands still for some seconds, then walks through its steps. Its title is in the
/// caption.
Result<ExportedSteps> export_deck_film(StepPictures& pictures, const ExportOptions& options) {
  constexpr int seconds_of_a_scene = 4;
  const Deck& deck = *options.picture.deck;
  const auto count = static_cast<int>(deck.scenes.size());
  const Told told(options.picture.told, 0, count);
  Animation::Options how;
  how.kind = AnimationKind::mp4;
  how.width = options.picture.width;
  how.height = options.picture.height;
  how.frames_per_second = options.frames_per_second;
  Result<std::unique_ptr<Animation>> film = Animation::make(how);
  if (!film) return film.error();
  std::int64_t frames = 0;
  for (int i = 0; i < count; ++i) {
    told.at("scenes", i);
    if (Status shown = show_scene(pictures, i); !shown) return shown.error();
    const Result<Picture> picture = pictures.draw();
    if (!picture) return picture.error();
    const int still = seconds_of_a_scene * options.frames_per_second;
    if (Status added = (*film)->add(*picture, still); !added) return added.error();
    frames += still;
    const auto& steps = deck.scenes[static_cast<std::size_t>(i)].steps;
    const Stops stops = steps ? Stops{steps->first, steps->last, false} : Stops{};
    while (steps && set_out(pictures, stops, options.grain)) {
      if (frames > most_film_frames) return too_many(most_film_frames, phrase("frames"));
      if (Status shown = film_stop(pictures, options, **film, frames); !shown) return shown.error();
    }
  }
  Result<std::string> bytes = (*film)->finish();
  if (!bytes) return bytes.error();
  ExportedSteps out;
  out.files.push_back({std::nullopt, std::move(*bytes)});
  out.notice = (*film)->notice();
  return out;
}

/// A picture of one page of a lesson, as the class sees it.
Result<ExportedSteps> export_lesson_picture(StepPictures& pictures, const ExportOptions& options) {
  pictures.set_vector(options.format == ExportFormat::svg);
  Result<std::string> bytes = draw_file(pictures, options.format);
  if (!bytes) return bytes.error();
  ExportedSteps out;
  out.files.push_back({std::nullopt, std::move(*bytes)});
  out.notice = pictures.notice();
  return out;
}

/// What can be refused before anything is simulated.
Status check_format(const ExportOptions& options) {
  if (!is_film(options.format)) return Done{};
  const int width = options.picture.width, height = options.picture.height;
  if (options.format == ExportFormat::mp4 && (width % 2 != 0 || height % 2 != 0))
    return refuse("--size is {}x{}: the sides of an .mp4 are even; use {}x{}", width, height, width / 2 * 2, height / 2 * 2);
  return Animation::check(options.format == ExportFormat::gif ? AnimationKind::gif : AnimationKind::mp4);
}

}  // namespace

Result<ExportedSteps> export_steps(const ExportOptions& options) {
  if (Status possible = check_format(options); !possible) return possible.error();
  RenderOptions picture = options.picture;
  const bool page = options.format == ExportFormat::html, of_lesson = !picture.lesson.empty();
  picture.lesson_beside = page && (of_lesson || picture.deck != nullptr);
  // Who reads a handout was in the class: it has the pictures of the class, in their large text.
  picture.present = picture.present || of_lesson || picture.deck != nullptr;
  if (options.steps) picture.step = options.steps->first;
  const bool caption = options.caption && !(page && !picture.panel.empty());  // a page has it as text, too
  const Result<std::unique_ptr<StepPictures>> pictures = StepPictures::make(picture, caption);
  if (!pictures) return pictures.error();
  if (of_lesson) return page ? export_lesson(**pictures, options) : export_lesson_picture(**pictures, options);
  if (picture.deck != nullptr)
    return page                      ? export_deck(**pictures, options)
           : is_film(options.format) ? export_deck_film(**pictures, options)
                                     : export_scenes(**pictures, options);
  const Result<Stops> stops = stops_of(options, (*pictures)->view());
  if (!stops) return stops.error();
  const std::int64_t last_step = (*pictures)->view().lane().step_count;
  Result<ExportedSteps> out = is_film(options.format)                ? export_film(**pictures, options, *stops)
                              : options.format == ExportFormat::html ? export_page(**pictures, options, *stops)
                                                                     : export_files(**pictures, options, *stops);
  if (!out) return out;
  out->last_step = last_step;
  if (const std::string fonts = (*pictures)->notice(); !fonts.empty()) out->notice += (out->notice.empty() ? "" : "; ") + fonts;
  return out;
}

}  // namespace tilescope
