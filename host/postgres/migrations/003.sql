-- The state of `serve` outside of tapes, for all workers of a database. A worker is a process: the row of its lease,
-- which is renewed as long as it runs. Messages that it has accepted are its own until the lease has ended; then
-- another worker adopts them.
-- Texts of other authors are bytes, as in the tables of tapes.

-- The sessions that had a message, by tape. A message is queued under the lock of its session's row.
CREATE TABLE session (
    tape text COLLATE "C" PRIMARY KEY,
    id bytea NOT NULL,
    caller text COLLATE "C"
);
CREATE INDEX session_id ON session (substr(id, 1, 256), tape);

-- The usage of callers with a quota: sessions that they have started, and bytes that they have added on a day.
CREATE TABLE caller (
    name text COLLATE "C" PRIMARY KEY,
    sessions bigint NOT NULL DEFAULT 0,
    day bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0
);

CREATE SEQUENCE message_place;

-- Messages. `key` is the digest of channel and id, null without an id. `place` is the order of a session's messages, given
-- when the session is known. `state` is 0 (accepted), 1 (its turn runs) or 2 (the turn has ended). `leader` is the message
-- whose turn it is part of. `origin` is the worker that accepted it, `worker` the one whose turn it is; `adopted`: that one
-- does not know it yet.
CREATE TABLE message (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key bytea UNIQUE,
    envelope bytea NOT NULL,
    checksum bytea NOT NULL,
    identity bytea,
    active boolean NOT NULL,
    tape text COLLATE "C",
    place bigint,
    steers boolean NOT NULL DEFAULT false,
    stops boolean NOT NULL DEFAULT false,
    leader bigint,
    state smallint NOT NULL DEFAULT 0,
    outcome bytea,
    origin text COLLATE "C" NOT NULL,
    worker text COLLATE "C" NOT NULL,
    adopted boolean NOT NULL DEFAULT false,
    accepted timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 70);
CREATE INDEX message_open ON message (tape, place) WHERE state < 2;
CREATE INDEX message_worker ON message (worker, number) WHERE state < 2;
CREATE INDEX message_done ON message (accepted) WHERE state = 2;

-- Answers to deliver. `state` is 0 (ready), 1 (a delivery has begun) or 2 (it cannot be delivered). `chat` is the digest of
-- the channel's and the chat's name.
CREATE TABLE outbound (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text COLLATE "C" NOT NULL UNIQUE,
    chat bytea NOT NULL,
    envelope bytea NOT NULL,
    state smallint NOT NULL DEFAULT 0,
    handle bytea,
    queued bytea NOT NULL,
    worker text COLLATE "C" NOT NULL,
    adopted boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70);
CREATE INDEX outbound_chat ON outbound (chat, number) WHERE state < 2;
CREATE INDEX outbound_worker ON outbound (worker, number) WHERE state < 2;

-- How far a channel was read.
CREATE TABLE cursor (
    channel bytea PRIMARY KEY,
    cursor bytea NOT NULL
);

-- Locks the row of a lease, so that it cannot be claimed before the transaction ends. False: it is another owner's.
CREATE FUNCTION holds_1(of_lease text, of_epoch bigint, of_owner bytea) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease l WHERE l.name = of_lease AND l.epoch = of_epoch AND l.owner = of_owner AND l.until IS NOT NULL
        FOR KEY SHARE;
    RETURN FOUND;
END
$$;

