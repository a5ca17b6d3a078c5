"""The median time of functions that run in turn on one GPU: so they share one clock, which falls under load."""
import torch


def medians(functions, before=lambda: None, repeats=9):
    """Returns the median in ms of each function, by its name. `before` runs before each and is not counted."""
    times = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(repeats):
        for name, function in functions.items():
            before()
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            function()
            end.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(end))
    return {name: sorted(each)[repeats // 2] for name, each in times.items()}
