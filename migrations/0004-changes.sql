-- Tells every node what it may no longer believe. Triggers, not code: whoever writes, gateway, command line or a
-- person in psql, every node hears of it when the change commits.

CREATE FUNCTION announce_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('countersign_changes', TG_ARGV[0] || ':' || (to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1]));
  RETURN NULL;
END $$;

CREATE TRIGGER announce AFTER UPDATE ON access_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('access_token', 'id');
CREATE TRIGGER announce AFTER UPDATE ON grants FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('grant', 'id');
CREATE TRIGGER announce AFTER UPDATE ON authorizations FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('authorization', 'id');
CREATE TRIGGER announce AFTER UPDATE ON api_tokens FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at) EXECUTE FUNCTION announce_change('api_token', 'id');
CREATE TRIGGER announce AFTER UPDATE ON clients FOR EACH ROW EXECUTE FUNCTION announce_change('client', 'id');
CREATE TRIGGER announce AFTER INSERT OR DELETE ON client_secrets FOR EACH ROW
  EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce_end AFTER UPDATE ON client_secrets FOR EACH ROW
  WHEN (OLD.revoked_at IS DISTINCT FROM NEW.revoked_at OR OLD.expires_at IS DISTINCT FROM NEW.expires_at)
  EXECUTE FUNCTION announce_change('client', 'client_id');
CREATE TRIGGER announce AFTER UPDATE ON partners FOR EACH ROW EXECUTE FUNCTION announce_change('branch', 'branch_id');
CREATE TRIGGER announce AFTER UPDATE ON users FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.name IS DISTINCT FROM NEW.name)
  EXECUTE FUNCTION announce_change('user', 'id');
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON accounts FOR EACH ROW
  EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce AFTER UPDATE OR DELETE ON services FOR EACH ROW EXECUTE FUNCTION announce_change('service', 'id');