-- Gives these messages their places in their session. The row of the session is locked before: places are in the order in
-- which the messages are queued, and a message without one before it stays the first.
CREATE FUNCTION queue_1(numbers bigint[], of_tape text, of_session bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    first bigint;
BEGIN
    INSERT INTO session (tape, id) VALUES (of_tape, of_session) ON CONFLICT DO NOTHING;
    PERFORM FROM session s WHERE s.tape = of_tape FOR UPDATE;
    UPDATE message m SET tape = of_tape, place = nextval('message_place')
        WHERE m.number = ANY (numbers) AND m.place IS NULL;
    SELECT min(m.place) INTO first FROM message m WHERE m.number = ANY (numbers);
    RETURN first;
END
$$;

-- Begins the turn of these messages, if no message of their session is before them.
--
-- `started`; `later`: another one is before them; `elsewhere`: another worker has taken them over.
CREATE FUNCTION start_1(of_worker text, numbers bigint[], of_tape text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    first bigint;
    found_count bigint;
BEGIN
    SELECT min(m.place), count(*) INTO first, found_count FROM message m
        WHERE m.number = ANY (numbers) AND m.worker = of_worker AND m.state < 2;
    IF found_count < cardinality(numbers) THEN
        RETURN 'elsewhere';
    END IF;
    PERFORM FROM message m WHERE m.tape = of_tape AND m.state < 2 AND m.place < first AND NOT m.number = ANY (numbers)
        LIMIT 1;
    IF FOUND THEN
        RETURN 'later';
    END IF;
    UPDATE message m SET state = 1, leader = numbers[cardinality(numbers)]
        WHERE m.number = ANY (numbers) AND m.worker = of_worker AND m.state < 2;
    RETURN 'started';
END
$$;

-- The same as [start_1] under the worker's lease.
CREATE FUNCTION begin_1(of_worker text, of_epoch bigint, of_owner bytea, numbers bigint[], of_tape text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT holds_1(of_worker, of_epoch, of_owner) THEN
        RETURN 'elsewhere';
    END IF;
    RETURN start_1(of_worker, numbers, of_tape);
END
$$;

-- Accepts messages with the cursor up to which their channel was read. The arrays have an element for each message. With
-- `of_tape`, there is one message, of that session, and its turn begins if no other one is before it.
--
-- `verdict` is `new`, `started`, `pending`, `done` with the outcome, or `conflict`: another message had the id. One row
-- `fenced`: the worker's lease or that of the channel is another owner's, and nothing was written.
CREATE FUNCTION accept_1(
    of_worker text, of_epoch bigint, of_owner bytea,
    keys bytea[], envelopes bytea[], checksums bytea[], identities bytea[], actives boolean[],
    of_tape text, of_session bytea,
    of_channel bytea, new_cursor bytea, of_lease text, lease_epoch bigint, lease_owner bytea
) RETURNS TABLE (verdict text, found_number bigint, found_place bigint, found_outcome bytea) LANGUAGE plpgsql AS $$
DECLARE
    known record;
BEGIN
    IF NOT holds_1(of_worker, of_epoch, of_owner)
        OR (of_lease IS NOT NULL AND NOT holds_1(of_lease, lease_epoch, lease_owner)) THEN
        verdict := 'fenced';
        RETURN NEXT;
        RETURN;
    END IF;
    FOR nth IN 1 .. cardinality(envelopes) LOOP
        INSERT INTO message AS m (key, envelope, checksum, identity, active, origin, worker)
            VALUES (keys[nth], envelopes[nth], checksums[nth], identities[nth], actives[nth], of_worker, of_worker)
            ON CONFLICT (key) DO NOTHING RETURNING m.number INTO found_number;
        found_place := NULL;
        found_outcome := NULL;
        IF found_number IS NOT NULL THEN
            verdict := 'new';
            IF of_tape IS NOT NULL THEN
                found_place := queue_1(ARRAY[found_number], of_tape, of_session);
                IF start_1(of_worker, ARRAY[found_number], of_tape) = 'started' THEN
                    verdict := 'started';
                END IF;
            END IF;
        ELSE
            SELECT m.number, m.checksum, m.state, m.outcome INTO known FROM message m WHERE m.key = keys[nth];
            found_number := known.number;
            IF known.checksum <> checksums[nth] THEN
                verdict := 'conflict';
            ELSIF known.state = 2 THEN
                verdict := 'done';
                found_outcome := known.outcome;
            ELSE
                verdict := 'pending';
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF of_channel IS NOT NULL THEN
        INSERT INTO cursor AS c (channel, cursor) VALUES (of_channel, new_cursor)
            ON CONFLICT (channel) DO UPDATE SET cursor = excluded.cursor;
    END IF;
END
$$;

-- Ends the turn of these messages, as far as they are still the worker's, and stores the answers to deliver. Tells the
-- worker of the next message of the session, and the workers that have accepted these, if those are others.
--
-- `done`; `fenced`: the worker's lease is another owner's; `elsewhere`: all messages were taken over. Then nothing was
-- written.
CREATE FUNCTION finish_1(
    of_worker text, of_epoch bigint, of_owner bytea, numbers bigint[], new_outcome bytea,
    keys text[], chats bytea[], envelopes bytea[], handles bytea[], queued_at bytea[]
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    ended record;
    tapes text[] := '{}';
    others text[] := '{}';
    next_worker text;
BEGIN
    IF NOT holds_1(of_worker, of_epoch, of_owner) THEN
        RETURN 'fenced';
    END IF;
    FOR ended IN
        UPDATE message m SET state = 2, envelope = '', outcome = new_outcome
            WHERE m.number = ANY (numbers) AND m.worker = of_worker AND m.state < 2 RETURNING m.tape, m.origin
    LOOP
        tapes := tapes || ended.tape;
        IF ended.origin <> of_worker AND NOT ended.origin = ANY (others) THEN
            others := others || ended.origin;
        END IF;
    END LOOP;
    IF cardinality(numbers) > 0 AND cardinality(tapes) = 0 THEN
        -- Unless the answer to the first call did not arrive.
        PERFORM FROM message m WHERE m.number = ANY (numbers) AND m.worker = of_worker AND m.state = 2;
        RETURN CASE WHEN FOUND THEN 'done' ELSE 'elsewhere' END;
    END IF;
    INSERT INTO outbound (key, chat, envelope, handle, queued, worker)
        SELECT o.key, o.chat, o.envelope, o.handle, o.queued, of_worker
        FROM unnest(keys, chats, envelopes, handles, queued_at) AS o (key, chat, envelope, handle, queued)
        ON CONFLICT (key) DO NOTHING;
    IF tapes[1] IS NOT NULL THEN
        SELECT m.worker INTO next_worker FROM message m WHERE m.tape = tapes[1] AND m.state < 2 ORDER BY m.place LIMIT 1;
        IF next_worker <> of_worker AND NOT next_worker = ANY (others) THEN
            others := others || next_worker;
        END IF;
    END IF;
    -- A notification takes a lock that all transactions of the server share: only where another worker waits.
    FOR nth IN 1 .. cardinality(others) LOOP
        PERFORM pg_notify('bub_worker', others[nth]);
    END LOOP;
    RETURN 'done';
END
$$;

-- Takes over the messages and the answers of one worker whose lease has ended, and returns that worker's name; null: there
-- is none. Messages without an id have nothing that waits for them, and end.
CREATE FUNCTION adopt_1(of_worker text, of_epoch bigint, of_owner bytea) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    dead text;
BEGIN
    IF NOT holds_1(of_worker, of_epoch, of_owner) THEN
        RETURN NULL;
    END IF;
    SELECT l.name INTO dead FROM lease l
        WHERE l.name IN (
            SELECT DISTINCT m.worker FROM message m WHERE m.state < 2
            UNION SELECT DISTINCT o.worker FROM outbound o WHERE o.state < 2)
        AND (l.until IS NULL OR l.until <= clock_timestamp()) LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF dead IS NULL THEN
        RETURN NULL;
    END IF;
    -- Should it go on, it can write nothing in that name.
    UPDATE lease l SET epoch = l.epoch + 1, until = NULL WHERE l.name = dead;
    UPDATE message m SET state = 2, envelope = '' WHERE m.worker = dead AND m.state < 2 AND m.key IS NULL;
    UPDATE message m SET worker = of_worker, adopted = true WHERE m.worker = dead AND m.state < 2;
    UPDATE outbound o SET worker = of_worker, adopted = true WHERE o.worker = dead AND o.state < 2;
    RETURN dead;
END
$$;

-- Asks the worker of the turn that runs in a session to stop it; false: none runs.
CREATE FUNCTION stop_1(of_tape text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    runner text;
BEGIN
    UPDATE message m SET stops = true WHERE m.tape = of_tape AND m.state = 1 AND m.leader = m.number AND NOT m.stops
        RETURNING m.worker INTO runner;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM pg_notify('bub_worker', runner);
    RETURN true;
END
$$;

-- Offers a message that waits to the turn that runs in its session, as steering.
CREATE FUNCTION offer_1(of_worker text, of_number bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    runner text;
BEGIN
    UPDATE message m SET steers = true WHERE m.number = of_number AND m.worker = of_worker AND m.state = 0;
    SELECT r.worker INTO runner FROM message m JOIN message r ON r.tape = m.tape AND r.state = 1
        WHERE m.number = of_number LIMIT 1;
    IF runner <> of_worker THEN
        PERFORM pg_notify('bub_worker', runner);
    END IF;
END
$$;

-- Takes the messages that are offered to the turns of these sessions, which run at this worker, from other workers.
CREATE FUNCTION take_offers_1(of_worker text, of_epoch bigint, of_owner bytea, tapes text[])
RETURNS TABLE (found_tape text, found_number bigint, found_place bigint, found_envelope bytea, found_identity bytea)
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT holds_1(of_worker, of_epoch, of_owner) THEN
        RETURN;
    END IF;
    RETURN QUERY UPDATE message m SET worker = of_worker, adopted = true, state = 1, leader = m.number
        WHERE m.tape = ANY (tapes) AND m.state = 0 AND m.steers AND m.worker <> of_worker
        RETURNING m.tape, m.number, m.place, m.envelope, m.identity;
END
$$;

-- Begins the delivery of an answer.
--
-- `started`; `later`: an earlier answer to the chat is not delivered; `elsewhere`: another worker has taken it over.
CREATE FUNCTION send_1(of_worker text, of_epoch bigint, of_owner bytea, of_key text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    found_row record;
BEGIN
    IF NOT holds_1(of_worker, of_epoch, of_owner) THEN
        RETURN 'elsewhere';
    END IF;
    SELECT o.number, o.chat INTO found_row FROM outbound o
        WHERE o.key = of_key AND o.worker = of_worker AND o.state < 2 FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 'elsewhere';
    END IF;
    PERFORM FROM outbound o WHERE o.chat = found_row.chat AND o.state < 2 AND o.number < found_row.number LIMIT 1;
    IF FOUND THEN
        RETURN 'later';
    END IF;
    UPDATE outbound o SET state = 1 WHERE o.key = of_key;
    RETURN 'started';
END
$$;

-- Counts a session that a caller starts, unless it is known; false: the caller's quota is used up.
CREATE FUNCTION start_session_1(of_tape text, of_session bytea, of_caller text, quota bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM session s WHERE s.tape = of_tape;
    IF FOUND THEN
        RETURN true;
    END IF;
    INSERT INTO caller (name) VALUES (of_caller) ON CONFLICT DO NOTHING;
    PERFORM FROM caller c WHERE c.name = of_caller AND (quota IS NULL OR c.sessions < quota) FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO session (tape, id, caller) VALUES (of_tape, of_session, of_caller) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        UPDATE caller c SET sessions = c.sessions + 1 WHERE c.name = of_caller;
    END IF;
    RETURN true;
END
$$;

-- Counts bytes that a caller adds on a day; false: the quota of that day would be exceeded. Null: there is no quota.
CREATE FUNCTION charge_1(of_caller text, of_day bigint, of_bytes bigint, quota bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    used bigint;
BEGIN
    INSERT INTO caller (name) VALUES (of_caller) ON CONFLICT DO NOTHING;
    SELECT CASE WHEN c.day = of_day THEN c.bytes ELSE 0 END INTO used FROM caller c WHERE c.name = of_caller FOR UPDATE;
    IF quota IS NOT NULL AND used + of_bytes > quota THEN
        RETURN false;
    END IF;
    UPDATE caller c SET day = of_day, bytes = used + of_bytes WHERE c.name = of_caller;
    RETURN true;
END
$$;

-- Events of all workers, for `/v1/events`: the newest, in an order in which none appears before an earlier one.
CREATE TABLE event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bytea NOT NULL,
    name text NOT NULL,
    data bytea NOT NULL
);

-- Adds events, and removes all but the newest `kept`. One transaction at a time: a reader that has seen an event has seen
-- all before it.
CREATE FUNCTION log_events_1(sessions bytea[], names text[], contents bytea[], kept bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('bub_event'), 0);
    INSERT INTO event (session, name, data)
        SELECT e.session, e.name, e.data FROM unnest(sessions, names, contents) AS e (session, name, data);
    DELETE FROM event WHERE id <= (SELECT max(id) FROM event) - kept;
END
$$;
