"""Benchmarks: replays of real history, with baselines and peers in the same run. See docs/benchmarks.md."""
