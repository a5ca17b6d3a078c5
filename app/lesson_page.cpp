// Prose as HTML. What a reader answers stays in the page's fields; the script puts it beside the answer.
#include "app/lesson_page.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/model/glossary.h"
#include "app/model/lesson.h"
#include "app/model/lesson_runs.h"
#include "app/step_page.h"
#include "app/ui/say.h"
#include "app/views/caption.h"
#include "app/views/lesson/figure_words.h"

namespace tilescope {

namespace {

/// Writes prose; a term carries its meaning where it stands first.
class HtmlProse {
 public:
  HtmlProse(const SessionView& view, const ExpressionValues* values) : view_(view), values_(values) {}

  std::string blocks(const Prose& prose) {
    std::string out;
    for (const ProseBlock& block : prose) {
      switch (block.kind) {
        case ProseBlock::Kind::heading:
          out += fmt::format("<h3>{}</h3>", runs(block));
          break;
        case ProseBlock::Kind::code:
          out += fmt::format("<pre>{}</pre>", runs(block));
          break;
        case ProseBlock::Kind::item:
          out += fmt::format("<p style=\"margin-left:{}em\">{} {}</p>", 1.2 * (block.depth + 1),
                             block.number > 0 ? fmt::format("{}.", block.number) : "•", runs(block));
          break;
        case ProseBlock::Kind::paragraph:
          out += fmt::format("<p>{}</p>", runs(block));
          break;
      }
    }
    return out;
  }

 private:
  std::string runs(const ProseBlock& block) {
    std::string out;
    const bool plain = block.kind == ProseBlock::Kind::code || block.kind == ProseBlock::Kind::heading;
    for (const ProseRun& run : block.runs) {
      if (run.figure) {
        const auto found = values_ != nullptr ? values_->find(run.figure->expression) : ExpressionValues::const_iterator();
        const bool known = values_ != nullptr && found != values_->end();
        out += fmt::format("<b>{}</b>", html_text(known ? figure_words(found->second, run.figure->unit) : "…"));
      } else {
        const std::string text = plain || run.code ? html_text(run.text) : with_terms(run.text);
        out += run.code ? fmt::format("<code>{}</code>", text) : run.bold ? fmt::format("<b>{}</b>", text) : text;
      }
    }
    return out;
  }

  std::string with_terms(std::string_view text) {
    if (view_.glossary == nullptr) return html_text(text);
    std::string out;
    std::size_t at = 0;
    for (const FoundTerm& found : view_.glossary->terms_in(text, view_.workspace->language)) {
      if (std::find(seen_.begin(), seen_.end(), found.entry) != seen_.end()) continue;
      seen_.push_back(found.entry);
      out += html_text(text.substr(at, found.first - at));
      out += fmt::format("<abbr title=\"{}\">{}</abbr>", html_text(found.entry->text(view_.workspace->language).meaning),
                         html_text(text.substr(found.first, found.last - found.first)));
      at = found.last;
    }
    return out + html_text(text.substr(at));
  }

  const SessionView& view_;
  const ExpressionValues* values_;
  std::vector<const GlossaryEntry*> seen_;
};

/// The question with fields: buttons to choose from, or a line to write.
std::string asked(const LessonQuestion& ask, const ExpressionValues* values, std::size_t page, HtmlProse& prose) {
  std::string out = fmt::format("<fieldset>{}", prose.blocks(ask.question));
  const bool choose = ask.kind == QuestionKind::choice || ask.kind == QuestionKind::point;
  if (choose) {
    for (const Prose& option : ask.options) {
      const std::string words = html_text(prose_words(option, values));
      out += fmt::format("<label><input type=\"radio\" name=\"answer-{}\" value=\"{}\"> {}</label>", page + 1, words, words);
    }
  } else {
    for (const Prose& option : ask.options) out += fmt::format("<p>• {}</p>", html_text(prose_words(option, values)));
    out += fmt::format("<label><input type=\"text\" name=\"answer-{}\" placeholder=\"{}\"></label>", page + 1,
                       html_text(tr("Your answer")));
  }
  return out + fmt::format("<p class=\"dim\">{}</p></fieldset>", html_text(tr("Answer, then step on (→).")));
}

std::string answered(const SessionView& view, const LessonPage& page, HtmlProse& revealed) {
  const LessonView& lesson = view.lesson;
  std::string out = "<fieldset>" + HtmlProse(view, &lesson.figures->shown).blocks(page.ask->question);
  out +=
      fmt::format("<p class=\"dim\" data-own=\"answer-{}\" data-words=\"{}\"></p>", lesson.page + 1, html_text(tr("Your answer:")));
  out += fmt::format("<p class=\"right\">{}</p></fieldset>",
                     html_text(say(tr("Simulated: {}"), answer_words(*page.ask, *lesson.figures))));
  if (page.reveal) out += revealed.blocks(page.reveal->say);
  return out;
}

}  // namespace

std::string lesson_article(const SessionView& view, LessonMoment moment, const std::string& picture) {
  const LessonView& lesson = view.lesson;
  const LessonPage& page = lesson.lesson->pages[lesson.page];
  const ExpressionValues* shown = lesson.figures != nullptr ? &lesson.figures->shown : nullptr;
  std::string text =
      fmt::format("<p class=\"dim\">{}</p><h2>{}</h2>",
                  html_text(say(tr("page {} of {}"), lesson.page + 1, lesson.lesson->pages.size())), html_text(page.title));
  HtmlProse prose(view, shown);
  if (moment == LessonMoment::playing) {
    text += fmt::format("<p>{}</p>", html_text(caption_line(View{view, nullptr})));
  } else if (moment == LessonMoment::asked) {
    text += prose.blocks(page.prose);
    if (page.ask) text += asked(*page.ask, shown, lesson.page, prose);
  } else if (page.ask && lesson.figures != nullptr) {
    HtmlProse revealed(view, &lesson.figures->revealed);
    text += answered(view, page, revealed);
  }
  const bool last_moment = moment == LessonMoment::answered || !page.ask;
  if (page.task && last_moment) {
    HtmlProse task(view, lesson.task != nullptr ? &lesson.task->shown : nullptr);
    text += fmt::format("<h3>{}</h3>{}<p class=\"dim\">{}</p>", html_text(tr("Try it")), task.blocks(page.task->say),
                        html_text(tr("The task needs the program: tilescope lesson open.")));
  }
  return fmt::format("<div>{}</div>\n<div class=\"picture\">{}</div>\n", text, picture);
}

}  // namespace tilescope
