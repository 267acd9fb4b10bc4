/**
 * What commands about webhooks and deliveries have in common: whose they are, which one is meant, and why
 * something is skipped.
 */
import { getPartner } from '../partners/partner.ts'
import { usualReason } from '../webhooks/deliveries/skip.ts'
import type { Branch } from '../webhooks/events/branch.ts'
import { getWebhook, type Webhook } from '../webhooks/subscriptions/webhook.ts'
import type { Command, CommandWords, Option, ReadContext, WriteContext } from './command.ts'
import { parseEnvironment } from './environment.ts'

export const branchOptions: readonly Option[] = [
  { name: 'partner', value: 'NAME|ID', required: true, meaning: 'name or branch id of the partner' },
  { name: 'environment', value: 'live|sandbox', meaning: 'live unless given' },
]

export const reasonOption: Option = {
  name: 'reason',
  value: 'TEXT',
  meaning: 'why, for whoever reads the log later',
}

export async function branchOf({ db }: ReadContext, words: CommandWords): Promise<Branch> {
  const { branchId } = await getPartner(db, words.get('partner'))
  return { branchId, environment: parseEnvironment(words.find('environment')) }
}

export function parseReason(words: CommandWords): string {
  return words.find('reason')?.trim() || usualReason
}

type Row = Record<string, unknown>
type Act<CommandContext> = (
  context: CommandContext,
  webhook: Webhook,
  words: CommandWords,
) => Promise<Row | Row[]>

function words(name: string, summary: string, options: readonly Option[]) {
  return { name, summary, positionals: ['webhook'], options: [...branchOptions, ...options] }
}

function runOn<CommandContext extends ReadContext>(act: Act<CommandContext>) {
  return async (context: CommandContext, words: CommandWords) => {
    const webhook = await getWebhook(
      context.db,
      await branchOf(context, words),
      Number(words.positional('webhook')) || 0,
    )
    const result = await act(context, webhook, words)
    if (Array.isArray(result)) context.print.table(result, 'Nothing found.')
    else context.print.record(result)
  }
}

export function onWebhook(
  name: string,
  summary: string,
  options: readonly Option[],
  act: Act<WriteContext>,
): Command {
  return { ...words(name, summary, options), needs: 'database', run: runOn(act) }
}

/** One that only reads. */
export function atWebhook(
  name: string,
  summary: string,
  options: readonly Option[],
  act: Act<ReadContext>,
): Command {
  return { ...words(name, summary, options), needs: 'reading', run: runOn(act) }
}
