"""The masks and score changes of the flex benchmarks, as expressions and as PyTorch's functions, and how to run them.

B 2, H 16, N 8192, fp16. Documents have 700 tokens, windows 1024 keys; soft-capping is exact on both sides.
"""
import torch

from bench_library import current_stream

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


def run(library, kernel, tensors, mask, score):
    """Runs a flex kernel of a BenchLibrary. `tensors`: q, k, v, o, lse; for flex_backward also d_o, dq, dk, dv, delta."""
    library.run_flex(kernel, (B, H, H, N, N, tensors[0].shape[-1]), [t.data_ptr() for t in tensors], mask, score, {"doc": doc_on_host},
                     stream=current_stream())
