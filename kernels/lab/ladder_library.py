"""Calls the kernels of a library that kernels/lab/beside_ladder.sh builds, on tensors of PyTorch."""
import ctypes

import torch


def runner(path):
    """Returns run(kernel, q, k, v, o, lse, causal) of the library at `path`."""
    library = ctypes.CDLL(path)
    library.ladder_run.restype = ctypes.c_char_p

    def run(kernel, q, k, v, o, lse, causal):
        batch, heads, n, d = q.shape
        sizes = (ctypes.c_longlong * 6)(batch, heads, k.shape[1], n, k.shape[2], d)
        addresses = (ctypes.c_void_p * 5)(*(t.data_ptr() for t in (q, k, v, o, lse)))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        error = library.ladder_run(kernel.encode(), sizes, int(q.dtype == torch.bfloat16), int(causal), addresses, stream)
        if error:
            raise RuntimeError(f"{kernel}: {error.decode()}")

    return run
