-- The state that several workers of one home share: usage and budgets, breakers, plugins, and the workers themselves.

-- The day of a worker whose local time is that many seconds ahead of UTC, by the database's clock.
CREATE FUNCTION day_1(ahead integer) RETURNS date LANGUAGE sql AS $$
    SELECT ((clock_timestamp() AT TIME ZONE 'UTC') + ahead * interval '1 second')::date
$$;

-- A model call. Names are bytes, as in `entry`.
CREATE TABLE usage_call (
    id bytea PRIMARY KEY,
    day date NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    model bytea NOT NULL,
    session bytea NOT NULL,
    workspace bytea NOT NULL,
    plugin bytea NOT NULL,
    purpose bytea NOT NULL,
    caller bytea NOT NULL,
    prompt bigint NOT NULL,
    cached bigint NOT NULL,
    completion bigint NOT NULL,
    total bigint NOT NULL,
    weighed bigint NOT NULL,
    estimated boolean NOT NULL
);
CREATE INDEX usage_call_day ON usage_call (day);
CREATE INDEX usage_call_weighed ON usage_call (at) WHERE weighed > 0 AND NOT estimated;

-- Tokens that were used in a day: `all`, `plugin:NAME` and `caller:ACCOUNT`. Reserving and settling lock these
-- rows first, in that order.
CREATE TABLE budget (
    day date NOT NULL,
    scope bytea NOT NULL,
    used bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (day, scope)
) WITH (fillfactor = 50);

-- Tokens that a call under way may use, until it is settled or `until` passes.
CREATE TABLE reservation (
    id bytea NOT NULL,
    scope bytea NOT NULL,
    day date NOT NULL,
    worker bytea NOT NULL,
    tokens bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (id, scope)
);
CREATE INDEX reservation_scope ON reservation (scope);
CREATE INDEX reservation_worker ON reservation (worker);

-- Reserves tokens in all scopes, or in none. `refused` is the number of the scope, from 1, in which they do not fit, with
-- what is used and reserved there; 0: they are reserved.
CREATE FUNCTION reserve_1(
    of_id bytea, of_worker bytea, ahead integer, of_tokens bigint, seconds double precision, scopes bytea[], caps bigint[],
    OUT refused integer, OUT used bigint, OUT reserved bigint
) LANGUAGE plpgsql AS $$
DECLARE
    today date := day_1(ahead);
BEGIN
    refused := 0;
    FOR place IN 1 .. cardinality(scopes) LOOP
        SELECT b.used INTO used FROM budget b WHERE b.day = today AND b.scope = scopes[place] FOR UPDATE;
        IF NOT FOUND THEN
            INSERT INTO budget (day, scope) VALUES (today, scopes[place]) ON CONFLICT DO NOTHING;
            SELECT b.used INTO used FROM budget b WHERE b.day = today AND b.scope = scopes[place] FOR UPDATE;
        END IF;
        DELETE FROM reservation r WHERE r.scope = scopes[place] AND r.until <= clock_timestamp();
        SELECT coalesce(sum(r.tokens), 0)::bigint INTO reserved FROM reservation r
            WHERE r.scope = scopes[place] AND r.day = today AND r.id <> of_id;
        IF used + reserved + of_tokens > caps[place] THEN
            refused := place;
            RETURN;
        END IF;
    END LOOP;
    INSERT INTO reservation (id, scope, day, worker, tokens, until)
        SELECT of_id, s.scope, today, of_worker, of_tokens, clock_timestamp() + seconds * interval '1 second'
        FROM unnest(scopes) AS s (scope)
        ON CONFLICT DO NOTHING;
END
$$;

