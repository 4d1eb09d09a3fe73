"""Each shell with its real core: facts in, facts out, on a simulated machine in simulated time."""
