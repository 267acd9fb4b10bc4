/**
 * By what a statement reaches rows of `queued_deliveries`. Each index has a key that no other has, so that the planner has nothing to
 * choose between, whatever was counted last (docs/decisions/0009):
 *
 * | Index | Key |
 * |---|---|
 * | `queued_deliveries_pkey` | `id` |
 * | `queued_by_due` | `webhook_id`, `urgency`, `due_at`, `place` |
 * | `queued_by_entity` | `line`, `place` |
 * | `queued_of_webhook` | `owner`, `place` (in the views: `owner_id`, `place`) |
 */

/** The number by which deliveries are ordered, where they are found by something else. */
export const placeOf = (row: string) => `${row}.id + 0`

/** All of a webhook. */
export const ownerOf = (row: string) => `${row}.webhook_id + 0`

/** One entity's deliveries to one webhook, which go one after the other: what happens now in one line, what is sent again in another. */
export const lineOf = (row: string) => lineFrom(`${row}.webhook_id`, `${row}.urgency`, `${row}.entity`)

export function lineFrom(webhookId: string, urgency: string, entity: string): string {
  return `(${webhookId}::text || '/' || ${urgency}::text || ' ' || ${entity})`
}
