"""The ladder to Hopper, for the scripts beside this file: the rungs in order, and between which kernels they stand."""
RUNGS = ["hopper_wgmma", "hopper_producer", "hopper_three_groups", "hopper_overlap", "hopper_ping_pong", "hopper_persistent", "hopper_causal"]
LADDER = ["flash2", *RUNGS, "flash3"]
