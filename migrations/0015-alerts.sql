-- Where partners and operators are told of what fails: the mail of their members, and addresses of their own
-- that are POSTed to. What is due is derived; an alert is a row once it is due, and goes out from there.

-- Of a partner on one site, or (without a partner) of the brokerage. An address is written to after the code
-- that was sent there has come back.
CREATE TABLE alert_targets (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  branch_id    integer REFERENCES partners,
  environment  text CHECK (environment IN ('live', 'sandbox')),
  kind         text NOT NULL CHECK (kind IN ('mail', 'address')),
  state        text NOT NULL CHECK (state IN ('unconfirmed', 'confirmed', 'removed')),
  url          text CHECK (length(url) <= 2000),
  sealed       bytea,
  what         text[] NOT NULL CHECK (what <@
    ARRAY['failing', 'recovered', 'disabled', 'expiring', 'lag', 'provider', 'audit']),
  wait_minutes integer NOT NULL CHECK (wait_minutes BETWEEN 0 AND 1440),
  -- Wrong codes since the last one was sent.
  guesses      smallint NOT NULL DEFAULT 0 CHECK (guesses BETWEEN 0 AND 5),
  created_at   timestamptz NOT NULL,
  CHECK ((branch_id IS NULL) = (environment IS NULL)),
  CHECK ((kind = 'mail') = (url IS NULL) AND (kind = 'mail') = (sealed IS NULL)),
  CHECK (kind = 'address' OR state = 'confirmed'),
  CHECK (branch_id IS NULL OR NOT what && ARRAY['lag', 'provider', 'audit'])
);
CREATE UNIQUE INDEX alert_targets_one_mail ON alert_targets (branch_id, environment) NULLS NOT DISTINCT
  WHERE kind = 'mail';
CREATE INDEX alert_targets_of_branch ON alert_targets (branch_id, environment, id) WHERE state <> 'removed';

-- `key` names what is told, such as one time that a webhook fails: a target is told of it once. While a worker
-- has it in hand `held_until` is when its lease ends; those with one `claim_id` went out in one message.
CREATE TABLE alerts (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  target_id  bigint NOT NULL REFERENCES alert_targets ON DELETE CASCADE,
  kind       text NOT NULL CHECK (kind IN
    ('failing', 'recovered', 'disabled', 'expiring', 'lag', 'provider', 'audit', 'test', 'confirmation')),
  key        text NOT NULL CHECK (length(key) <= 200),
  webhook_id bigint REFERENCES webhooks,
  -- Nothing of an account holder, an event or a secret.
  facts      jsonb NOT NULL,
  state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given up')),
  attempts   smallint NOT NULL DEFAULT 0,
  due_at     timestamptz NOT NULL,
  claim_id   uuid,
  claimed_at timestamptz,
  held_until timestamptz,
  -- What came of the last attempt: a status, or why there was none.
  outcome    text CHECK (length(outcome) <= 100),
  created_at timestamptz NOT NULL,
  UNIQUE (target_id, key),
  CHECK ((webhook_id IS NOT NULL) = (kind IN ('failing', 'recovered', 'disabled'))),
  CHECK ((claim_id IS NULL) = (claimed_at IS NULL)),
  CHECK (state = 'waiting' OR held_until IS NULL)
);
CREATE INDEX alerts_due ON alerts (due_at) WHERE state = 'waiting';
CREATE INDEX alerts_of_target ON alerts (target_id, id);
CREATE INDEX alerts_claimed ON alerts (target_id, claimed_at);
CREATE INDEX alerts_of_webhook ON alerts (webhook_id, target_id) WHERE kind IN ('failing', 'recovered');
CREATE INDEX alerts_by_age ON alerts (created_at);

-- Each partner has its mail on both sites, as its members chose it: of what and after how long.
CREATE FUNCTION partners_have_mail() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO alert_targets (branch_id, environment, kind, state, what, wait_minutes, created_at)
  SELECT NEW.branch_id, site, 'mail', 'confirmed', ARRAY['failing', 'recovered', 'disabled', 'expiring'], 60,
    NEW.created_at FROM unnest(ARRAY['live', 'sandbox']) AS site;
  RETURN NULL;
END $$;
CREATE TRIGGER partners_have_mail AFTER INSERT ON partners FOR EACH ROW EXECUTE FUNCTION partners_have_mail();

INSERT INTO alert_targets (kind, state, what, wait_minutes, created_at)
VALUES ('mail', 'confirmed', ARRAY['disabled', 'expiring', 'lag', 'provider', 'audit'], 60, now());

-- Whatever disables a webhook, the alert is written with it.
CREATE FUNCTION webhooks_alert_disabled() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO alerts (target_id, kind, key, webhook_id, facts, due_at, created_at)
  SELECT t.id, 'disabled', format('disabled:%s:%s', NEW.id, extract(epoch FROM NEW.updated_at)), NEW.id,
    jsonb_build_object('environment', NEW.environment, 'partner', p.name, 'branchId', NEW.branch_id,
      'webhookId', NEW.id, 'url', NEW.url, 'reason', NEW.disabled_reason), NEW.updated_at, NEW.updated_at
  FROM alert_targets t JOIN partners p ON p.branch_id = NEW.branch_id
  WHERE t.state = 'confirmed' AND 'disabled' = ANY (t.what) AND (t.branch_id IS NULL
    OR t.branch_id = NEW.branch_id AND t.environment = NEW.environment)
  ON CONFLICT (target_id, key) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER webhooks_alert_disabled AFTER UPDATE OF state ON webhooks FOR EACH ROW
  WHEN (NEW.state = 'disabled' AND OLD.state <> 'disabled') EXECUTE FUNCTION webhooks_alert_disabled();
