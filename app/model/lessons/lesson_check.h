// check_lesson(): runs every page of a lesson in every language, and lists what is wrong with it.
#pragma once

#include <string>
#include <vector>

#include "app/model/lessons/lesson_list.h"
#include "app/model/lessons/lesson_runs.h"
#include "app/model/requests/requested.h"

namespace tilescope {

/// Both languages of a lesson have the same pages, links, expressions and options; only the words differ.
std::vector<std::string> check_same_structure(const Lesson& a, const Lesson& b);

/// Digits in what a student reads that no expression computed; names with digits in them (L2, fp16, FlashAttention-2) are none.
std::vector<std::string> check_digits(const Lesson& lesson);

/// Every page: its scene, its question, its reveal, its task.
/// Leaves out  how the pages look
std::vector<std::string> check_pages(const Lesson& lesson, StateRuns& runs, const Measurements& measured);

/// All of these for a lesson in every language that it has. Each finding is one sentence with file and line.
std::vector<std::string> check_lesson(const LessonList& list, const LessonInfo& info, GpuLoader load_gpu,
                                      const Measurements& measured);

}  // namespace tilescope
