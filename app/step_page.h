// step_page(): steps of a run as one page that opens from disk: pictures, captions and byte counters, stepped with the arrow keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/model/session/session_view.h"

namespace tilescope {

/// A step as the page shows it. Texts are in the language in use.
struct PageStep {
  std::int64_t step = 0;
  std::string heading, line, why;  // "Step 12 of 84", the line of the listing, and why it exists
  struct Counter {
    std::string name;
    std::vector<std::string> bytes;  // by run: one, or two in a race
  };
  std::vector<Counter> counters;
  std::string picture;  // <svg> or <img>
};

/// Describes the present step of a session; the picture is left to the caller.
PageStep page_step(const SessionView& view);

struct PageHead {
  std::string title, problem, language;
  bool dark = true;
  std::vector<std::string> runs;  // names of the runs, in a race
};

/// Returns the whole page. Without scripts it shows all steps, one below the other.
std::string step_page(const PageHead& head, const std::vector<PageStep>& steps);

/// The page around articles of the class "step", each with an id and a heading of level 2.
std::string page_around(const PageHead& head, const std::string& articles);
/// The choice of a question at place `index`, with its letter: "B. …". It is HTML already.
std::string lettered_choice(std::size_t index, const std::string& choice);
/// An answer as HTML, and what is said of it: closed on screen; on paper, where nothing can be opened, open. Both are HTML already.
std::string closed_answer(const std::string& answer, const std::string& said = {});
/// A text with what HTML would take for its own escaped.
std::string html_text(std::string_view text);

/// <img> with the PNG in it.
std::string page_picture(const std::string& png, const std::string& description);

}  // namespace tilescope
