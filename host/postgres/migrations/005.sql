-- The streams of running turns, for readers at other workers. A reader that was cut off reads the tape: after a crash of the
-- server these tables are empty.

-- Sessions whose turns are followed at some worker.
CREATE UNLOGGED TABLE follower (
    tape text COLLATE "C" PRIMARY KEY,
    until timestamptz NOT NULL
);

-- Items of turns, as JSON. `first` is the position of the first one in its turn.
CREATE UNLOGGED TABLE stream (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tape text COLLATE "C" NOT NULL,
    turn text COLLATE "C" NOT NULL,
    first bigint NOT NULL,
    items bytea NOT NULL,
    is_last boolean NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX stream_tape ON stream (tape, id);
CREATE INDEX stream_at ON stream (at);

-- Asks for the streams of a tape's turns. Returns the last row of a turn that has ended; 0 without one.
CREATE FUNCTION follow_1(of_tape text, seconds double precision) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    before timestamptz;
BEGIN
    SELECT f.until INTO before FROM follower f WHERE f.tape = of_tape;
    INSERT INTO follower AS f (tape, until) VALUES (of_tape, clock_timestamp() + seconds * interval '1 second')
        ON CONFLICT (tape) DO UPDATE SET until = greatest(f.until, excluded.until);
    IF before IS NULL OR before < clock_timestamp() THEN
        -- For all workers: the next turn may begin at any of them.
        PERFORM pg_notify('bub_worker', '*');
    END IF;
    RETURN coalesce((SELECT max(s.id) FROM stream s WHERE s.tape = of_tape AND s.is_last), 0);
END
$$;

-- Writes items of a turn, and removes what is old.
CREATE FUNCTION stream_1(of_tape text, of_turn text, of_first bigint, of_items bytea, of_last boolean)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO stream (tape, turn, first, items, is_last) VALUES (of_tape, of_turn, of_first, of_items, of_last);
    DELETE FROM stream s WHERE s.id IN (
        SELECT o.id FROM stream o WHERE o.at < clock_timestamp() - interval '5 minutes' LIMIT 64 FOR UPDATE SKIP LOCKED
    );
    IF of_last THEN
        DELETE FROM follower f WHERE f.tape IN (
            SELECT o.tape FROM follower o WHERE o.until < clock_timestamp() - interval '1 hour' LIMIT 64 FOR UPDATE SKIP LOCKED
        );
    END IF;
END
$$;
