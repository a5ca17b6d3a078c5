#!/usr/bin/env python3
"""Writes the fixture of run_test.cpp beside itself: tensors as numpy.save writes them, and what NumPy computes from them in float64.

B 2, H 4, Hkv 2, N 12, Nk 20, d 8. *_causal: query i sees keys j <= i + Nk - N. Source  arXiv:2205.14135, section 2.2 and appendix B.2
"""
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
B, H, HKV, N, NK, D = 2, 4, 2, 12, 20, 8


def attention(q, k, v, do, causal):
    q, k, v, do = (t.astype(np.float64) for t in (q, k, v, do))
    k, v = (np.repeat(t, H // HKV, axis=1) for t in (k, v))
    scale = 1 / np.sqrt(D)
    s = scale * np.einsum("bhid,bhjd->bhij", q, k)
    if causal:
        s = np.where(np.arange(NK)[None, :] <= np.arange(N)[:, None] + NK - N, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    lse = m + np.log(np.exp(s - m).sum(axis=-1, keepdims=True))
    p = np.exp(s - lse)
    dp = np.einsum("bhid,bhjd->bhij", do, v)
    ds = p * (dp - (p * dp).sum(axis=-1, keepdims=True))
    of_heads = lambda t: t.reshape(B, HKV, H // HKV, NK, D).sum(axis=2)
    return {"O": np.einsum("bhij,bhjd->bhid", p, v), "L": lse[..., 0],
            "dQ": scale * np.einsum("bhij,bhjd->bhid", ds, k),
            "dK": of_heads(scale * np.einsum("bhij,bhid->bhjd", ds, q)),
            "dV": of_heads(np.einsum("bhij,bhid->bhjd", p, do))}


def main():
    random = np.random.default_rng(19)
    given = {"Q": (B, H, N, D), "K": (B, HKV, NK, D), "V": (B, HKV, NK, D), "dO": (B, H, N, D)}
    tensors = {name: random.standard_normal(shape).astype(np.float16) for name, shape in given.items()}
    for name, values in tensors.items():
        np.save(HERE / f"{name}.npy", values)
    np.save(HERE / "Q_float32.npy", tensors["Q"].astype(np.float32))
    np.save(HERE / "Q_fortran.npy", np.asfortranarray(tensors["Q"]))
    np.save(HERE / "Q_float64.npy", tensors["Q"].astype(np.float64))
    for suffix, causal in (("", False), ("_causal", True)):
        for name, values in attention(*tensors.values(), causal).items():
            np.save(HERE / f"{name}{suffix}.npy", values.astype(np.float32))


if __name__ == "__main__":
    main()
