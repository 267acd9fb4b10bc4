-- Tells every node what it may no longer believe. Triggers, not code: whichever statement writes, of a
-- gateway, the command line or a person in psql, every node hears of it when the change commits.

-- A change is announced twice: to every node by a notification when it commits, and to the process that makes
-- it by a notice on its own connection, which comes before the answer to the statement. So the node that made
-- a change forgets what it remembers of it before it answers that the change is made, and no code has to say
-- so. Everything that announces does it by this.
CREATE FUNCTION announce(tag text) RETURNS void LANGUAGE plpgsql STRICT AS $$
BEGIN
  PERFORM pg_notify('countersign_changes', tag);
  RAISE NOTICE USING ERRCODE = 'TOLD1', MESSAGE = tag;
END $$;

-- The first argument is the kind of the tag, the second the column that it names. By the name of its schema:
-- the session that writes may have another search path, and a function that sets its own costs each row more.
CREATE FUNCTION announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.announce(TG_ARGV[0] || ':' || (to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1]));
  RETURN NULL;
END $$;

-- People: what they are called and may do, the partners they belong to and as what, how they came in.
CREATE TRIGGER announce AFTER UPDATE ON users FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.name IS DISTINCT FROM NEW.name
    OR OLD.role IS DISTINCT FROM NEW.role OR OLD.external_id IS DISTINCT FROM NEW.external_id)
  EXECUTE FUNCTION announce_change('user', 'id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON staff_roles
  FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce AFTER INSERT OR DELETE ON partner_members
  FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce_role AFTER UPDATE ON partner_members FOR EACH ROW
  WHEN (OLD.role IS DISTINCT FROM NEW.role) EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce_end AFTER DELETE ON sessions
  FOR EACH ROW EXECUTE FUNCTION announce_change('session', 'id');
CREATE TRIGGER announce AFTER UPDATE ON api_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('api_token', 'id');
CREATE TRIGGER announce_end AFTER DELETE ON api_tokens
  FOR EACH ROW EXECUTE FUNCTION announce_change('api_token', 'id');

-- What a person holds changes what their tokens count for, with the next request on every node.
CREATE TRIGGER announce AFTER UPDATE OR DELETE ON holdings
  FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');

-- A holding that changes hands concerns the person who held it as well as the one who holds it now.
CREATE FUNCTION announce_former_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.announce('user:' || OLD.user_id);
  RETURN NULL;
END $$;
CREATE TRIGGER announce_former_holder AFTER UPDATE ON holdings FOR EACH ROW
  WHEN (OLD.user_id IS DISTINCT FROM NEW.user_id) EXECUTE FUNCTION announce_former_holder();

-- Changes that come by the thousand are told together, as many as a notification has room for.
CREATE FUNCTION announce_new_holders() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  PERFORM announce(string_agg(TG_ARGV[0] || ':' || user_id, ',')) FROM (
    SELECT user_id, row_number() OVER () / 300 AS page
    FROM (SELECT DISTINCT user_id FROM added) AS who) AS pages GROUP BY page;
  RETURN NULL;
END $$;
CREATE TRIGGER announce_new_holders AFTER INSERT ON holdings
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION announce_new_holders('user');

CREATE FUNCTION announce_holders() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT
  SET enable_seqscan = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  PERFORM announce(TG_ARGV[0] || ':' || user_id) FROM holdings WHERE account_number = NEW.account_number;
  RETURN NULL;
END $$;
CREATE TRIGGER announce AFTER UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION announce_holders('user');

-- Partners, their clients with their secrets, and services.
CREATE TRIGGER announce AFTER UPDATE ON partners
  FOR EACH ROW EXECUTE FUNCTION announce_change('branch', 'branch_id');
CREATE TRIGGER announce AFTER UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION announce_change('client', 'id');
CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE OF jwk ON client_keys
  FOR EACH ROW EXECUTE FUNCTION announce_change('client', 'client_id');
-- The keys were looked for, whether or not they are others now.
CREATE TRIGGER announce AFTER UPDATE ON client_key_sets FOR EACH ROW
  WHEN (OLD.claimed_at IS NOT NULL AND NEW.claimed_at IS NULL) EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce AFTER UPDATE ON client_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('client_token', 'id');
CREATE TRIGGER announce AFTER INSERT OR DELETE ON client_secrets
  FOR EACH ROW EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce_end AFTER UPDATE ON client_secrets FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.expires_at IS DISTINCT FROM NEW.expires_at)
  EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce AFTER UPDATE OR DELETE ON services
  FOR EACH ROW EXECUTE FUNCTION announce_change('service', 'id');

-- What tokens count for: whether they do, and how far they reach. Only statements that write scopes or
-- accounts pay for the reach.
CREATE TRIGGER announce AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.paused_at IS DISTINCT FROM NEW.paused_at)
  EXECUTE FUNCTION announce_change('authorization', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes, account_numbers ON authorizations FOR EACH ROW
  WHEN (OLD.scopes IS DISTINCT FROM NEW.scopes OR OLD.account_numbers IS DISTINCT FROM NEW.account_numbers)
  EXECUTE FUNCTION announce_change('authorization', 'id');
CREATE TRIGGER announce AFTER UPDATE ON grants FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('grant', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes, account_numbers ON grants
  FOR EACH ROW EXECUTE FUNCTION announce_change('grant', 'id');
CREATE TRIGGER announce AFTER UPDATE ON access_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
  EXECUTE FUNCTION announce_change('access_token', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes ON access_tokens
  FOR EACH ROW EXECUTE FUNCTION announce_change('access_token', 'id');

-- Where webhooks go, what signs them, and what goes with them.
CREATE TRIGGER announce AFTER UPDATE ON webhooks
  FOR EACH ROW EXECUTE FUNCTION announce_change('webhook', 'id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON webhook_secrets
  FOR EACH ROW EXECUTE FUNCTION announce_change('webhook', 'webhook_id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON webhook_headers
  FOR EACH ROW EXECUTE FUNCTION announce_change('webhook', 'webhook_id');

-- The brand in force, which every node remembers. A draft concerns only the person who writes it.
CREATE TRIGGER announce_change AFTER UPDATE ON brands FOR EACH ROW
  WHEN (OLD.state = 'active' OR NEW.state = 'active')
  EXECUTE FUNCTION announce_change('brand', 'environment');
CREATE TRIGGER announce_new AFTER INSERT ON brands FOR EACH ROW
  WHEN (NEW.state = 'active') EXECUTE FUNCTION announce_change('brand', 'environment');
CREATE TRIGGER announce_end AFTER DELETE ON brands FOR EACH ROW
  WHEN (OLD.state = 'active') EXECUTE FUNCTION announce_change('brand', 'environment');
-- Images that are public: one that is withdrawn is not any more.
CREATE TRIGGER announce_end AFTER DELETE ON client_looks FOR EACH ROW
  WHEN (OLD.state = 'shown' AND OLD.logo IS NOT NULL) EXECUTE FUNCTION announce_change('image', 'logo');
