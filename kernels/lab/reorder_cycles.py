#!/usr/bin/env python3
"""Finds hbm.reorder_cycles: how long a copy waits for HBM until all that is asked for meanwhile comes before it.

usage: reorder_cycles.py MEASURED.txt      as kernels/lab/cold_queue.cu prints it

The model's queue of HBM, with the boxes that cold_queue.cu asks for on 132 SMs, for several values; prints how far the landings are
from the measured ones, as root mean square, and the best value. The rates are those of the H200's spec.
"""
import bisect
import random
import statistics
import sys

BOX_BYTES, BYTES_PER_CYCLE = 8192, 4626 / 1.98  # hbm.read_fraction, in SM cycles of 1.98 GHz, at which the program runs
ISSUE_CYCLES = 97  # sm.box_issue_cycles
UNLOADED_CYCLES = 1270  # the first box of one block alone: 1200 to 1330
SKEW_CYCLES = 100  # the SMs do not begin at once


def landings(sms, boxes, reorder_cycles):
    """Returns the median landing of each box of a block, in cycles after its first request."""
    generator = random.Random(1)
    starts = [generator.uniform(0, SKEW_CYCLES) for _ in range(sms)]
    requests = sorted((start + ISSUE_CYCLES * box, start, box) for start in starts for box in range(boxes))
    times = [request[0] for request in requests]
    cycles = BOX_BYTES / BYTES_PER_CYCLE
    free, found = 0.0, [[] for _ in range(boxes)]
    for number, (time, start, box) in enumerate(requests):
        free = max(free, time) + cycles
        asked_after = (bisect.bisect_right(times, free) - number - 1) * cycles
        late = asked_after * min(1, (free - time) / reorder_cycles)
        found[box].append(free + late + UNLOADED_CYCLES - start)
    return [statistics.median(times) for times in found]


def main():
    measured = []
    for line in open(sys.argv[1]):
        words = line.split()
        if line.startswith("   132  prefetched  by block"):
            measured.append([float(word) for word in words[4:]])
    errors = {}
    for reorder_cycles in range(1000, 4001, 100):
        squares = []
        for boxes in measured:
            squares += [(a - b) ** 2 for a, b in zip(landings(132, len(boxes), reorder_cycles), boxes)]
        errors[reorder_cycles] = statistics.mean(squares) ** 0.5
    for reorder_cycles, error in errors.items():
        print(f"{reorder_cycles:5d}  {error:5.0f} cycles off")
    print("best:", min(errors, key=errors.get), "; in order of arrival:", end=" ")
    squares = [(a - b) ** 2 for boxes in measured for a, b in zip(landings(132, len(boxes), 1e12), boxes)]
    print(f"{statistics.mean(squares) ** 0.5:.0f} cycles off")


if __name__ == "__main__":
    main()
