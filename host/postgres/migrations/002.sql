-- The process that holds a lease, for messages to waiting processes.
ALTER TABLE lease ADD COLUMN holder bytea;

-- Records of turns that have not ended, in parts of one flush each. The name is that of the lease, and `epoch` that of the
-- claim under which they were written: what an interrupted turn left has a lower one than the lease.
CREATE TABLE journal (
    lease text COLLATE "C" NOT NULL,
    epoch bigint NOT NULL,
    part bigint NOT NULL,
    records bytea NOT NULL,
    PRIMARY KEY (lease, epoch, part)
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.1);

-- The rows that a turn probably reads of its tape and of the sidecars, in one answer. A row has a `what`:
--
-- - `tape`: a tape follows. `id` is its last id, and `place` the id from which on the entries of the window are all that
--   there are; 0: of the whole tape.
-- - `entry`: an entry of the window, in order.
-- - `older`: the newest entry before the window for which `kinds` and `names` ask at `place`, from 1. Without a name every
--   entry of the kind is meant, without a kind every anchor that begins a phase. `id` is null if there is none; without a
--   row it is too large.
-- - `first`: the first entry of the tape, if it is not in the window.
-- - `more`: there are further sidecars, which are not in the answer.
--
-- The window of the tape begins with the newest phase, that of a sidecar is its end; both have limits.
CREATE FUNCTION snapshot_1(
    of_tape text, kinds bytea[], names bytea[], max_entries integer, max_bytes bigint, max_sidecars integer
) RETURNS TABLE (
    what text, tape text, place bigint, id bigint, kind bytea, payload bytea, meta bytea, date bytea
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    known record;
    seen integer := 0;
    first_id bigint;
    last_id bigint;
    entries integer := max_entries;
    bytes bigint := max_bytes;
    window_from bigint;
BEGIN
    FOR known IN
        (SELECT t.name, t.number FROM tape t WHERE t.name = of_tape AND NOT t.archive)
        UNION ALL
        (SELECT t.name, t.number FROM tape t
            WHERE t.name >= of_tape || '__sidecar__' AND t.name < of_tape || '__sidecar__' || chr(127) AND NOT t.archive
            ORDER BY t.name LIMIT max_sidecars + 1)
    LOOP
        first_id := 0;
        IF known.name = of_tape THEN
            SELECT e.id INTO first_id FROM entry e WHERE e.tape = known.number AND e.phase ORDER BY e.id DESC LIMIT 1;
        ELSE
            seen := seen + 1;
            IF seen > max_sidecars THEN
                RETURN QUERY SELECT 'more'::text, known.name::text, 0::bigint, 0::bigint,
                    NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea;
                RETURN;
            END IF;
            entries := max_entries / 8;
            bytes := max_bytes / 16;
        END IF;
        SELECT e.id INTO last_id FROM entry e WHERE e.tape = known.number ORDER BY e.id DESC LIMIT 1;
        last_id := coalesce(last_id, 0);
        SELECT min(w.id) INTO window_from FROM (
            SELECT n.id, sum(n.bytes) OVER (ORDER BY n.id DESC) AS total FROM (
                SELECT e.id, octet_length(e.payload) + octet_length(e.meta) AS bytes FROM entry e
                WHERE e.tape = known.number AND e.id >= coalesce(first_id, 0) ORDER BY e.id DESC LIMIT entries
            ) n
        ) w WHERE w.total <= bytes;
        window_from := coalesce(window_from, last_id + 1);
        SELECT e.id INTO first_id FROM entry e WHERE e.tape = known.number ORDER BY e.id LIMIT 1;
        RETURN QUERY SELECT 'tape'::text, known.name::text,
            CASE WHEN coalesce(first_id, 0) >= window_from OR first_id IS NULL THEN 0 ELSE window_from END, last_id,
            NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea;
        RETURN QUERY SELECT 'entry'::text, NULL::text, 0::bigint, e.id, e.kind, e.payload, e.meta, e.date
            FROM entry e WHERE e.tape = known.number AND e.id >= window_from AND e.id <= last_id ORDER BY e.id;
        CONTINUE WHEN known.name <> of_tape OR first_id IS NULL OR first_id >= window_from;
        RETURN QUERY SELECT 'first'::text, NULL::text, 0::bigint, e.id, e.kind, e.payload, e.meta, e.date
            FROM entry e WHERE e.tape = known.number AND e.id = first_id AND octet_length(e.payload) <= max_bytes;
        FOR nth IN 1 .. coalesce(cardinality(kinds), 0) LOOP
            IF kinds[nth] IS NULL THEN
                RETURN QUERY SELECT 'older'::text, NULL::text, nth::bigint, o.id, o.kind, o.payload, o.meta, o.date
                    FROM (SELECT) one LEFT JOIN LATERAL (
                        SELECT e.* FROM entry e WHERE e.tape = known.number AND e.id < window_from AND e.phase
                        ORDER BY e.id DESC LIMIT 1
                    ) o ON true WHERE o.id IS NULL OR octet_length(o.payload) <= max_bytes;
            ELSIF names[nth] IS NULL THEN
                RETURN QUERY SELECT 'older'::text, NULL::text, nth::bigint, o.id, o.kind, o.payload, o.meta, o.date
                    FROM (SELECT) one LEFT JOIN LATERAL (
                        SELECT e.* FROM entry e WHERE e.tape = known.number AND e.id < window_from
                            AND substr(e.kind, 1, 64) = substr(kinds[nth], 1, 64) AND e.kind = kinds[nth]
                        ORDER BY e.id DESC LIMIT 1
                    ) o ON true WHERE o.id IS NULL OR octet_length(o.payload) <= max_bytes;
            ELSE
                RETURN QUERY SELECT 'older'::text, NULL::text, nth::bigint, o.id, o.kind, o.payload, o.meta, o.date
                    FROM (SELECT) one LEFT JOIN LATERAL (
                        SELECT e.* FROM entry e WHERE e.tape = known.number AND e.id < window_from
                            AND e.name IS NOT NULL
                            AND substr(e.kind, 1, 64) = substr(kinds[nth], 1, 64) AND e.kind = kinds[nth]
                            AND substr(e.name, 1, 64) = substr(names[nth], 1, 64) AND e.name = names[nth]
                        ORDER BY e.id DESC LIMIT 1
                    ) o ON true WHERE o.id IS NULL OR octet_length(o.payload) <= max_bytes;
            END IF;
        END LOOP;
    END LOOP;
END
$$;

-- Claims a lease for a turn, and answers what the turn needs to begin. First a row whose `what` is `claimed`, with the epoch
-- as `id`, or `held`, with the milliseconds until the lease expires as `id` and the holder as `payload`. After `claimed` follow the parts of the journal that an interrupted turn left, as
-- `left` rows with their `payload`; without any, the rows of `snapshot_1`.
CREATE FUNCTION claim_turn_1(
    of_lease text, new_owner bytea, new_holder bytea, milliseconds double precision,
    of_tape text, kinds bytea[], names bytea[], max_entries integer, max_bytes bigint, max_sidecars integer
) RETURNS TABLE (
    what text, tape text, place bigint, id bigint, kind bytea, payload bytea, meta bytea, date bytea
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    new_epoch bigint;
BEGIN
    INSERT INTO lease AS l (name, epoch, owner, until, holder)
        VALUES (of_lease, 1, new_owner, clock_timestamp() + milliseconds * interval '1 millisecond', new_holder)
        ON CONFLICT (name) DO UPDATE SET
            epoch = l.epoch + 1, owner = excluded.owner, holder = excluded.holder,
            until = clock_timestamp() + milliseconds * interval '1 millisecond'
        WHERE l.until IS NULL OR l.until <= clock_timestamp()
        RETURNING l.epoch INTO new_epoch;
    IF new_epoch IS NULL THEN
        RETURN QUERY SELECT 'held'::text, NULL::text, 0::bigint,
            ceil(extract(epoch FROM l.until - clock_timestamp()) * 1000)::bigint, NULL::bytea, l.holder, NULL::bytea,
            NULL::bytea FROM lease l WHERE l.name = of_lease;
        RETURN;
    END IF;
    RETURN QUERY SELECT 'claimed'::text, NULL::text, 0::bigint, new_epoch,
        NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea;
    RETURN QUERY SELECT 'left'::text, NULL::text, 0::bigint, 0::bigint, NULL::bytea, j.records, NULL::bytea, NULL::bytea
        FROM journal j WHERE j.lease = of_lease ORDER BY j.epoch, j.part;
    IF NOT FOUND THEN
        RETURN QUERY SELECT * FROM snapshot_1(of_tape, kinds, names, max_entries, max_bytes, max_sidecars);
    END IF;
END
$$;

-- Adds a part of a journal, once. False: the lease is another owner's, or was released.
CREATE FUNCTION append_journal_1(of_lease text, of_epoch bigint, of_owner bytea, new_part bigint, new_records bytea)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease l WHERE l.name = of_lease AND l.epoch = of_epoch AND l.owner = of_owner AND l.until IS NOT NULL
        FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO journal (lease, epoch, part, records) VALUES (of_lease, of_epoch, new_part, new_records)
        ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;

-- Removes the journal that an interrupted turn left.
CREATE FUNCTION empty_journal_1(of_lease text, of_epoch bigint, of_owner bytea)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease l WHERE l.name = of_lease AND l.epoch = of_epoch AND l.owner = of_owner AND l.until IS NOT NULL
        FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM journal j WHERE j.lease = of_lease AND j.epoch < of_epoch;
    RETURN true;
END
$$;

-- Releases a lease; with `is_done` the turn's entries are on the tape, and its journal is removed. The lock waits for parts
-- of the journal that are being written, and refuses those that come later.
CREATE FUNCTION end_turn_1(of_lease text, of_epoch bigint, of_owner bytea, is_done boolean)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM lease l WHERE l.name = of_lease AND l.epoch = of_epoch AND l.owner = of_owner AND l.until IS NOT NULL
        FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF is_done THEN
        DELETE FROM journal j WHERE j.lease = of_lease;
    END IF;
    UPDATE lease SET until = NULL, holder = NULL WHERE name = of_lease;
    RETURN true;
END
$$;
