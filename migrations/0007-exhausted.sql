-- What was given up is what people look for.
CREATE INDEX deliveries_exhausted ON deliveries (webhook_id, id) WHERE state = 'exhausted';
