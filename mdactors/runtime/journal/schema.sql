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
