"""How a job runs: one folder an engine, the same file names in each."""
