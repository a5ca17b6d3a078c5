// Slots of the session's queues: the lowest of a queue goes first, and a newer job takes the place of an older one of its slot.
#pragma once

namespace tilescope::slots {

inline constexpr int lanes = 2;           // simulations on screen at most
inline constexpr int lanes_and_next = 3;  // one a lane, and one for the block or iteration that comes next

// Queue::shown
inline constexpr int simulate = 0;
inline constexpr int first_timeline = simulate + 1;
inline constexpr int first_plane = first_timeline + lanes;
inline constexpr int first_history = first_plane + lanes;
inline constexpr int first_sm_lanes = first_history + lanes_and_next;
inline constexpr int first_look = first_sm_lanes + lanes;

// Queue::quick
inline constexpr int first_block = 0;
inline constexpr int first_values = first_block + lanes_and_next;
inline constexpr int freeing = first_values + lanes_and_next;
inline constexpr int mask_picture = freeing + 1, mask_elements = mask_picture + 1;

// Queue::background: what was asked for by hand goes first
inline constexpr int measure = 0, calibrate = 1, pinned = 13, compare = 14, validate = 15, compare_runs = 16, beside_run = 17,
                     lesson = 50, lesson_task = 51, mask_difference = 98, mask_totals = 99, study = 100, next_limit = 101,
                     exactness = 102, dense_run = 103, under_load = 104, race_under_load = 105, at_what_if_clock = 106;

}  // namespace tilescope::slots
