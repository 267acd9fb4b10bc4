/**
 * What is left of a grant: what it shares with its authorization (what the holder approved last), with its client (what the
 * brokerage allows) and with the accounts that the holder still holds. Asked anew in every statement that judges a token, so that
 * narrowing any of them is one row changed. Each stands in a query that has `g` for the grant, `a` for its authorization and `c` for
 * its client.
 */

/** Of these scopes. Mostly all of them, which is found out in a fraction of the time that it takes to look at each. */
export function scopesLeft(scopes: string): string {
  return `CASE WHEN ${scopes} <@ g.scopes AND ${scopes} <@ a.scopes AND ${scopes} <@ c.scopes THEN ${scopes}
    ELSE ARRAY(SELECT scope FROM unnest(${scopes}) AS scope
      WHERE scope = ANY (g.scopes) AND scope = ANY (a.scopes) AND scope = ANY (c.scopes)) END`
}

const shared = `FROM accounts
    WHERE user_id = g.user_id AND environment = c.environment AND status = 'active'
      AND account_number = ANY (g.account_numbers) AND account_number = ANY (a.account_numbers)`

/** Open accounts that the holder has and shares. */
export const accountsLeft = `ARRAY(SELECT account_number ${shared} ORDER BY account_number)`

/** Somebody without an account may approve, and loses none; whoever shared some must still hold one of them. */
export const stillHolds = `(cardinality(g.account_numbers) = 0 OR EXISTS (SELECT ${shared}))`
