-- The webhooks of a partner that is not approved stand still, whoever says so: gateway, command line or a person in psql. Idle lanes
-- are not looked at; held ones have news, so that whoever lets them go looks again. An approval begins anew, as resuming a webhook
-- does: time in which nothing could be sent is no time of failure. Those of paused webhooks too, which may be resumed just now:
-- whoever looks at one in vain puts it to rest.
CREATE FUNCTION hold_or_release_lanes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  approved boolean := NEW.status = 'approved';
BEGIN
  -- In the order in which everybody locks lanes.
  PERFORM FROM lanes WHERE webhook_id = ANY (ARRAY(SELECT id FROM webhooks WHERE branch_id = NEW.branch_id AND state <> 'deleted'))
  ORDER BY webhook_id FOR UPDATE;
  UPDATE lanes SET
    attention_at = CASE WHEN claim_id IS NOT NULL THEN attention_at WHEN approved THEN NEW.updated_at END,
    has_news = claim_id IS NOT NULL,
    failures = CASE WHEN approved THEN 0 ELSE failures END,
    failing_since = CASE WHEN approved THEN NULL ELSE failing_since END
  WHERE webhook_id = ANY (ARRAY(SELECT id FROM webhooks WHERE branch_id = NEW.branch_id AND state <> 'deleted'));
  PERFORM pg_notify('countersign_work', 'delivery');
  RETURN NULL;
END $$;
CREATE TRIGGER hold_or_release_lanes AFTER UPDATE ON partners FOR EACH ROW
  WHEN ((OLD.status = 'approved') <> (NEW.status = 'approved')) EXECUTE FUNCTION hold_or_release_lanes();

-- What else long answers depend on: who belongs to a partner, which token and which sign-in there still is.
CREATE TRIGGER announce AFTER INSERT OR DELETE ON partner_members FOR EACH ROW EXECUTE FUNCTION announce_change('user', 'user_id');
CREATE TRIGGER announce_end AFTER DELETE ON api_tokens FOR EACH ROW EXECUTE FUNCTION announce_change('api_token', 'id');
CREATE TRIGGER announce_end AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION announce_change('session', 'id');
CREATE OR REPLACE TRIGGER announce AFTER UPDATE ON users FOR EACH ROW
  WHEN (OLD.status IS DISTINCT FROM NEW.status OR OLD.name IS DISTINCT FROM NEW.name OR OLD.role IS DISTINCT FROM NEW.role)
  EXECUTE FUNCTION announce_change('user', 'id');
