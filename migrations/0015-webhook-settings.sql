-- What a partner chooses for a webhook beside its URL and its kinds: actions, a rate, headers of its own, a description.

-- `actions` names the actions of a kind that are wanted; all of a kind that it does not name.
ALTER TABLE webhooks
  ADD COLUMN actions jsonb NOT NULL DEFAULT '{}',
  -- Attempts a second at most; null: as many as the engine makes.
  ADD COLUMN rate_limit integer,
  ADD COLUMN description text NOT NULL DEFAULT '',
  ADD CONSTRAINT webhooks_rate_limit_check CHECK (rate_limit BETWEEN 1 AND 1000),
  ADD CONSTRAINT webhooks_description_check CHECK (length(description) <= 200),
  ADD CONSTRAINT webhooks_actions_check CHECK (jsonb_typeof(actions) = 'object'
    AND actions - ARRAY['TRANSACTION', 'APPLICATION', 'ACH_PROFILE', 'AUTHORIZATION'] = '{}'
    AND NOT actions @? 'strict $.* ? (@.type() != "array" || @.size() == 0)'
    AND coalesce(actions -> 'TRANSACTION' <@ '["SUBMITTED", "APPROVED", "COMPLETED"]', true)
    AND coalesce(actions -> 'APPLICATION' <@
      '["SUBMITTED", "PENDING", "APPROVED", "REJECTED", "VERIFIED", "COMPLETED", "CANCELED", "AUTHORIZED"]', true)
    AND coalesce(actions -> 'ACH_PROFILE' <@
      '["SUBMITTED", "PENDING", "APPROVED", "REJECTED", "CANCELED", "MICRODEPOSITS_POSTED"]', true)
    AND coalesce(actions -> 'AUTHORIZATION' <@ '["GRANTED", "CHANGED", "REVOKED"]', true));

-- Headers that go with each delivery of a webhook. They may be credentials of its receiver: values are sealed.
CREATE TABLE webhook_headers (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id bigint NOT NULL REFERENCES webhooks,
  name       text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9!#$%&''*+.^_`|~-]{0,63}$'),
  sealed     bytea NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (webhook_id, name)
);
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON webhook_headers FOR EACH ROW
  EXECUTE FUNCTION announce_change('webhook', 'webhook_id');
