"""Commands under observation: pinned, sampled while they run, recorded."""
