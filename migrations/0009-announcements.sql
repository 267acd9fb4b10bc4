-- A change is announced twice: to every node by a notification when it commits, and to whoever makes it by a notice on its own connection,
-- which comes before the answer to the statement. So the node that made a change forgets what it remembers of it before it tells anybody
-- that the change is made, and no code has to say so. Everything that announces does it by this.
CREATE FUNCTION announce(tag text) RETURNS void LANGUAGE plpgsql STRICT AS $$
BEGIN
  PERFORM pg_notify('countersign_changes', tag);
  RAISE NOTICE USING ERRCODE = 'TOLD1', MESSAGE = tag;
END $$;

-- By the name of the schema that it is in: whoever changes one of these tables may have another search path.
DO $make$
BEGIN
  EXECUTE format($text$
    CREATE OR REPLACE FUNCTION announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM %1$I.announce(TG_ARGV[0] || ':' || (to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1]));
      RETURN NULL;
    END $$;

    CREATE OR REPLACE FUNCTION announce_lost_account() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM %1$I.announce('user:' || OLD.user_id);
      RETURN NULL;
    END $$$text$, current_schema());
END $make$;
