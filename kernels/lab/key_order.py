"""A kernel on three causal shapes: error against PyTorch and the median of five times. Usage: key_order.py LIBRARY KERNEL; see key_order.sh."""
import sys,torch,torch.nn.functional as F
from bench_library import BenchLibrary,addresses_of,current_stream
library=BenchLibrary(sys.argv[1])
def run(q,k,v,t,causal):
    b,h,n,d=q.shape
    library.run(sys.argv[2],(b,h,k.shape[1],n,k.shape[2],d),addresses_of(dict(t,q=q,k=k,v=v)),causal=causal,stream=current_stream())
for h,n,d in ((4,65536,128),(8,16384,64),(4,32768,128)):
    q,k,v=(torch.randn(1,h,n,d,device="cuda",dtype=torch.float16) for _ in range(3))
    t=dict(o=torch.full_like(q,float("nan")),lse=torch.empty(1,h,n,device="cuda"))
    run(q,k,v,t,True); torch.cuda.synchronize()
    ref=F.scaled_dot_product_attention(q,k,v,is_causal=True)
    print("shape",h,n,d,"error",((t["o"].float()-ref.float()).norm()/ref.float().norm()).item(),flush=True)
    s,e=torch.cuda.Event(enable_timing=True),torch.cuda.Event(enable_timing=True); ts=[]
    for _ in range(5):
        s.record(); run(q,k,v,t,True); e.record(); torch.cuda.synchronize(); ts.append(s.elapsed_time(e))
    print("ms",sorted(ts)[2],flush=True)
