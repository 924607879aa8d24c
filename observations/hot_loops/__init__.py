"""The hot loops of a run: sampled by perf, and analysed by llvm-mca."""
