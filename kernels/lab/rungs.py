"""The ladder to Hopper, for the scripts beside this file: the rungs in order, between which kernels they stand, and ideas beside them."""
from typing import NamedTuple

RUNGS = ["hopper_wgmma", "hopper_producer", "hopper_three_groups", "hopper_overlap", "hopper_ping_pong", "hopper_persistent", "hopper_causal"]
LADDER = ["flash2", *RUNGS, "flash3"]


class Idea(NamedTuple):
    """A variant in kernels/lab/ladder_variants.h."""
    text: str
    over: list  # the kernels that it is compared with: (unmasked, causal)
    head_dims: tuple = (64, 128)


IDEAS = {"kept maximum": Idea("rescale only past 2⁸", [("hopper_causal", "hopper_causal")]),
         "cubic quarter": Idea("1/4 of the exponentials on the FMA pipes", [("hopper_causal", "hopper_causal")]),
         "cubic half": Idea("1/2 of the exponentials on the FMA pipes", [("hopper_causal", "hopper_causal")]),
         "clusters": Idea("clusters of two, each block with its own copies", [("hopper_persistent", "hopper_causal")]),
         "multicast": Idea("K and V by multicast, a fence before each token", [("clusters", "clusters")]),
         "multicast no fences": Idea("K and V by multicast, no fences", [("multicast", "multicast"), ("clusters", "clusters"), ("hopper_persistent", "hopper_causal")]),
         "three blocks": Idea("three blocks of 64 rows an SM", [("hopper_wgmma", "hopper_wgmma_longest")], (64,)),
         "five blocks": Idea("five blocks of 64 rows an SM, 64 keys a tile", [("hopper_wgmma", "hopper_wgmma_longest")], (64,))}
