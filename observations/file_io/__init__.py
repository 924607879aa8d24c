"""The file I/O of runs, from logs of Darshan."""
