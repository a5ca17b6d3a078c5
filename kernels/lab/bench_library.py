"""Calls the kernels of libtilescope_bench.so (kernels/lab/bench_library.cpp) on tensors in GPU memory."""
import ctypes

NAMES = ("q", "k", "v", "s", "p", "o", "lse", "m", "l", "d_o", "dq", "dk", "dv", "delta", "dq_acc", "dp", "ds")  # of the tensors
FLEX_NAMES = ("q", "k", "v", "o", "lse")
FLEX_BACKWARD_NAMES = FLEX_NAMES + ("d_o", "dq", "dk", "dv", "delta")
FLEX_KERNELS = ("flex", "hopper_flex", "flex_backward")
FLEX_BASES = FLEX_KERNELS + ("two_blocks",)  # hopper_flex with two blocks an SM, head dimension 64 (kernels/hopper_flex/two_blocks.cuh)


class BenchLibrary:
    """A build of the library. Every call passes the lengths of its arrays, and a wrong one is refused with a sentence."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.tilescope_run.restype = self.library.tilescope_run_flex.restype = ctypes.c_char_p

    def run(self, kernel, shape, addresses, bf16=False, causal=False, copies=1, stream=None):
        """Runs a kernel. `shape`: batch, heads, key heads, query rows, key rows, head dimension; `addresses`: by name, see NAMES."""
        unknown = set(addresses) - set(NAMES)
        if unknown:
            raise ValueError(f"no tensor is called {', '.join(sorted(unknown))}")
        sizes = integers((*shape, copies))
        pointers = (ctypes.c_void_p * len(NAMES))(*(addresses.get(name) for name in NAMES))
        raise_if(self.library.tilescope_run(kernel.encode(), sizes, len(sizes), int(bf16), int(causal), pointers, len(pointers),
                                            ctypes.c_void_p(stream)))

    def run_flex(self, kernel, shape, addresses, mask="", score="", tables=None, bf16=False, page_size=0, contiguous=False, stream=None):
        """Runs a flex kernel. `addresses`: in the order of FLEX_NAMES, or of FLEX_BACKWARD_NAMES; `tables`: int32 tensors of PyTorch on
        the host, of one dimension, by name."""
        tables = tables or {}
        sizes = integers((*shape, page_size, int(contiguous)))
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        names = (ctypes.c_char_p * len(tables))(*(name.encode() for name in tables))
        values = (ctypes.c_void_p * len(tables))(*(table.data_ptr() for table in tables.values()))
        lengths = integers(len(table) for table in tables.values())
        raise_if(self.library.tilescope_run_flex(FLEX_BASES.index(kernel), sizes, len(sizes), int(bf16), mask.encode(), score.encode(),
                                                 len(tables), names, values, lengths, pointers, len(pointers), ctypes.c_void_p(stream)))

    def sum_copies(self, kernel, shape, sm_count):
        """Returns the copies of dQ_acc that a kernel needs on a device with so many SMs."""
        sizes = integers((*shape, 1))
        return self.library.tilescope_sum_copies(kernel.encode(), sizes, len(sizes), sm_count)


def integers(values):
    values = tuple(values)
    return (ctypes.c_longlong * len(values))(*values)


def raise_if(error):
    if error:
        raise RuntimeError(error.decode())


def addresses_of(tensors):
    """Returns the address of each tensor of PyTorch, by its name."""
    return {name: tensor.data_ptr() for name, tensor in tensors.items()}


def current_stream():
    import torch
    return torch.cuda.current_stream().cuda_stream
