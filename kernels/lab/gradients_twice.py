"""Runs each backward kernel again and again on the same tensors, and counts the elements of dQ whose bits are not those of the first run.

Usage: python3 kernels/lab/gradients_twice.py LIBRARY
LIBRARY is libtilescope_bench.so, which kernels/build_gpu_check.sh builds. Needs PyTorch with CUDA. B 2, H 8, N 4096, d 128, fp16; PyTorch's flash back
end beside ours. Runs of flash2_backward_deterministic and flash2_backward_two_pass must be equal: else the exit code is 1.
"""
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from bench_library import BenchLibrary, addresses_of, current_stream

B, H, N, D, RUNS = 2, 8, 4096, 128, 10
library = BenchLibrary(sys.argv[1])
torch.manual_seed(1)
q, k, v, d_o = (torch.randn(B, H, N, D, device="cuda", dtype=torch.float16) for _ in range(4))
o, dk, dv = (torch.empty_like(q) for _ in range(3))
lse, delta = (torch.empty(B, H, N, device="cuda") for _ in range(2))
shape = (B, H, H, N, N, D)
sm_count = torch.cuda.get_device_properties(0).multi_processor_count


def ours(kernel, causal):
    copies = library.sum_copies(kernel, shape, sm_count)
    dq, sums = torch.empty_like(q), torch.empty(copies, B, H, N, D, device="cuda")
    tensors = dict(q=q, k=k, v=v, o=o, lse=lse, d_o=d_o, dq=dq, dk=dk, dv=dv, delta=delta, dq_acc=sums)
    library.run(kernel, shape, addresses_of(tensors), causal=causal, copies=copies, stream=current_stream())
    torch.cuda.synchronize()
    return dq


def pytorch(causal):
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
    return torch.autograd.grad(out, leaves, d_o)[0]


print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, B {B}, H {H}, N {N}, d {D}, fp16: of {q.numel()} elements of dQ, over {RUNS} runs")
changed_where_none_may = False
for causal in (False, True):
    library.run("flash2", shape, addresses_of(dict(q=q, k=k, v=v, o=o, lse=lse)), causal=causal, stream=current_stream())
    for kernel in ("flash2_backward", "flash3_backward", "flash2_backward_deterministic", "flash2_backward_two_pass", "PyTorch flash"):
        runs = [pytorch(causal) if kernel.startswith("PyTorch") else ours(kernel, causal) for _ in range(RUNS)]
        differ = torch.stack([run != runs[0] for run in runs[1:]])
        largest = max((run.float() - runs[0].float()).abs().max().item() for run in runs[1:])
        each = differ.flatten(1).sum(1).tolist()
        print(f"{'causal' if causal else 'full  '} {kernel:30s} {min(each)} to {max(each)} differ from the first run, in any run "
              f"{differ.any(0).sum().item()}; largest difference {largest:.3g} where dQ reaches {runs[0].abs().max().item():.3g}")
        changed_where_none_may |= kernel.endswith(("deterministic", "two_pass")) and max(each) > 0
sys.exit(1 if changed_where_none_may else 0)
