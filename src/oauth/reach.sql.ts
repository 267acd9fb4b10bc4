/**
 * What is left of a grant: what it shares with its authorization (what the holder approved last), with its
 * client (what the brokerage allows) and with the accounts that the holder still holds. Asked anew in every
 * statement that judges a token, so that narrowing any of them is one row changed. Each stands in a query
 * that has `g` for the grant, `a` for its authorization and `c` for its client.
 */

/**
 * Of these scopes. Mostly all of them, which is found out in a fraction of the time that it takes to look at
 * each.
 */
export function scopesLeft(scopes: string): string {
  return `CASE WHEN ${scopes} <@ g.scopes AND ${scopes} <@ a.scopes AND ${scopes} <@ c.scopes THEN ${scopes}
    ELSE ARRAY(SELECT scope FROM unnest(${scopes}) AS scope
      WHERE scope = ANY (g.scopes) AND scope = ANY (a.scopes) AND scope = ANY (c.scopes)) END`
}

/**
 * In which the holder may still allow all that the grant is good for: a scope that a holding no longer lets
 * its holder give takes the account out, not the scope, which may count in others.
 */
const shared = `FROM holdings h JOIN accounts USING (account_number)
    WHERE h.user_id = g.user_id AND h.status = 'active' AND accounts.environment = c.environment
      AND accounts.status = 'active'
      AND account_number = ANY (g.account_numbers) AND account_number = ANY (a.account_numbers)
      AND (a.scopes <@ h.scopes OR g.scopes <@ h.scopes
        OR ARRAY(SELECT unnest(a.scopes) INTERSECT SELECT unnest(g.scopes)) <@ h.scopes)`

/** Open accounts that the holder has and shares. */
export const accountsLeft = `ARRAY(SELECT account_number ${shared} ORDER BY account_number)`

/**
 * A holder without an account may approve, and loses none; a holder who shared some must still hold one of
 * them.
 */
export const stillHolds = `(cardinality(g.account_numbers) = 0 OR EXISTS (SELECT ${shared}))`

/** What a token of it is for: what was asked for, words with a space between, or all that the grant is for. */
export function resourcesOf(asked: string): string {
  return `coalesce(string_to_array(${asked}, ' '), g.resources)`
}

/** A grant for none in particular is for all (RFC 8707). */
export function isOtherResource(asked: string): string {
  return `(cardinality(g.resources) > 0 AND NOT ${resourcesOf(asked)} <@ g.resources)`
}
