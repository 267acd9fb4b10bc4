-- The delivery engine: one log for each feed, and for each webhook how far it is in that log
-- (docs/decisions/0028). No row exists for what only waits.
--
-- A feed is a branch in one environment. The feeds are in parts: a part has one sequencer at a time, and
-- every table of the engine has it first in its keys, so that a part could live on a server of its own. A
-- statement names one part. Nothing here reads configuration: what the engine needs of a webhook stands in
-- its cursor, written there by the act that changes it.
--
-- A transaction locks first the part (the sequencer FOR NO KEY UPDATE; one that needs the head to stand still
-- FOR SHARE), then cursors in the order of their webhooks, then the rest. A function locks first and looks in
-- its next statement, which has a fresh snapshot: after a wait only the locked row itself would be read anew.

-- Locked, never changed: so it leaves no versions behind.
CREATE TABLE parts (part smallint PRIMARY KEY);
INSERT INTO parts SELECT generate_series(0, current_setting('countersign.parts')::integer - 1);

-- How many there are was chosen with the first migration (PARTS), and stays.
DO $$ BEGIN
  EXECUTE format('CREATE FUNCTION part_count() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN %s',
    (SELECT count(*) FROM parts));
END $$;
CREATE FUNCTION part_of(branch_id integer) RETURNS smallint
  LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (branch_id % part_count())::smallint;
CREATE FUNCTION feed_of(branch_id integer, environment text) RETURNS integer
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN 2 * branch_id + CASE environment WHEN 'sandbox' THEN 1 ELSE 0 END;

-- What was published and has no number yet (a transactional outbox). Publishers alone write its rows, and the
-- sequencer alone takes them. Ids are given one by one: of two events of which the second was published after
-- the first had committed, the second has the higher id. A transaction that takes one holds a lock, shared,
-- from before that to its end: so it is known which may still publish (advisoryLocks.publishers).
CREATE SEQUENCE event_ids CACHE 1;
CREATE FUNCTION next_event_id() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock_shared(7267109);
  RETURN nextval('event_ids');
