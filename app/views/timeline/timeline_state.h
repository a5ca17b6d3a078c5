// What the timeline panel keeps from one frame to the next.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "app/model/run_data/range_sums.h"
#include "app/model/run_data/timeline_axis.h"
#include "app/views/timeline/sm_timeline.h"
#include "app/views/timeline/timeline_cause_box.h"
#include "app/views/timeline/timeline_picture.h"

namespace tilescope {

/// What the kept picture was drawn from; it is drawn anew when any of it changes.
struct PictureKey {
  std::vector<const TimelineData*> data;
  double begin = 0, end = 0;
  float scroll = 0;
  ImVec2 min, max;
  ThemeKind theme = ThemeKind::dark;
  float scale = 1;
  std::optional<Tensor> lit;
  bool by_sm = false;
  SmRows rows;
  std::vector<const void*> blocks;  // lanes and works of the SMs, simulated and measured
  bool same_as(const PictureKey& o) const {
    return data == o.data && by_sm == o.by_sm && rows == o.rows && blocks == o.blocks && begin == o.begin && end == o.end &&
           scroll == o.scroll && min.x == o.min.x && min.y == o.min.y && max.x == o.max.x && max.y == o.max.y && theme == o.theme &&
           scale == o.scale && lit == o.lit;
  }
};

struct TimelineState {
  std::vector<std::shared_ptr<const TimelineData>> data;
  TimeWindow window;
  std::optional<TimeRange> seen;  // of the state, in the frame before
  TimeWindow told;                // that the state has, or that was made of it
  std::int64_t last_step = -1;
  double last_scrub = -1;
  float scroll = 0;  // of rows that are higher than their place
  bool scrolled_by_hand = false, was_playing = false;
  std::vector<std::int64_t> row_steps;  // of the groups, that the rows were last scrolled to
  ImVec2 pressed;                       // where the button went down
  CauseBox causes;
  SmPanelState sms;
  std::optional<double> range_from;     // where a drag that chooses a stretch began
  std::optional<TimeRange> seen_range;  // the chosen stretch in the frame before
  std::shared_ptr<const TimelineData> sums_of;
  RangeSums sums;  // of the chosen stretch
  bool copy_sums = false, show_range = false;
  bool jump = false;  // to the playhead
  PictureKey key;
  TimelinePicture picture;
};

}  // namespace tilescope
