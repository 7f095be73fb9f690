-- One row: the version of the schema, and the oldest version of the program that can use it.
CREATE TABLE bub_schema (
    version integer NOT NULL,
    oldest integer NOT NULL,
    single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO bub_schema (version, oldest) VALUES (1, 1);

-- A tape and its sidecars. A writer of one locks this row first. `key` is the key of the last commit that had one.
CREATE TABLE family (
    name text COLLATE "C" PRIMARY KEY,
    key bytea
) WITH (fillfactor = 70);

-- Tapes, sidecars and archives. `indexed` is the id up to which entries have rows in `gram`; `erasures` counts.
CREATE TABLE tape (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    archive boolean NOT NULL,
    listed boolean NOT NULL,
    indexed bigint NOT NULL DEFAULT 0,
    erasures bigint NOT NULL DEFAULT 0
);
CREATE INDEX tape_listed ON tape (name) WHERE listed;

-- Texts are bytes: they may contain U+0000, which `text` cannot, and stay the same in a database of any encoding.
-- `name` and `phase` are derived from the others. Only the beginning of a kind or a name is in an index, whose rows have a
-- limited size.
CREATE TABLE entry (
    tape bigint NOT NULL,
    id bigint NOT NULL,
    kind bytea NOT NULL,
    payload bytea NOT NULL,
    meta bytea NOT NULL,
    date bytea NOT NULL,
    name bytea,
    phase boolean NOT NULL,
    PRIMARY KEY (tape, id)
);
CREATE INDEX entry_kind ON entry (tape, substr(kind, 1, 64), id);
CREATE INDEX entry_name ON entry (tape, substr(kind, 1, 64), substr(name, 1, 64), id) WHERE name IS NOT NULL;
CREATE INDEX entry_phase ON entry (tape, id) WHERE phase;

-- The grams of an entry, and the negative number of its tape; null: the entry is a candidate for every search.
CREATE TABLE gram (
    tape bigint NOT NULL,
    id bigint NOT NULL,
    grams integer[],
    PRIMARY KEY (tape, id)
);
CREATE INDEX gram_grams ON gram USING gin (grams);
CREATE INDEX gram_all ON gram (tape, id) WHERE grams IS NULL;

-- Leases: each is the right to write in the name of something, such as a session, a schedule or a channel's cursor. A
-- row is never deleted, since its epoch must grow. `until` is by the database's clock; null: released.
CREATE TABLE lease (
    name text COLLATE "C" PRIMARY KEY,
    epoch bigint NOT NULL,
    owner bytea NOT NULL,
    until timestamptz,
    -- Makes a claim, which changes the epoch, wait for writes that have locked the row by FOR KEY SHARE. A renewal does not.
    UNIQUE (name, epoch)
) WITH (fillfactor = 50);

-- Appends to a tape and its sidecars in one round trip, by the rules of commits. The arrays from `names` on have an element
-- for each batch, those from `places` on one for each entry: `places` is the number of its batch, from 1, and `nths` its
-- number in the batch, from 0. With `of_lease` the lease's row is locked first, so that nobody can claim it before the write
-- is done.
--
-- `outcome` is `stored` with the first id of each batch, `already`, `conflict` with the last id, `archive` with the number
-- of the batch, `full` with the last id, or `fenced`: the lease is another owner's.
CREATE FUNCTION append_1(
    of_lease text, of_epoch bigint, of_owner bytea,
    of_family text, with_key bytea,
    names text[], expected bigint[], counts bigint[], listings boolean[],
    places integer[], nths bigint[], kinds bytea[], payloads bytea[], metas bytea[], dates bytea[],
    entry_names bytea[], phases boolean[],
    OUT outcome text, OUT ids bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
    last_key bytea;
    numbers bigint[] := '{}';
    found_number bigint;
    is_archive boolean;
    last_id bigint;
BEGIN
    ids := '{}';
    IF of_lease IS NOT NULL THEN
        PERFORM FROM lease l WHERE l.name = of_lease AND l.epoch = of_epoch AND l.owner = of_owner AND l.until IS NOT NULL
            FOR KEY SHARE;
        IF NOT FOUND THEN
            outcome := 'fenced';
            RETURN;
        END IF;
    END IF;
    SELECT f.key INTO last_key FROM family f WHERE f.name = of_family FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO family (name) VALUES (of_family) ON CONFLICT DO NOTHING;
        SELECT f.key INTO last_key FROM family f WHERE f.name = of_family FOR UPDATE;
    END IF;
    IF last_key = with_key THEN
        outcome := 'already';
        RETURN;
    END IF;
    FOR batch IN 1 .. cardinality(names) LOOP
        SELECT t.number, t.archive INTO found_number, is_archive FROM tape t WHERE t.name = names[batch];
        IF is_archive THEN
            outcome := 'archive';
            ids := ARRAY[batch];
            RETURN;
        END IF;
        SELECT e.id INTO last_id FROM entry e WHERE e.tape = found_number ORDER BY e.id DESC LIMIT 1;
        last_id := coalesce(last_id, 0);
        IF expected[batch] <> last_id THEN
            outcome := 'conflict';
            ids := ARRAY[last_id];
            RETURN;
        END IF;
        IF last_id >= 9223372036854775806 - counts[batch] THEN
            outcome := 'full';
            ids := ARRAY[last_id];
            RETURN;
        END IF;
        numbers := numbers || found_number;
        ids := ids || last_id + 1;
    END LOOP;
    FOR batch IN 1 .. cardinality(names) LOOP
        IF numbers[batch] IS NULL AND counts[batch] > 0 THEN
            INSERT INTO tape (name, archive, listed) VALUES (names[batch], false, listings[batch])
                RETURNING number INTO found_number;
            numbers[batch] := found_number;
        END IF;
    END LOOP;
    INSERT INTO entry (tape, id, kind, payload, meta, date, name, phase)
        SELECT numbers[d.place], ids[d.place] + d.nth, d.kind, d.payload, d.meta, d.date, d.name, d.phase
        FROM unnest(places, nths, kinds, payloads, metas, dates, entry_names, phases)
            AS d (place, nth, kind, payload, meta, date, name, phase);
    IF with_key IS NOT NULL THEN
        UPDATE family SET key = with_key WHERE name = of_family;
    END IF;
    outcome := 'stored';
END
$$;
