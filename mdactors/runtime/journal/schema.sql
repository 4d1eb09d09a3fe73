-- The event log. Append only; seq is the total order and has no gaps.
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,
    time REAL NOT NULL,       -- seconds since the epoch
    cause INTEGER NOT NULL,   -- seq of the record that led to this one; 0: a person or the outside world
    type TEXT NOT NULL,
    version INTEGER NOT NULL, -- of the event's shape
    body TEXT NOT NULL,       -- JSON, with the type first
    seen INTEGER NOT NULL     -- seq up to which the core that decided this had folded the log; 0: no core decided
) STRICT;

-- What a start need not fold again, made from the events and always to be made again from them.
CREATE TABLE IF NOT EXISTS closed (
    job INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    row TEXT NOT NULL         -- the job's row of the read model, JSON
) STRICT;
CREATE INDEX IF NOT EXISTS closed_by_state ON closed (state); -- numbers and counts without the rows
CREATE TABLE IF NOT EXISTS snapshots (
    seq INTEGER PRIMARY KEY,  -- up to which the log was folded
    made_by TEXT NOT NULL,    -- version of mdactors; another one makes its own
    needed TEXT NOT NULL,     -- seqs up to there that are still needed, JSON
    counters TEXT NOT NULL    -- of the metrics, JSON
) STRICT;
