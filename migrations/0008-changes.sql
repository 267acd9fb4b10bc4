-- Tells every node what it may no longer believe. Triggers, not code: whoever writes, gateway, command line or a
-- person in psql, every node hears of it when the change commits.

-- The first argument is the kind of the tag, the second the column that it names.
CREATE FUNCTION announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('countersign_changes', TG_ARGV[0] || ':' || (to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1]));
  RETURN NULL;
END $$;

-- People: what they are called and may do, the accounts they hold, the partners they belong to, how they came in.
CREATE TRIGGER announce AFTER UPDATE ON users FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.name IS DISTINCT FROM NEW.name OR OLD.role IS DISTINCT FROM NEW.role)
  EXECUTE FUNCTION announce_change('user', 'id');
CREATE TRIGGER announce AFTER INSERT OR DELETE ON partner_members FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce_end AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION announce_change('session', 'id');
CREATE TRIGGER announce AFTER UPDATE ON api_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('api_token', 'id');
CREATE TRIGGER announce_end AFTER DELETE ON api_tokens FOR EACH ROW EXECUTE FUNCTION announce_change('api_token', 'id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW
  EXECUTE FUNCTION announce_change('user', 'user_id');

-- An account that changes hands concerns whoever held it as well as whoever holds it now.
CREATE FUNCTION announce_lost_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('countersign_changes', 'user:' || OLD.user_id);
  RETURN NULL;
END $$;
CREATE TRIGGER announce_lost AFTER UPDATE ON accounts FOR EACH ROW
  WHEN (OLD.user_id IS DISTINCT FROM NEW.user_id) EXECUTE FUNCTION announce_lost_account();

-- Partners, their clients with their secrets, and services.
CREATE TRIGGER announce AFTER UPDATE ON partners FOR EACH ROW EXECUTE FUNCTION announce_change('branch', 'branch_id');
CREATE TRIGGER announce AFTER UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION announce_change('client', 'id');
CREATE TRIGGER announce AFTER INSERT OR DELETE ON client_secrets FOR EACH ROW
  EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce_end AFTER UPDATE ON client_secrets FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.expires_at IS DISTINCT FROM NEW.expires_at)
  EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce AFTER UPDATE OR DELETE ON services FOR EACH ROW EXECUTE FUNCTION announce_change('service', 'id');

-- What tokens count for: whether they do, and how far they reach. Only statements that write scopes or accounts pay for the reach.
CREATE TRIGGER announce AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.paused_at IS DISTINCT FROM NEW.paused_at)
  EXECUTE FUNCTION announce_change('authorization', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes, account_numbers ON authorizations FOR EACH ROW
  WHEN (OLD.scopes IS DISTINCT FROM NEW.scopes OR OLD.account_numbers IS DISTINCT FROM NEW.account_numbers)
  EXECUTE FUNCTION announce_change('authorization', 'id');
CREATE TRIGGER announce AFTER UPDATE ON grants FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('grant', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes, account_numbers ON grants FOR EACH ROW
  EXECUTE FUNCTION announce_change('grant', 'id');
CREATE TRIGGER announce AFTER UPDATE ON access_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('access_token', 'id');
CREATE TRIGGER announce_reach AFTER UPDATE OF scopes ON access_tokens FOR EACH ROW
  EXECUTE FUNCTION announce_change('access_token', 'id');

-- Where webhooks go, and what signs them.
CREATE TRIGGER announce AFTER UPDATE ON webhooks FOR EACH ROW EXECUTE FUNCTION announce_change('webhook', 'id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON webhook_secrets FOR EACH ROW
  EXECUTE FUNCTION announce_change('webhook', 'webhook_id');
