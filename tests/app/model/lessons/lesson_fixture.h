// A short lesson with one question of each kind, for the tests of lessons.
#pragma once

#include <memory>
#include <string>

#include "app/model/lessons/lesson_list.h"

namespace tilescope {

inline constexpr const char* small_lesson = R"(```lesson
title = "Small"
minutes = 1
goal = "You can test a lesson."
```

## Choice

Standard attention moves {= standard.hbm / hbm : times} the **bytes** of `flash2`.

```scene
link = "seq=16&head_dim=4&block_q=4&block_kv=4&blocks_per_sm=1&step=1"
look = ["stage", "traffic"]
others = { standard = "algorithm=standard" }
```

```ask
kind = "choice"
question = "Which moves more?"
options = ["flash2", "standard"]
values = ["l2_to_sm + sm_to_l2", "standard.l2_to_sm + standard.sm_to_l2"]
pick = "largest"
unit = "bytes"
wrong = [{ choice = 1, say = "It never stores the {= N * Nk : number} scores." }]
```

```reveal
say = "It ends at step {= step : number}."
play = "end"
```

## Number

```ask
kind = "number"
question = "How many keys?"
answer = "Nk"
tolerance = 0.1
wrong = [
  { near = "d", say = "That is the length of a row, at step {= step : number}." },
  { near = "N * Nk", say = "That is the number of scores." },
  { say = "Count the rows of K." },
]
```

```reveal
say = "There are {= Nk : number}."
play = "step:3"
```

## Point

```ask
kind = "point"
question = "Point at what is written."
options = ["K", "O"]
values = ["sm_to_l2.K", "sm_to_l2.O"]
pick = "largest"
```

```reveal
say = "It is O."
```

## Order

```ask
kind = "order"
question = "Order by bytes."
options = ["O", "Q, K and V"]
values = ["sm_to_l2.O", "l2_to_sm.Q + l2_to_sm.K + l2_to_sm.V"]
wrong = [{ say = "O is written once." }]
```

```reveal
say = "Inputs first."
```

## Draw and try

```ask
kind = "draw"
question = "Draw the exponentials over N."
x = { key = "seq", values = [8, 16, 32] }
curve = "exps"
```

```reveal
say = "Twice N, four times the exponentials."
```

```try
free = ["seq"]
say = "Make N larger than {= scene.N : number}."
goal = "N > scene.N"
done = "N is {= N : number}."
solution = "seq=32"
```

```notes
text = "For the lecturer, in 30 seconds."
```
)";

/// Returns a list whose only lesson, 00-small, is the file at `path`.
inline std::shared_ptr<const LessonList> list_of_small_lesson(const std::string& path) {
  auto list = std::make_shared<LessonList>();
  LessonInfo info;
  info.id = "00-small";
  info.languages.emplace("en", LessonInfo::Text{path, "Small", 1});
  list->lessons.push_back(info);
  return list;
}

}  // namespace tilescope
