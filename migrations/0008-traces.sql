-- The span under which an event was published, as W3C prints it, so that its deliveries belong to the same trace, whichever node
-- makes them and however late. Null where nobody traces.
ALTER TABLE events ADD COLUMN traceparent text;
