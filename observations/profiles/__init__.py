"""Where a run spends CPU time: stacks that perf samples, as one tree of calls."""