END $$;
CREATE TABLE outbox (
  part        smallint NOT NULL,
  id          bigint NOT NULL DEFAULT next_event_id(),
  feed        integer NOT NULL,
  simulated   boolean NOT NULL DEFAULT false,
  -- A test event may be for one webhook alone.
  webhook_id  bigint,
  created_at  timestamptz NOT NULL,
  uid         uuid NOT NULL DEFAULT event_uid(),
  kind        text NOT NULL CHECK (kind IN ('TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION')),
  action      text NOT NULL,
  entity      text NOT NULL,
  -- The span under which it was published, as W3C prints it; null where there was none.
  traceparent text,
  body        text NOT NULL,
  PRIMARY KEY (part, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Where parts lie on other servers (0014-distribution.sql), what a webhook or its partner became is carried
-- there in one order with the events: what is published after an act is judged by it. Kinds are null where the
-- webhook is gone, and the webhook is null where all of a feed are meant.
CREATE TABLE outbox_acts (
  part       smallint NOT NULL,
  id         bigint NOT NULL DEFAULT next_event_id(),
  webhook_id bigint,
  feed       integer NOT NULL,
  is_active  boolean,
  may_act    boolean,
  kinds      text[],
  actions    jsonb,
  address    bigint,
  PRIMARY KEY (part, id)
);

-- Numbered rows of the outbox stay in its index as long as any older snapshot is open, and a look that began
-- at the first id would pass all of them. So looks read above a floor: up to it everything is numbered, or
-- was undone. It rises to the last id that had been given at some moment, when the transactions that were
-- publishing then (awaited) have ended and a look has read all that there was, with no act to wait for.
CREATE TABLE outbox_floors (
  part       smallint PRIMARY KEY,
  floor      bigint NOT NULL DEFAULT 0,
  next_floor bigint NOT NULL DEFAULT 0,
  awaited    text[] NOT NULL DEFAULT '{}',
  raised_at  timestamptz NOT NULL DEFAULT '-infinity',
  -- Each time leaves a dead version of this row.
  every      interval NOT NULL DEFAULT '10 s'
) WITH (fillfactor = 10);
INSERT INTO outbox_floors (part) SELECT part FROM parts;

-- The transactions that have taken an id and have not ended. One that is prepared (two-phase commit) has
-- another name from then on, and stands for any.
CREATE FUNCTION publishing_now() RETURNS text[] LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(array_agg(
    CASE WHEN virtualtransaction LIKE '-1/%' THEN 'prepared' ELSE virtualtransaction END), '{}')
  FROM pg_locks
  WHERE locktype = 'advisory' AND mode = 'ShareLock' AND (classid, objid, objsubid) = (0, 7267109, 1)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
$$;

-- What happened, numbered without a gap for each feed. The head of a feed is its highest number: no row
-- changes with each event.
CREATE TABLE log (
  part        smallint NOT NULL,
  feed        integer NOT NULL,
  seq         bigint NOT NULL,
  day         integer NOT NULL,
  simulated   boolean NOT NULL,
  webhook_id  bigint,
  created_at  timestamptz NOT NULL,
  uid         uuid NOT NULL,
  kind        text NOT NULL,
  action      text NOT NULL,
  entity      text NOT NULL,
  traceparent text,
  body        text NOT NULL,
  PRIMARY KEY (part, feed, seq, day)
) PARTITION BY RANGE (day);
CREATE INDEX log_by_entity ON log (part, feed, entity, seq, day);
CREATE INDEX log_by_kind ON log (part, feed, kind, seq, day);
CREATE INDEX log_by_uid ON log (part, uid, day);

-- On which day a feed had which numbers: one row for each day on which something happened. Day 0 stands for
-- all that have left: a feed that was quiet for longer than anything is kept goes on where it was.
CREATE TABLE feed_days (
  part  smallint NOT NULL,
  feed  integer NOT NULL,
  first bigint NOT NULL,
  day   integer NOT NULL,
  PRIMARY KEY (part, feed, day)
);
CREATE INDEX feed_days_by_day ON feed_days (part, day);

-- How far a webhook is. Everything up to `position` is finished, or its entity is an exception.
CREATE TABLE cursors (
  part          smallint NOT NULL,
  webhook_id    bigint NOT NULL,
  feed          integer NOT NULL,
  position      bigint NOT NULL,
  -- Raised by the worker that takes the lane and by every act from outside. A statement that names an older
  -- one changes nothing.
  epoch         bigint NOT NULL DEFAULT 0,
  -- The number of the worker that holds the lane.
  holder        integer,
  -- Asleep until then. Only `rest` sets it; the sequencer and every act set it to -infinity.
  wake_at       timestamptz NOT NULL DEFAULT '-infinity',
  rested_at     timestamptz NOT NULL DEFAULT '-infinity',
  -- Its webhook is active, and its partner may act: only then something is sent.
  is_active     boolean NOT NULL,
  may_act       boolean NOT NULL DEFAULT true,
  is_open       boolean GENERATED ALWAYS AS (is_active AND may_act) STORED,
  -- What it wants of what is numbered now: the newest row of `filters`.
  kinds         text[] NOT NULL,
  actions       jsonb NOT NULL,
  -- The receiver wants to be left alone until then, or the breaker probes then.
  hold_until    timestamptz NOT NULL DEFAULT '-infinity',
  -- When that was said: by a clock that has been set back since, it does not count.
  held_at       timestamptz NOT NULL DEFAULT '-infinity',
  -- A hash of its URL: where it leads. A new address begins a new term, and so do a resumption and the
  -- approval of its partner.
  address       bigint NOT NULL,
  term          integer NOT NULL DEFAULT 0,
  term_began    text NOT NULL DEFAULT 'created'
    CHECK (term_began IN ('created', 'resumed', 'approved', 'readdressed')),
  -- The term of the last attempt; null: none was made. Attempts in a row that were not accepted, and since
  -- when: of one term. Only `settle` writes these three, so that no act makes a webhook look well.
  tried_in      integer CHECK (tried_in <= term),
  failures      integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  -- How often something was asked for again: each time is a round of its own.
  rounds        integer NOT NULL DEFAULT 0,
  PRIMARY KEY (part, webhook_id),
  CHECK ((failures = 0) = (failing_since IS NULL)),
  CHECK (failures = 0 OR tried_in IS NOT NULL)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX cursors_of_feed ON cursors (part, feed, webhook_id);
CREATE INDEX cursors_to_take ON cursors (part, wake_at) WHERE holder IS NULL AND is_open;
-- Lanes that fell asleep by a clock that has been set back since.
CREATE INDEX cursors_by_rest ON cursors (part, rested_at) WHERE holder IS NULL AND is_open
  AND wake_at > '-infinity';
CREATE INDEX cursors_held ON cursors (part, holder) WHERE holder IS NOT NULL;
CREATE INDEX cursors_failing ON cursors (part, failing_since)
  WHERE failing_since IS NOT NULL AND tried_in = term;

-- What a webhook wanted, from which number on. The row that stood when an event was numbered decides. Below
-- the first row nothing is the webhook's.
CREATE TABLE filters (
  part       smallint NOT NULL,
  webhook_id bigint NOT NULL,
  from_seq   bigint NOT NULL,
  kinds      text[] NOT NULL,
  actions    jsonb NOT NULL,
  PRIMARY KEY (part, webhook_id, from_seq)
);

-- Everything up to `upto` that has no final outcome was skipped, or has expired.
CREATE TABLE passes (
  part       smallint NOT NULL,
  webhook_id bigint NOT NULL,
  upto       bigint NOT NULL,
  state      text NOT NULL CHECK (state IN ('canceled', 'expired')),
  reason     text,
  passed_by  text,
  passed_at  timestamptz NOT NULL,
  -- How many it was; null where they were too many to be counted.
  deliveries integer,
  PRIMARY KEY (part, webhook_id, upto)
);

-- What became of an attempt, and of the delivery with it, in the day of its log entry. Round 0 is what
-- happened; others were asked for again. One that was skipped has a row with attempt 0.
CREATE TABLE outcomes (
  part        smallint NOT NULL,
  webhook_id  bigint NOT NULL,
  seq         bigint NOT NULL,
  round       integer NOT NULL,
  attempt     smallint NOT NULL,
  day         integer NOT NULL,
  at          timestamptz NOT NULL,
  duration_ms integer NOT NULL,
  status      smallint,
  state       text NOT NULL CHECK (state IN ('retrying', 'delivered', 'exhausted', 'canceled')),
  outcome     text CHECK (outcome IN ('accepted', 'refused', 'unreachable')),
  why         text,
  reason      text,
  canceled_by text,
  -- Which of the webhook's answers it was: null where nothing was said.
  said        bigint,
  PRIMARY KEY (part, webhook_id, seq, round, attempt, day),
  CHECK ((state = 'canceled') = (outcome IS NULL)),
  CHECK ((outcome = 'unreachable') = (why IS NOT NULL))
) PARTITION BY RANGE (day);
-- What was given up is what people look for.
CREATE INDEX outcomes_given_up ON outcomes (part, webhook_id, seq, day)
  WHERE state IN ('exhausted', 'canceled');

-- What a receiver said, once a day whatever it says often: under a hash of it, and by the day on which it was
-- written, because it leaves earlier than what became of an attempt.
CREATE TABLE answers (
  part       smallint NOT NULL,
  webhook_id bigint NOT NULL,
  said       bigint NOT NULL,
  day        integer NOT NULL,
  response   text,
  detail     text,
  PRIMARY KEY (part, webhook_id, said, day)
) PARTITION BY RANGE (day);

-- An entity of which something failed: its first unfinished entry. What waits behind it has no row.
CREATE TABLE exceptions (
  part       smallint NOT NULL,
  webhook_id bigint NOT NULL,
  entity     text NOT NULL,
  seq        bigint NOT NULL,
  day        integer NOT NULL,
  attempts   smallint NOT NULL,
  due_at     timestamptz NOT NULL,
  written_at timestamptz NOT NULL,
  PRIMARY KEY (part, webhook_id, entity)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- What a person asked to have again. It holds up nothing that happens.
CREATE TABLE agains (
  part       smallint NOT NULL,
  webhook_id bigint NOT NULL,
  seq        bigint NOT NULL,
  round      integer NOT NULL,
  day        integer NOT NULL,
  entity     text NOT NULL,
  attempts   smallint NOT NULL DEFAULT 0,
  due_at     timestamptz NOT NULL,
  written_at timestamptz NOT NULL,
  PRIMARY KEY (part, webhook_id, seq, round)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- How far a replay is. It ends at the position that the webhook had when it was asked for.
CREATE TABLE replay_cursors (
  part        smallint NOT NULL,
  webhook_id  bigint NOT NULL,
  round       integer NOT NULL,
  position    bigint NOT NULL,
  last        bigint NOT NULL,
  -- What it chooses; null: everything.
  entity      text,
  from_at     timestamptz,
  to_at       timestamptz,
  -- Only what was given up, since this moment.
  failed      boolean NOT NULL DEFAULT false,
  since       timestamptz,
  sent        integer NOT NULL DEFAULT 0,
  -- How many it chooses; null where they were too many to be counted.
  total       integer,
  -- How many that waited for their next attempt it made due when it began.
  pulled      integer NOT NULL DEFAULT 0,
  -- The first number that was unfinished when it began: what was delivered since is counted from there.
  oldest      bigint,
  state       text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'finished', 'canceled')),
  created_at  timestamptz NOT NULL,
  finished_at timestamptz,
  PRIMARY KEY (part, webhook_id, round),
  CHECK ((state = 'running') = (finished_at IS NULL))
);

-- ---- the log ----

-- Numbers of a feed are compared and ordered as pairs with it, which only the primary key has: in a day of
-- which the statistics know nothing, any index of the feed would seem as good, and such a day would be read
-- whole.

-- The number of the newest entry of a feed. For a transaction that has the part locked: then it stands still.
CREATE FUNCTION feed_head(p smallint, f integer) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  newest record;
BEGIN
  SELECT d.day, d.first INTO newest FROM feed_days d WHERE d.part = p AND d.feed = f ORDER BY d.day DESC
    LIMIT 1;
  RETURN coalesce(
    (SELECT l.seq FROM log l WHERE l.part = p AND (l.feed, l.seq) >= (f, 0) AND (l.feed, l.seq) < (f + 1, 0)
      AND l.day = newest.day ORDER BY l.feed DESC, l.seq DESC LIMIT 1),
    newest.first - 1, 0);
END $$;

-- The same of several feeds, in their order, with the newest day of each: one statement, however many there
-- are.
CREATE FUNCTION feed_heads(p smallint, feeds integer[]) RETURNS TABLE (place bigint, head bigint, day integer)
  LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT f.place, coalesce(
      (SELECT l.seq FROM log l WHERE l.part = p AND (l.feed, l.seq) >= (f.feed, 0)
        AND (l.feed, l.seq) < (f.feed + 1, 0) AND l.day = newest.day ORDER BY l.feed DESC, l.seq DESC LIMIT 1),
      newest.first - 1, 0), newest.day
  FROM unnest(feeds) WITH ORDINALITY AS f (feed, place) LEFT JOIN LATERAL (
    SELECT d.day, d.first FROM feed_days d WHERE d.part = p AND d.feed = f.feed ORDER BY d.day DESC LIMIT 1)
    newest ON true;
END $$;

-- Days of a part never go back, whatever a clock does; nor is there one that was not opened.
CREATE FUNCTION day_to_write(p smallint, today integer) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE
  opened integer := coalesce((SELECT max(d.day) FROM days d WHERE d.day <= today),
    (SELECT min(d.day) FROM days d));
BEGIN
  RETURN greatest((SELECT max(d.day) FROM feed_days d WHERE d.part = p), opened);
END $$;

CREATE FUNCTION wants_event(kinds text[], actions jsonb, kind text, action text) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN kind = ANY (kinds) AND coalesce(actions -> kind ? action, true);

-- What comes next out of the outbox, in the order of publishing. For a transaction that has it to itself.
CREATE FUNCTION next_of_outbox(of_part smallint, now timestamptz, most integer) RETURNS bigint[]
  LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
  below outbox_floors;
  may_rise boolean;
BEGIN
  SELECT * INTO below FROM outbox_floors f WHERE f.part = of_part;
  -- Asked before anything is read: what ended by then is seen. By a clock that was set back it is time, too.
  may_rise := now NOT BETWEEN below.raised_at - below.every AND below.raised_at + below.every
    AND NOT publishing_now() && (below.awaited || ARRAY['prepared']);
  -- Ids alone, which the index has in their order: with anything else an outbox that statistics believe empty
  -- would be read whole and sorted.
  ids := ARRAY(SELECT o.id FROM outbox o WHERE o.part = of_part AND o.id > below.floor ORDER BY o.id
    LIMIT most);
  IF may_rise AND cardinality(ids) < most AND NOT EXISTS (SELECT FROM outbox_acts a WHERE a.part = of_part)
  THEN
    below.floor := below.next_floor;
    below.next_floor := (SELECT last_value FROM event_ids);
    UPDATE outbox_floors SET floor = below.floor, next_floor = below.next_floor, awaited = publishing_now(),
      raised_at = now WHERE part = of_part;
  END IF;
  RETURN ids;
END $$;

-- The sequencer: gives what became visible the next numbers of its feed, in the order of publishing, and
-- wakes the lanes that want it. Its cost does not depend on how many webhooks there are that are awake.
CREATE FUNCTION look(of_part smallint, now timestamptz, most integer) RETURNS TABLE (
  feed integer, seq bigint, day integer, simulated boolean, webhook_id bigint, created_at timestamptz,
    uid uuid, kind text, action text, entity text,
  traceparent text, body text, woken integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  ids bigint[];
  feeds integer[];
  heads bigint[];
  today integer;
  awake integer;
BEGIN
  PERFORM FROM parts WHERE part = of_part FOR NO KEY UPDATE;
  ids := next_of_outbox(of_part, now, most);
  IF cardinality(ids) = 0 THEN RETURN; END IF;
  feeds := ARRAY(SELECT DISTINCT o.feed FROM outbox o WHERE o.part = of_part AND o.id = ANY (ids));
  today := day_to_write(of_part, day_of(now));
  heads := ARRAY(SELECT feed_head(of_part, f) FROM unnest(feeds) AS f);
  INSERT INTO feed_days (part, feed, first, day)
  SELECT of_part, h.feed, h.head + 1, today FROM unnest(feeds, heads) AS h (feed, head)
  WHERE NOT EXISTS (SELECT FROM feed_days d WHERE d.part = of_part AND d.feed = h.feed AND d.day = today);
  UPDATE cursors SET wake_at = '-infinity' WHERE part = of_part AND webhook_id = ANY (ARRAY(
    SELECT c.webhook_id FROM cursors c WHERE c.part = of_part AND c.feed = ANY (feeds)
      AND c.wake_at > '-infinity' AND EXISTS (
      SELECT FROM outbox o WHERE o.part = of_part AND o.id = ANY (ids) AND o.feed = c.feed AND
        CASE WHEN o.webhook_id IS NULL
        THEN o.simulated OR wants_event(c.kinds, c.actions, o.kind, o.action)
          ELSE o.webhook_id = c.webhook_id END)
    ORDER BY c.webhook_id FOR NO KEY UPDATE));
  GET DIAGNOSTICS awake = ROW_COUNT;
  RETURN QUERY INSERT INTO log AS l (part, feed, seq, day, simulated, webhook_id, created_at, uid, kind,
    action, entity, traceparent, body)
  SELECT o.part, o.feed, heads[array_position(feeds, o.feed)] + row_number() OVER (PARTITION BY o.feed
    ORDER BY o.id), today, o.simulated, o.webhook_id, o.created_at,
    o.uid, o.kind, o.action, o.entity, o.traceparent, o.body
  FROM outbox o WHERE o.part = of_part AND o.id = ANY (ids) ORDER BY o.id
  RETURNING l.feed, l.seq, l.day, l.simulated, l.webhook_id, l.created_at, l.uid, l.kind, l.action, l.entity,
    l.traceparent, l.body, awake;
  DELETE FROM outbox o WHERE o.part = of_part AND o.id = ANY (ids);
END $$;

-- For a part that lies on another server than the publishers. Appends to the log of its feeds what was
-- published, in this order, and wakes the lanes that want it. Answers how many lanes were woken, the day, and
-- the number of each: null for one that was there already. The name of an event begins with its moment, and a
-- part's days never go back.
CREATE FUNCTION append(p smallint, now timestamptz, feeds integer[], simulations boolean[], webhooks bigint[],
  moments timestamptz[], uids uuid[], event_kinds text[], event_actions text[], entities text[],
  traceparents text[], bodies text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  known uuid[];
  distinct_feeds integer[];
  heads bigint[];
  days integer[];
  numbers bigint[];
  today integer;
  awake integer;
BEGIN
  PERFORM FROM parts WHERE part = p FOR NO KEY UPDATE;
  today := day_of((SELECT min(m) FROM unnest(moments) AS m) - interval '1 day');
  known := ARRAY(SELECT l.uid FROM log l WHERE l.part = p AND l.uid = ANY (uids) AND l.day >= today);
  distinct_feeds := ARRAY(SELECT DISTINCT f FROM unnest(feeds) AS f);
  today := day_to_write(p, day_of(now));
  SELECT array_agg(h.head ORDER BY h.place), array_agg(h.day ORDER BY h.place) INTO heads, days
    FROM feed_heads(p, distinct_feeds) h;
  numbers := ARRAY(SELECT CASE WHEN o.is_new THEN heads[array_position(distinct_feeds, o.feed)]
      + row_number() OVER (PARTITION BY o.feed, o.is_new ORDER BY o.place) END
    FROM (SELECT e.feed, e.place, e.uid <> ALL (known) AS is_new FROM unnest(feeds, uids) WITH ORDINALITY
      AS e (feed, uid, place)) o ORDER BY o.place);
  IF EXISTS (SELECT FROM unnest(days) AS d WHERE d IS DISTINCT FROM today) THEN
    INSERT INTO feed_days (part, feed, first, day)
    SELECT p, h.feed, h.head + 1, today FROM unnest(distinct_feeds, heads, days) AS h (feed, head, day)
    WHERE h.day IS DISTINCT FROM today;
  END IF;
  UPDATE cursors SET wake_at = '-infinity' WHERE part = p AND webhook_id = ANY (ARRAY(
    SELECT c.webhook_id FROM cursors c WHERE c.part = p AND c.feed = ANY (distinct_feeds)
      AND c.wake_at > '-infinity' AND EXISTS (
      SELECT FROM unnest(feeds, simulations, webhooks, event_kinds, event_actions)
        AS o (feed, simulated, webhook_id, kind, action)
      WHERE o.feed = c.feed AND CASE WHEN o.webhook_id IS NULL
        THEN o.simulated OR wants_event(c.kinds, c.actions, o.kind, o.action)
          ELSE o.webhook_id = c.webhook_id END)
    ORDER BY c.webhook_id FOR NO KEY UPDATE));
  GET DIAGNOSTICS awake = ROW_COUNT;
  INSERT INTO log (part, feed, seq, day, simulated, webhook_id, created_at, uid, kind, action, entity,
    traceparent, body)
  SELECT p, o.feed, o.seq, today, o.simulated, o.webhook_id, o.created_at, o.uid, o.kind, o.action, o.entity,
    o.traceparent, o.body
  FROM unnest(feeds, numbers, simulations, webhooks, moments, uids, event_kinds, event_actions, entities,
    traceparents, bodies) AS o (feed, seq, simulated, webhook_id, created_at, uid, kind, action, entity,
      traceparent, body) WHERE o.seq IS NOT NULL;
  RETURN ARRAY[awake, today]::bigint[] || numbers;
END $$;

-- What is to be appended there next, for a transaction that has the part's outbox locked, and deletes it when
-- that is done. An act stops what was published after it. It is asked for last: what was published after an
-- act is seen no earlier than the act.
CREATE FUNCTION take_outbox(of_part smallint, now timestamptz, most integer) RETURNS SETOF outbox
  LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[] := next_of_outbox(of_part, now, most);
  act bigint := (SELECT min(a.id) FROM outbox_acts a WHERE a.part = of_part);
BEGIN
  RETURN QUERY SELECT * FROM outbox o WHERE o.part = of_part AND o.id = ANY (ids)
    AND (act IS NULL OR o.id < act) ORDER BY o.id;
END $$;

-- Events come into the outbox. Up to `most` are numbered in the same transaction, unless another transaction
-- has the part locked; then that sequencer, or the next, finds them.
CREATE FUNCTION publish(of_part smallint, now timestamptz, most integer,
  feeds integer[], uids uuid[], kinds text[], actions text[], entities text[], bodies text[],
    simulations boolean[], webhooks bigint[], traceparents text[]) RETURNS TABLE (
  feed integer, seq bigint, day integer, simulated boolean, webhook_id bigint, created_at timestamptz,
    uid uuid, kind text, action text, entity text,
  traceparent text, body text, woken integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO outbox (part, feed, uid, kind, action, entity, body, simulated, webhook_id, created_at,
    traceparent)
  SELECT of_part, e.feed, e.uid, e.kind, e.action, e.entity, e.body, e.simulated, e.webhook_id, now,
    e.traceparent
  FROM unnest(feeds, uids, kinds, actions, entities, bodies, simulations, webhooks, traceparents)
    WITH ORDINALITY AS e (feed, uid, kind, action, entity, body, simulated, webhook_id, traceparent, place)
      ORDER BY e.place;
  IF most = 0 OR is_distributed() THEN RETURN; END IF;
  PERFORM FROM parts WHERE part = of_part FOR NO KEY UPDATE SKIP LOCKED;
  IF FOUND THEN RETURN QUERY SELECT * FROM look(of_part, now, most); END IF;
END $$;

-- Entries of a feed after a number, at most so many and so many bytes of them, but one where there is one.
CREATE FUNCTION read_log(p smallint, f integer, after bigint, most integer, bytes bigint) RETURNS SETOF log
  LANGUAGE plpgsql STABLE AS $$
DECLARE
  of_day integer;
  found integer;
BEGIN
  FOR of_day IN
    SELECT d.day FROM feed_days d WHERE d.part = p AND d.feed = f AND d.day > 0 AND d.day >= coalesce(
      (SELECT max(e.day) FROM feed_days e WHERE e.part = p AND e.feed = f AND e.first <= after + 1), 0)
        ORDER BY d.day
  LOOP
    RETURN QUERY SELECT e.part, e.feed, e.seq, e.day, e.simulated, e.webhook_id, e.created_at, e.uid, e.kind,
      e.action, e.entity, e.traceparent, e.body FROM (
      SELECT l.*, sum(octet_length(l.body)) OVER (ORDER BY l.seq) - octet_length(l.body) AS before
      FROM (SELECT * FROM log WHERE part = p AND (feed, seq) > (f, after) AND (feed, seq) < (f + 1, 0)
        AND day = of_day ORDER BY feed, seq LIMIT most) l) e
    WHERE e.before < bytes;
    GET DIAGNOSTICS found = ROW_COUNT;
    EXIT WHEN found > 0;
  END LOOP;
END $$;

-- Single entries, which lie anywhere.
CREATE FUNCTION read_entries(p smallint, f integer, seqs bigint[], of_days integer[]) RETURNS SETOF log
  LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT l.* FROM unnest(seqs, of_days) AS wanted (seq, day) CROSS JOIN LATERAL (
    SELECT * FROM log WHERE part = p AND (feed, seq) >= (f, wanted.seq) AND (feed, seq) <= (f, wanted.seq)
      AND day = wanted.day ORDER BY feed, seq LIMIT 1) l;
END $$;

-- What a replay sends next: after a number and up to `upto`, which is as far as this look has come. Always
-- one row at least: the last has no entry.
CREATE FUNCTION read_replay(p smallint, w bigint, of_round integer, after bigint, most integer)
  RETURNS TABLE (upto bigint, entry log) LANGUAGE plpgsql STABLE AS $$
DECLARE
  r replay_cursors;
  f integer := (SELECT c.feed FROM cursors c WHERE c.part = p AND c.webhook_id = w);
  looked bigint;
BEGIN
  SELECT * INTO r FROM replay_cursors c WHERE c.part = p AND c.webhook_id = w AND c.round = of_round;
  looked := least(r.last, after + 5000);
  upto := looked;
  FOR entry IN
    SELECT l.* FROM log l
    CROSS JOIN LATERAL (SELECT q.kinds, q.actions FROM filters q WHERE q.part = p AND q.webhook_id = w
      AND q.from_seq <= l.seq ORDER BY q.from_seq DESC LIMIT 1) wanted
    WHERE l.part = p AND l.feed = f AND l.seq > after AND l.seq <= looked
      AND l.day >= coalesce((SELECT max(d.day) FROM feed_days d WHERE d.part = p AND d.feed = f
        AND d.first <= after + 1), 0)
      AND l.day <= coalesce((SELECT max(d.day) FROM feed_days d WHERE d.part = p AND d.feed = f
        AND d.first <= looked), 0)
      AND (r.entity IS NULL OR l.entity = r.entity) AND (r.from_at IS NULL OR l.created_at >= r.from_at)
        AND (r.to_at IS NULL OR l.created_at < r.to_at)
      AND CASE WHEN l.webhook_id IS NULL
        THEN l.simulated OR wants_event(wanted.kinds, wanted.actions, l.kind, l.action)
        ELSE l.webhook_id = w END
      -- What is unfinished is sent by itself.
      AND NOT EXISTS (SELECT FROM exceptions x WHERE x.part = p AND x.webhook_id = w AND x.entity = l.entity
        AND x.seq <= l.seq OFFSET 0)
      -- What was given up, and has not been accepted, skipped or asked for again since.
      AND (NOT r.failed OR EXISTS (SELECT FROM outcomes o WHERE o.part = p AND o.webhook_id = w
        AND o.seq = l.seq AND o.day = l.day AND o.state = 'exhausted'
            AND (r.since IS NULL OR o.at >= r.since) OFFSET 0)
          AND NOT EXISTS (SELECT FROM outcomes o WHERE o.part = p AND o.webhook_id = w AND o.seq = l.seq
            AND o.day = l.day AND o.state = 'delivered' OFFSET 0)
          AND NOT EXISTS (SELECT FROM agains g WHERE g.part = p AND g.webhook_id = w
            AND g.seq = l.seq OFFSET 0))
    ORDER BY l.seq LIMIT most
  LOOP
    upto := entry.seq;
    most := most - 1;
    RETURN NEXT;
  END LOOP;
  IF most = 0 THEN RETURN; END IF;
  upto := looked;
  entry := NULL;
  RETURN NEXT;
END $$;

-- Asked by every node twice a second: in which parts something was published that has no number, and in which
-- a lane is to be taken.
CREATE FUNCTION parts_to_look() RETURNS smallint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  found smallint[] := '{}';
  below outbox_floors;
BEGIN
  FOR below IN SELECT * FROM outbox_floors LOOP
    IF EXISTS (SELECT FROM outbox WHERE part = below.part AND id > below.floor)
      OR EXISTS (SELECT FROM outbox_acts WHERE part = below.part) THEN
      found := found || below.part;
    END IF;
  END LOOP;
  RETURN found;
END $$;
CREATE FUNCTION parts_to_take(now timestamptz) RETURNS smallint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
  found smallint[] := '{}';
  p smallint;
BEGIN
  FOR p IN SELECT part FROM parts LOOP
    IF EXISTS (SELECT FROM cursors WHERE part = p AND holder IS NULL AND is_open AND wake_at <= now)
      OR EXISTS (SELECT FROM cursors WHERE part = p AND holder IS NULL AND is_open AND wake_at > '-infinity'
        AND rested_at > now) THEN found := found || p; END IF;
  END LOOP;
  RETURN found;
END $$;

-- ---- lanes ----

-- Takes lanes that no worker holds and that are awake, or that fell asleep by a clock that has been set back
-- since. The worker reads them afterwards, by `load` statements.
CREATE FUNCTION take(p smallint, worker integer, now timestamptz, most integer, except_ids bigint[])
  RETURNS TABLE (webhook_id bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY UPDATE cursors SET holder = worker, epoch = epoch + 1, wake_at = '-infinity'
    WHERE part = p AND webhook_id = ANY (ARRAY(
    SELECT c.webhook_id FROM cursors c WHERE c.part = p AND c.holder IS NULL AND c.is_open
      AND c.webhook_id <> ALL (except_ids)
      AND (c.wake_at <= now OR (c.wake_at > '-infinity' AND c.rested_at > now))
    ORDER BY c.webhook_id LIMIT most FOR NO KEY UPDATE SKIP LOCKED))
  RETURNING webhook_id;
END $$;

-- The first entry of an entity between two numbers that a webhook wants and that has not ended.
CREATE FUNCTION next_unfinished(p smallint, w bigint, f integer, of_entity text, after bigint, upto bigint)
  RETURNS TABLE (seq bigint, day integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT l.seq, l.day FROM log l
  CROSS JOIN LATERAL (SELECT r.kinds, r.actions FROM filters r WHERE r.part = p AND r.webhook_id = w
    AND r.from_seq <= l.seq ORDER BY r.from_seq DESC LIMIT 1) wanted
  -- As pairs, and in the order of pairs, which only the index of entities has: an entity of which nothing is
  -- left would have the whole feed walked through.
  WHERE l.part = p AND l.feed = f AND (l.entity, l.seq) > (of_entity, after)
    AND (l.entity, l.seq) <= (of_entity, upto)
    AND l.day >= coalesce((SELECT max(d.day) FROM feed_days d WHERE d.part = p AND d.feed = f
      AND d.first <= after + 1), 0)
    AND CASE WHEN l.webhook_id IS NULL
      THEN l.simulated OR wants_event(wanted.kinds, wanted.actions, l.kind, l.action)
      ELSE l.webhook_id = w END
    AND l.seq > coalesce((SELECT max(s.upto) FROM passes s WHERE s.part = p AND s.webhook_id = w), 0)
    AND NOT EXISTS (SELECT FROM outcomes o WHERE o.part = p AND o.webhook_id = w AND o.seq = l.seq
      AND o.round = 0 AND o.day = l.day AND o.state <> 'retrying' OFFSET 0)
  ORDER BY l.entity, l.seq LIMIT 1;
END $$;

-- The first of an entity has ended: its exception goes on with the next that is unfinished, up to what its
-- holder has read, or is none any more.
CREATE FUNCTION advance_exception(p smallint, w bigint, f integer, of_entity text, after bigint, upto bigint,
  now timestamptz, OUT next bigint, OUT next_day integer)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT n.seq, n.day INTO next, next_day FROM next_unfinished(p, w, f, of_entity, after, upto) n;
  IF next IS NULL THEN
    DELETE FROM exceptions x WHERE x.part = p AND x.webhook_id = w AND x.entity = of_entity;
  ELSE
    -- A holder that was loaded while it settled tells the same twice: the first time there may have been no
    -- next.
    INSERT INTO exceptions AS x (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
      VALUES (p, w, of_entity, next, next_day, 0, now, now)
    ON CONFLICT (part, webhook_id, entity) DO UPDATE SET seq = excluded.seq, day = excluded.day, attempts = 0,
      due_at = excluded.due_at, written_at = excluded.written_at;
  END IF;
END $$;

-- Writes the outcomes of attempts, for lanes whose epoch is still the one that the worker names; for other
-- lanes nothing. Each array group has one entry for each of its things: lanes (l…), outcomes (o…), answers
-- (a…), failing or recovering entities (x…: `xdue` null means that its first has ended), what was asked for
-- again (g…, the same), replays (r…). Answers a row for each lane that was still the caller's, and one for
-- each exception that went on, with its new number or null.
CREATE FUNCTION settle(p smallint, now timestamptz, today integer,
  lw bigint[], lepoch bigint[], lposition bigint[], lread bigint[], lhold timestamptz[], lfailures integer[],
    lsince timestamptz[],
  ow bigint[], oseq bigint[], oround integer[], oattempt smallint[], oday integer[], oat timestamptz[],
    oms integer[], ostatus smallint[], ostate text[], ooutcome text[], owhy text[], osaid bigint[],
  aw bigint[], asaid bigint[], aresponse text[], adetail text[],
  xw bigint[], xentity text[], xseq bigint[], xday integer[], xattempts smallint[], xdue timestamptz[],
  gw bigint[], gseq bigint[], ground integer[], gday integer[], gentity text[], gattempts smallint[],
    gdue timestamptz[],
  rw bigint[], rround integer[], rposition bigint[], rsent integer[])
RETURNS TABLE (webhook_id bigint, entity text, next bigint, next_day integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  held bigint[];
  of_day integer;
  x record;
BEGIN
  held := ARRAY(SELECT c.webhook_id FROM cursors c WHERE c.part = p AND c.webhook_id = ANY (lw)
    AND c.epoch = lepoch[array_position(lw, c.webhook_id)]
    ORDER BY c.webhook_id FOR NO KEY UPDATE);
  IF cardinality(held) = 0 THEN RETURN; END IF;
  -- Day by day, so that the other days of the table are left alone. A day that has left keeps no outcomes.
  FOR of_day IN SELECT DISTINCT o.day FROM unnest(oday) AS o (day) WHERE o.day >= (SELECT min(d.day)
    FROM days d) LOOP
    INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, status, state, outcome,
      why, said)
    SELECT p, o.w, o.seq, o.round, o.attempt, o.day, o.at, o.ms, o.status, o.state, o.outcome, o.why, o.said
    FROM unnest(ow, oseq, oround, oattempt, oday, oat, oms, ostatus, ostate, ooutcome, owhy, osaid)
      AS o (w, seq, round, attempt, day, at, ms, status, state, outcome, why, said)
    -- Whoever writes outcomes of a webhook has its cursor locked: what is not there now is not there when it
    -- is written.
    WHERE o.w = ANY (held) AND o.day = of_day AND NOT EXISTS (SELECT FROM outcomes e
      WHERE e.part = p AND e.webhook_id = o.w AND e.seq = o.seq AND e.round = o.round
        AND e.attempt = o.attempt AND e.day = of_day OFFSET 0);
  END LOOP;
  IF cardinality(aw) > 0 THEN
    today := day_to_write(p, today);
    INSERT INTO answers (part, webhook_id, said, day, response, detail)
    SELECT p, a.w, a.said, today, a.response, a.detail
      FROM unnest(aw, asaid, aresponse, adetail) AS a (w, said, response, detail) WHERE a.w = ANY (held)
      ON CONFLICT DO NOTHING;
  END IF;
  IF cardinality(xw) > 0 THEN
    INSERT INTO exceptions AS e (part, webhook_id, entity, seq, day, attempts, due_at, written_at)
    SELECT p, f.w, f.entity, f.seq, f.day, f.attempts, f.due, now
    FROM unnest(xw, xentity, xseq, xday, xattempts, xdue) AS f (w, entity, seq, day, attempts, due)
      WHERE f.due IS NOT NULL AND f.w = ANY (held)
    ON CONFLICT (part, webhook_id, entity) DO UPDATE
      SET seq = excluded.seq, day = excluded.day, attempts = excluded.attempts, due_at = excluded.due_at,
      written_at = excluded.written_at;
    FOR x IN
      SELECT f.w, f.entity, f.seq, c.feed, lread[array_position(lw, f.w)] AS upto
        FROM unnest(xw, xentity, xseq, xdue) AS f (w, entity, seq, due)
      JOIN cursors c ON c.part = p AND c.webhook_id = f.w WHERE f.due IS NULL AND f.w = ANY (held)
    LOOP
      webhook_id := x.w;
      entity := x.entity;
      SELECT a.next, a.next_day INTO next, next_day
        FROM advance_exception(p, x.w, x.feed, x.entity, x.seq, x.upto, now) a;
      RETURN NEXT;
    END LOOP;
  END IF;
  IF cardinality(gw) > 0 THEN
    INSERT INTO agains AS g (part, webhook_id, seq, round, day, entity, attempts, due_at, written_at)
    SELECT p, a.w, a.seq, a.round, a.day, a.entity, a.attempts, a.due, now
    FROM unnest(gw, gseq, ground, gday, gentity, gattempts, gdue) AS a (w, seq, round, day, entity, attempts,
      due) WHERE a.due IS NOT NULL AND a.w = ANY (held)
    ON CONFLICT (part, webhook_id, seq, round) DO UPDATE
      SET attempts = excluded.attempts, due_at = excluded.due_at, written_at = excluded.written_at;
    FOR x IN SELECT a.w, a.seq, a.round FROM unnest(gw, gseq, ground, gdue) AS a (w, seq, round, due)
      WHERE a.due IS NULL AND a.w = ANY (held) LOOP
      DELETE FROM agains g WHERE g.part = p AND g.webhook_id = x.w AND g.seq = x.seq AND g.round = x.round;
    END LOOP;
  END IF;
  IF cardinality(rw) > 0 THEN
    UPDATE replay_cursors r SET position = greatest(r.position, t.position), sent = greatest(r.sent, t.sent),
      state = CASE WHEN r.state = 'running' AND t.position >= r.last THEN 'finished' ELSE r.state END,
      finished_at = CASE WHEN r.state = 'running' AND t.position >= r.last THEN now ELSE r.finished_at END
    FROM unnest(rw, rround, rposition, rsent) AS t (w, round, position, sent)
    WHERE r.part = p AND r.webhook_id = t.w AND r.round = t.round AND t.w = ANY (held);
  END IF;
  -- A healthy lane writes its position each second and nothing else: null leaves the row as it is.
  UPDATE cursors c SET position = greatest(c.position, l.position),
    hold_until = coalesce(l.hold, c.hold_until), held_at = CASE WHEN l.hold IS NULL
    THEN c.held_at ELSE now END, failures = coalesce(l.failures, c.failures),
    failing_since = CASE WHEN l.failures IS NULL THEN c.failing_since ELSE l.since END,
    -- Its holder has loaded the cursor since the last act, or its epoch would be an older one.
    tried_in = CASE WHEN l.failures IS NULL THEN c.tried_in ELSE c.term END
  FROM unnest(lw, lposition, lhold, lfailures, lsince) AS l (w, position, hold, failures, since)
  WHERE c.part = p AND c.webhook_id = l.w AND l.w = ANY (held)
    AND (l.position IS NOT NULL OR l.hold IS NOT NULL OR l.failures IS NOT NULL);
  RETURN QUERY SELECT h, NULL::text, NULL::bigint, NULL::integer FROM unnest(held) AS h;
END $$;

-- Lanes fall asleep: nothing above what their holder has read, and no act since. Answers which did.
CREATE FUNCTION rest(p smallint, now timestamptz, lw bigint[], lepoch bigint[], lread bigint[],
  lwake timestamptz[]) RETURNS TABLE (webhook_id bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  held bigint[];
  feeds integer[];
  heads bigint[];
BEGIN
  PERFORM FROM parts WHERE part = p FOR SHARE;
  held := ARRAY(SELECT c.webhook_id FROM cursors c WHERE c.part = p AND c.webhook_id = ANY (lw)
    AND c.epoch = lepoch[array_position(lw, c.webhook_id)] AND c.holder IS NOT NULL
    ORDER BY c.webhook_id FOR NO KEY UPDATE);
  feeds := ARRAY(SELECT DISTINCT c.feed FROM cursors c WHERE c.part = p AND c.webhook_id = ANY (held));
  heads := ARRAY(SELECT h.head FROM feed_heads(p, feeds) h ORDER BY h.place);
  RETURN QUERY UPDATE cursors c SET position = greatest(c.position, l.read), holder = NULL, wake_at = l.wake,
    rested_at = now
    FROM unnest(lw, lread, lwake) AS l (w, read, wake)
    WHERE c.part = p AND c.webhook_id = l.w AND l.w = ANY (held)
      AND l.read = heads[array_position(feeds, c.feed)]
    RETURNING c.webhook_id;
END $$;

-- Lanes that their holder gives back, awake.
CREATE FUNCTION give_back(p smallint, lw bigint[], lepoch bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  held bigint[];
BEGIN
  held := ARRAY(SELECT c.webhook_id FROM cursors c WHERE c.part = p AND c.webhook_id = ANY (lw)
    AND c.epoch = lepoch[array_position(lw, c.webhook_id)]
    ORDER BY c.webhook_id FOR NO KEY UPDATE);
  UPDATE cursors SET holder = NULL, wake_at = '-infinity' WHERE part = p AND webhook_id = ANY (held);
END $$;

-- A worker that has a new number takes along what it holds.
CREATE FUNCTION keep_lanes(p smallint, former integer, worker integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  held bigint[];
BEGIN
  held := ARRAY(SELECT c.webhook_id FROM cursors c WHERE c.part = p AND c.holder = former
    ORDER BY c.webhook_id FOR NO KEY UPDATE);
  UPDATE cursors SET holder = worker WHERE part = p AND webhook_id = ANY (held);
END $$;

-- Lanes of workers that are gone become free. The worker that takes one raises its epoch.
CREATE FUNCTION free_lanes(p smallint, workers integer[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  held bigint[];
BEGIN
  held := ARRAY(SELECT c.webhook_id FROM cursors c WHERE c.part = p AND c.holder = ANY (workers)
    ORDER BY c.webhook_id FOR NO KEY UPDATE);
  UPDATE cursors SET holder = NULL, wake_at = '-infinity' WHERE part = p AND webhook_id = ANY (held);
  RETURN cardinality(held);
END $$;

-- ---- acts from outside ----

-- Each act locks the cursor, raises its epoch and wakes it. The worker that holds it stays: its next
-- settlement is refused, it loads the lane anew, and keeps what it has in the air.

CREATE FUNCTION touch_cursor(p smallint, w bigint) RETURNS cursors LANGUAGE plpgsql AS $$
DECLARE
  c cursors;
BEGIN
  UPDATE cursors SET epoch = epoch + 1, wake_at = '-infinity' WHERE part = p AND webhook_id = w
    RETURNING * INTO c;
  RETURN c;
END $$;

-- Everything above a number and up to this one has ended, or its entity is an exception.
CREATE FUNCTION reach_from(p smallint, w bigint, f integer, after bigint) RETURNS bigint
  LANGUAGE plpgsql STABLE AS $$
DECLARE
  first bigint;
BEGIN
  SELECT l.seq INTO first FROM log l
  CROSS JOIN LATERAL (SELECT r.kinds, r.actions FROM filters r WHERE r.part = p AND r.webhook_id = w
    AND r.from_seq <= l.seq ORDER BY r.from_seq DESC LIMIT 1) wanted
  WHERE l.part = p AND l.feed = f AND l.seq > after
    AND l.day >= coalesce((SELECT max(d.day) FROM feed_days d WHERE d.part = p AND d.feed = f
      AND d.first <= after + 1), 0)
    AND CASE WHEN l.webhook_id IS NULL
      THEN l.simulated OR wants_event(wanted.kinds, wanted.actions, l.kind, l.action)
      ELSE l.webhook_id = w END
    AND NOT EXISTS (SELECT FROM outcomes o WHERE o.part = p AND o.webhook_id = w AND o.seq = l.seq
      AND o.round = 0 AND o.day = l.day AND o.state <> 'retrying' OFFSET 0)
    AND NOT EXISTS (SELECT FROM exceptions x WHERE x.part = p AND x.webhook_id = w
      AND x.entity = l.entity OFFSET 0)
  ORDER BY l.seq LIMIT 1;
  RETURN coalesce(first - 1, greatest(after, feed_head(p, f)));
END $$;

-- At the newest there is; or, where there was one before, where that was: a cursor follows from its filters,
-- and from what became of what they let through.
CREATE FUNCTION create_cursor(p smallint, w bigint, f integer, open boolean, wanted text[],
  wanted_actions jsonb, allowed boolean, leads_to bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  head bigint;
  since bigint;
  reached bigint;
BEGIN
  PERFORM FROM parts WHERE part = p FOR SHARE;
  head := feed_head(p, f);
  since := (SELECT greatest(min(r.from_seq) - 1, (SELECT max(s.upto) FROM passes s
    WHERE s.part = p AND s.webhook_id = w)) FROM filters r WHERE r.part = p AND r.webhook_id = w);
  INSERT INTO cursors (part, webhook_id, feed, position, is_active, kinds, actions, may_act, address)
    VALUES (p, w, f, head, open, wanted, wanted_actions, allowed, leads_to);
  IF since IS NOT NULL THEN
    reached := reach_from(p, w, f, since);
    UPDATE cursors SET position = reached, term_began = 'resumed', rounds = coalesce(greatest(
      (SELECT max(o.round) FROM outcomes o WHERE o.part = p AND o.webhook_id = w), (SELECT max(g.round)
        FROM agains g WHERE g.part = p AND g.webhook_id = w),
      (SELECT max(r.round) FROM replay_cursors r WHERE r.part = p AND r.webhook_id = w)), 0)
    WHERE part = p AND webhook_id = w;
  END IF;
  INSERT INTO filters AS r (part, webhook_id, from_seq, kinds, actions)
    VALUES (p, w, head + 1, wanted, wanted_actions)
  ON CONFLICT (part, webhook_id, from_seq) DO UPDATE SET kinds = excluded.kinds, actions = excluded.actions;
END $$;

-- What a webhook wants from the next number on.
CREATE FUNCTION filter_cursor(p smallint, w bigint, wanted text[], wanted_actions jsonb) RETURNS void
  LANGUAGE plpgsql AS $$
DECLARE
  c cursors;
BEGIN
  PERFORM FROM parts WHERE part = p FOR SHARE;
  c := touch_cursor(p, w);
  IF c.webhook_id IS NULL THEN RETURN; END IF;
  INSERT INTO filters AS r (part, webhook_id, from_seq, kinds, actions)
    VALUES (p, w, feed_head(p, c.feed) + 1, wanted, wanted_actions)
  ON CONFLICT (part, webhook_id, from_seq) DO UPDATE SET kinds = excluded.kinds, actions = excluded.actions;
  UPDATE cursors SET kinds = wanted, actions = wanted_actions WHERE part = p AND webhook_id = w;
END $$;

-- Pause, resume, disable. What is opened is tried at once, whatever its receiver asked for before; time in
-- which nothing could be sent is no time of failure: a term begins, and its holder counts anew.
CREATE FUNCTION open_cursors(p smallint, webhooks bigint[], open boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM cursors WHERE part = p AND webhook_id = ANY (webhooks) AND is_active <> open
    ORDER BY webhook_id FOR NO KEY UPDATE;
  UPDATE cursors SET is_active = open, epoch = epoch + 1, wake_at = '-infinity', hold_until = CASE WHEN open
    THEN '-infinity' ELSE hold_until END, term = CASE WHEN open THEN term + 1 ELSE term END,
    term_began = CASE WHEN open THEN 'resumed' ELSE term_began END
  WHERE part = p AND webhook_id = ANY (webhooks) AND is_active <> open;
END $$;

-- Suspend, reinstate: all of a branch in one environment.
CREATE FUNCTION allow_feed(p smallint, f integer, allowed boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM cursors WHERE part = p AND feed = f AND may_act <> allowed ORDER BY webhook_id
    FOR NO KEY UPDATE;
  UPDATE cursors SET may_act = allowed, epoch = epoch + 1, wake_at = '-infinity', hold_until =
    CASE WHEN allowed THEN '-infinity' ELSE hold_until END,
    term = CASE WHEN allowed THEN term + 1 ELSE term END,
    term_began = CASE WHEN allowed THEN 'approved' ELSE term_began END
  WHERE part = p AND feed = f AND may_act <> allowed;
END $$;

-- What an earlier address asked for does not count at the new one.
CREATE FUNCTION readdress_cursor(p smallint, w bigint, leads_to bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM touch_cursor(p, w);
  UPDATE cursors SET address = leads_to, hold_until = '-infinity', term = term + 1, term_began = 'readdressed'
    WHERE part = p AND webhook_id = w;
END $$;

CREATE FUNCTION delete_cursor(p smallint, w bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM cursors WHERE part = p AND webhook_id = w;
  DELETE FROM exceptions WHERE part = p AND webhook_id = w;
  DELETE FROM agains WHERE part = p AND webhook_id = w;
  DELETE FROM filters WHERE part = p AND webhook_id = w;
  DELETE FROM passes WHERE part = p AND webhook_id = w;
  DELETE FROM replay_cursors WHERE part = p AND webhook_id = w;
END $$;

-- Everything up to a number that is unfinished is passed: skipped to now, or expired. Entities that failed go
-- on with what came later.
CREATE FUNCTION pass_cursor(p smallint, w bigint, until bigint, as_state text, why text, by_whom text,
  now timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  c cursors;
  x record;
BEGIN
  c := touch_cursor(p, w);
  IF c.webhook_id IS NULL THEN RETURN; END IF;
  INSERT INTO passes (part, webhook_id, upto, state, reason, passed_by, passed_at)
    VALUES (p, w, until, as_state, why, by_whom, now) ON CONFLICT DO NOTHING;
  UPDATE cursors SET position = greatest(position, until) WHERE part = p AND webhook_id = w;
  FOR x IN SELECT e.entity FROM exceptions e WHERE e.part = p AND e.webhook_id = w AND e.seq <= until LOOP
    PERFORM advance_exception(p, w, c.feed, x.entity, until, feed_head(p, c.feed), now);
  END LOOP;
  INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, state, reason,
    canceled_by)
  SELECT p, w, g.seq, g.round, 0, g.day, now, 0, 'canceled', coalesce(why, as_state), by_whom FROM agains g
    WHERE g.part = p AND g.webhook_id = w AND g.seq <= until
  ON CONFLICT DO NOTHING;
  DELETE FROM agains WHERE part = p AND webhook_id = w AND seq <= until;
END $$;

-- Up to the newest there is.
CREATE FUNCTION skip_to_now(p smallint, w bigint, why text, by_whom text, now timestamptz) RETURNS bigint
  LANGUAGE plpgsql AS $$
DECLARE
  f integer;
  head bigint;
BEGIN
  PERFORM FROM parts WHERE part = p FOR SHARE;
  SELECT c.feed INTO f FROM cursors c WHERE c.part = p AND c.webhook_id = w;
  head := feed_head(p, f);
  PERFORM pass_cursor(p, w, head, 'canceled', why, by_whom, now);
  RETURN head;
END $$;

-- One that has not ended. Answers whether it was so.
CREATE FUNCTION skip_one(p smallint, w bigint, s bigint, of_day integer, of_entity text, why text,
  by_whom text, now timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  c cursors;
BEGIN
  c := touch_cursor(p, w);
  IF c.webhook_id IS NULL OR NOT EXISTS (SELECT FROM next_unfinished(p, w, c.feed, of_entity, s - 1, s))
    THEN RETURN false; END IF;
  INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, state, reason,
    canceled_by) VALUES (p, w, s, 0, 0, of_day, now, 0, 'canceled', why, by_whom);
  IF EXISTS (SELECT FROM exceptions x WHERE x.part = p AND x.webhook_id = w AND x.entity = of_entity
    AND x.seq = s OFFSET 0) THEN
    PERFORM advance_exception(p, w, c.feed, of_entity, s, feed_head(p, c.feed), now);
  END IF;
  RETURN true;
END $$;

-- One that was asked for again and has not ended. Answers whether it was so.
CREATE FUNCTION skip_again(p smallint, w bigint, s bigint, of_day integer, of_round integer, why text,
  by_whom text, now timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM touch_cursor(p, w);
  DELETE FROM agains WHERE part = p AND webhook_id = w AND seq = s AND round = of_round;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO outcomes (part, webhook_id, seq, round, attempt, day, at, duration_ms, state, reason,
    canceled_by)
  VALUES (p, w, s, of_round, 0, of_day, now, 0, 'canceled', why, by_whom) ON CONFLICT DO NOTHING;
  RETURN true;
END $$;

-- One that has ended is sent once more. Answers its round.
CREATE FUNCTION send_again(p smallint, w bigint, s bigint, of_day integer, of_entity text, now timestamptz)
  RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  c cursors;
BEGIN
  c := touch_cursor(p, w);
  IF c.webhook_id IS NULL THEN RETURN NULL; END IF;
  UPDATE cursors SET rounds = rounds + 1 WHERE part = p AND webhook_id = w;
  INSERT INTO agains (part, webhook_id, seq, round, day, entity, due_at, written_at)
    VALUES (p, w, s, c.rounds + 1, of_day, of_entity, now, now);
  RETURN c.rounds + 1;
END $$;

-- What waits for its next attempt is due now: of one entity, or all.
CREATE FUNCTION hurry_cursor(p smallint, w bigint, of_entity text, now timestamptz) RETURNS integer
  LANGUAGE plpgsql AS $$
DECLARE
  hurried integer;
  again integer;
BEGIN
  PERFORM touch_cursor(p, w);
  UPDATE cursors SET hold_until = '-infinity' WHERE part = p AND webhook_id = w;
  UPDATE exceptions SET due_at = now, written_at = now WHERE part = p AND webhook_id = w
    AND (of_entity IS NULL OR entity = of_entity) AND due_at > now;
  GET DIAGNOSTICS hurried = ROW_COUNT;
  IF of_entity IS NOT NULL THEN RETURN hurried; END IF;
  UPDATE agains SET due_at = now, written_at = now WHERE part = p AND webhook_id = w AND due_at > now;
  GET DIAGNOSTICS again = ROW_COUNT;
  RETURN hurried + again;
END $$;

-- How far a webhook is, whatever has been written of it: a worker writes positions every ten seconds.
CREATE FUNCTION reach_of(p smallint, w bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
  c cursors;
BEGIN
  SELECT * INTO c FROM cursors WHERE part = p AND webhook_id = w;
  RETURN CASE WHEN c.webhook_id IS NOT NULL THEN reach_from(p, w, c.feed, c.position) END;
END $$;

-- Everything from a number on that has ended, in the order of each entity, up to where the webhook is.
-- Answers its round.
CREATE FUNCTION start_replay(p smallint, w bigint, from_seq bigint, of_entity text, from_moment timestamptz,
  to_moment timestamptz, only_failed boolean, since_moment timestamptz, now timestamptz)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  c cursors;
BEGIN
  c := touch_cursor(p, w);
  IF c.webhook_id IS NULL THEN RETURN NULL; END IF;
  c.position := reach_of(p, w);
  UPDATE cursors SET rounds = rounds + 1 WHERE part = p AND webhook_id = w;
  INSERT INTO replay_cursors (part, webhook_id, round, position, last, entity, from_at, to_at, failed, since,
    state, created_at, finished_at)
  VALUES (p, w, c.rounds + 1, from_seq - 1, c.position, of_entity, from_moment, to_moment, only_failed,
    since_moment,
    CASE WHEN from_seq > c.position THEN 'finished' ELSE 'running' END, now, CASE WHEN from_seq > c.position
      THEN now END);
  RETURN c.rounds + 1;
END $$;

CREATE FUNCTION cancel_replay(p smallint, w bigint, of_round integer, now timestamptz) RETURNS boolean
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM touch_cursor(p, w);
  UPDATE replay_cursors SET state = 'canceled', finished_at = now WHERE part = p AND webhook_id = w
    AND round = of_round AND state = 'running';
  RETURN FOUND;
END $$;

-- A cursor becomes what the configuration of its webhook says, whatever it was.
CREATE FUNCTION follow_webhook(p smallint, w bigint, f integer, open boolean, allowed boolean, wanted text[],
  wanted_actions jsonb, leads_to bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  c cursors;
BEGIN
  SELECT * INTO c FROM cursors WHERE part = p AND webhook_id = w;
  IF c.webhook_id IS NULL THEN
    PERFORM create_cursor(p, w, f, open, wanted, wanted_actions, allowed, leads_to);
    RETURN;
  END IF;
  IF c.kinds <> wanted OR c.actions <> wanted_actions
    THEN PERFORM filter_cursor(p, w, wanted, wanted_actions); END IF;
  IF c.address <> leads_to THEN PERFORM readdress_cursor(p, w, leads_to); END IF;
  PERFORM open_cursors(p, ARRAY[w], open);
  IF c.may_act <> allowed THEN PERFORM allow_feed(p, f, allowed); END IF;
END $$;

-- What a webhook became, or its partner: kinds are null where the webhook is gone, and the webhook is null
-- where all of a feed are meant. It may be said again.
CREATE FUNCTION follow_act(p smallint, w bigint, f integer, open boolean, allowed boolean, wanted text[],
  wanted_actions jsonb, leads_to bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF w IS NULL THEN
    PERFORM allow_feed(p, f, allowed);
  ELSIF wanted IS NULL THEN
    PERFORM delete_cursor(p, w);
  ELSE
    PERFORM follow_webhook(p, w, f, open, allowed, wanted, wanted_actions, leads_to);
  END IF;
END $$;

-- The transaction that changes a webhook or its partner calls this, with the row of the webhook locked. The
-- part follows in the same transaction, or where it lies on another server after it, in its order.
CREATE FUNCTION tell_part(of_part smallint, w bigint, f integer, open boolean, allowed boolean,
  wanted text[], wanted_actions jsonb, leads_to bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT is_distributed() THEN
    PERFORM follow_act(of_part, w, f, open, allowed, wanted, wanted_actions, leads_to);
    RETURN;
  END IF;
  INSERT INTO outbox_acts (part, webhook_id, feed, is_active, may_act, kinds, actions, address)
    VALUES (of_part, w, f, open, allowed, wanted, wanted_actions, leads_to);
  PERFORM pg_notify('countersign_work', '  ' || of_part);
END $$;