-- Adds a call once, to the day that it was on `age` seconds ago, and ends its reservation.
CREATE FUNCTION settle_1(
    of_id bytea, ahead integer, age double precision,
    of_model bytea, of_session bytea, of_workspace bytea, of_plugin bytea, of_purpose bytea, of_caller bytea,
    of_prompt bigint, of_cached bigint, of_completion bigint, of_total bigint, of_weighed bigint, is_estimated boolean,
    scopes bytea[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    of_day date := day_1(ahead - age::integer);
BEGIN
    INSERT INTO usage_call (id, day, at, model, session, workspace, plugin, purpose, caller,
            prompt, cached, completion, total, weighed, estimated)
        VALUES (of_id, of_day, clock_timestamp() - age * interval '1 second',
            of_model, of_session, of_workspace, of_plugin, of_purpose, of_caller,
            of_prompt, of_cached, of_completion, of_total, of_weighed, is_estimated)
        ON CONFLICT DO NOTHING;
    IF FOUND THEN
        FOR place IN 1 .. cardinality(scopes) LOOP
            INSERT INTO budget (day, scope, used) VALUES (of_day, scopes[place], of_total)
                ON CONFLICT (day, scope) DO UPDATE SET used = budget.used + excluded.used;
        END LOOP;
    END IF;
    DELETE FROM reservation r WHERE r.id = of_id;
END
$$;

-- The faults of one hook of a plugin's bytes, as JSON. `version` is never used twice.
CREATE SEQUENCE breaker_version;
CREATE TABLE breaker (
    digest text COLLATE "C" NOT NULL,
    hook text COLLATE "C" NOT NULL,
    version bigint NOT NULL DEFAULT nextval('breaker_version'),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    state bytea NOT NULL,
    PRIMARY KEY (digest, hook)
);

-- Plugins that all workers have: `kind` is `plugin` with the plugin's name, or `trusted` with a digest. `digest` is that of
-- the file, null without one; `settings` are the keys of its table in config.toml, null without one. `base` is the stamp that its writer knew. A row stays when its
-- plugin is removed, so that workers learn of that.
CREATE SEQUENCE plugin_version;
CREATE TABLE plugin (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    stamp text NOT NULL DEFAULT gen_random_uuid()::text,
    digest text COLLATE "C",
    settings bytea,
    host bytea NOT NULL,
    base text,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (kind, name)
);

-- Writes a row, and returns it with what it replaced: the last write wins.
CREATE FUNCTION put_plugin_1(
    of_kind text, of_name text, of_digest text, of_settings bytea, of_host bytea, of_base text,
    OUT new_version bigint, OUT new_stamp text, OUT old_stamp text, OUT old_version bigint, OUT old_host bytea
) LANGUAGE plpgsql AS $$
BEGIN
    -- One writer after the other, also where there is no row that could be locked.
    PERFORM pg_advisory_xact_lock(1651862135, hashtext(of_kind || ':' || of_name));
    SELECT p.stamp, p.version, p.host INTO old_stamp, old_version, old_host FROM plugin p
        WHERE p.kind = of_kind AND p.name = of_name;
    INSERT INTO plugin AS p (kind, name, version, digest, settings, host, base)
        VALUES (of_kind, of_name, nextval('plugin_version'), of_digest, of_settings, of_host, of_base)
        ON CONFLICT (kind, name) DO UPDATE SET version = excluded.version, stamp = excluded.stamp,
            digest = excluded.digest, settings = excluded.settings, host = excluded.host, base = excluded.base, at = excluded.at
        RETURNING p.version, p.stamp INTO new_version, new_stamp;
END
$$;

-- Component files by their SHA-256.
CREATE TABLE plugin_file (
    digest text COLLATE "C" PRIMARY KEY,
    -- When it was stored, or found stored. Only files that were not for an hour are removed: their row may be still to come.
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes bytea NOT NULL
);
ALTER TABLE plugin_file ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- The processes that serve. `plugins` is a JSON object with the digest of each plugin.
CREATE TABLE worker (
    id bytea PRIMARY KEY,
    host bytea NOT NULL,
    program text NOT NULL,
    started timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen timestamptz NOT NULL DEFAULT clock_timestamp(),
    plugins bytea NOT NULL
) WITH (fillfactor = 50);
