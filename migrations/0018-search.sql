-- One search for operators: a receiver is found by words of its address, such as `example.com` or `hooks.example`, without the scheme.
CREATE FUNCTION address_words(url text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('simple'::regconfig, regexp_replace(regexp_replace(lower(url), '^https?://', ''), '[^[:alnum:]]+', ' ', 'g'));
-- Webhooks are made seldom: what is new goes into the index at once, and no search reads a list of what is not in it yet.
CREATE INDEX webhooks_by_address ON webhooks USING gin (address_words(url)) WITH (fastupdate = off) WHERE state <> 'deleted';

-- The name of an event begins with its moment (RFC 9562, version 7): whoever has the name knows where to look for it, and the table in which most
-- is written needs no index for that.
CREATE FUNCTION event_uid() RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE
  RETURN (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;
