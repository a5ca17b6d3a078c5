"""The masks and score changes of the flex benchmarks, as expressions and as PyTorch's functions, and how to run them.

B 2, H 16, N 8192, fp16. Documents have 700 tokens, windows 1024 keys; soft-capping is exact on both sides.
"""
import ctypes

import torch

B, H, N = 2, 16, 8192
doc = (torch.arange(N, device="cuda", dtype=torch.int32) // 700).contiguous()
doc_on_host = doc.cpu()

CAUSAL = ("q >= kv", lambda b, h, q, kv: q >= kv)
ALIBI = ("score + exp2(-8.0 * (h + 1) / H) * (kv - q)", lambda s, b, h, q, kv: s + torch.exp2(-8.0 * (h + 1) / H) * (kv - q))
SOFTCAP = ("20 * tanh(score / 20)", lambda s, b, h, q, kv: 20 * torch.tanh(s / 20))
RELATIVE = ("score + (q - kv)", lambda s, b, h, q, kv: s + (q - kv))
NONE = ("", None)
CASES = {
    "full": (NONE, NONE),
    "causal": (CAUSAL, NONE),
    "window1024": (("q >= kv && q - kv <= 1024", lambda b, h, q, kv: (q >= kv) & (q - kv <= 1024)), NONE),
    "prefix2048": (("kv < 2048 || q >= kv", lambda b, h, q, kv: (kv < 2048) | (q >= kv)), NONE),
    "document": (("doc[q] == doc[kv]", lambda b, h, q, kv: doc[q] == doc[kv]), NONE),
    "doc_causal_window": (("doc[q] == doc[kv] && q >= kv && q - kv <= 1024",
                           lambda b, h, q, kv: (doc[q] == doc[kv]) & (q >= kv) & (q - kv <= 1024)), NONE),
    "alibi": (NONE, ALIBI),
    "softcap": (NONE, SOFTCAP),
    "relative": (NONE, RELATIVE),
    "causal alibi": (CAUSAL, ALIBI),
    "causal softcap": (CAUSAL, SOFTCAP),
}


def opened(path):
    """Returns libtilescope_bench.so, or a build of it."""
    library = ctypes.CDLL(path)
    library.tilescope_run.restype = library.tilescope_run_flex.restype = ctypes.c_char_p
    return library


def run(library, kernel, tensors, mask, score):
    """`tensors`: q, k, v, o, lse; for flex_backward also d_o, dq, dk, dv, delta."""
    sizes = (ctypes.c_longlong * 8)(B, H, H, N, N, tensors[0].shape[-1], 0, 0)
    addresses = (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors))
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    names, tables = (ctypes.c_char_p * 1)(b"doc"), (ctypes.c_void_p * 1)(doc_on_host.data_ptr())
    lengths = (ctypes.c_longlong * 1)(N)
    error = library.tilescope_run_flex(("flex", "hopper_flex", "flex_backward").index(kernel), sizes, 0, mask.encode(), score.encode(), 1, names,
                                       tables, lengths, addresses, stream)
    if error:
        raise RuntimeError(error.decode())
