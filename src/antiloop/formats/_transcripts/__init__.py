"""Sessions of coding agents, and trajectories of benchmarks."""
