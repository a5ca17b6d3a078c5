// View: what a panel reads — the session's objects, and the theme they are drawn with.
#pragma once

#include "app/model/session/session_view.h"
#include "app/model/state/commands.h"
#include "app/ui/language.h"
#include "app/ui/theme.h"

namespace tilescope {

struct View : SessionView {
  const Theme* theme = nullptr;
};

}  // namespace tilescope
