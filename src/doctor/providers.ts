/**
 * The brokerage's identity providers: whether they answer, are who we take them for, have keys, what time it
 * is there, and who gave a second factor there.
 */
import { after, type Clock, hour } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { countFactors } from '../identity/identities.sql.ts'
import { openProviderFetch } from '../identity/open-providers.ts'
import { listProviders, type Provider } from '../identity/provider.ts'
import { lookAtProvider, type ProviderLook, providerClock } from '../identity/provider-look.ts'
import { type Config, isDevelopment } from '../settings/config.ts'
import { type Answer, type Finding, fail, ok, printDuration, warn } from './finding.ts'

export async function checkProviders(db: Database, config: Config, clock: Clock): Promise<Answer> {
  const providers = await listProviders(db)
  if (providers.length === 0) return { finding: ok('There are none: everybody signs in with a password.') }
  const fetch = openProviderFetch(config)
  const findings = await Promise.all(
    providers.map(async (each) => {
      const look = await lookAtProvider(fetch, clock, each, isDevelopment(config))
      return judge(each, look, await tellFactors(db, each, clock.now()), clock.now())
    }),
  )
  return { finding: worstOf(findings) }
}

function judge(provider: Provider, { problem, aheadMs }: ProviderLook, factors: string, now: Date): Finding {
  const { label } = provider
  if (problem) return fail(`${problem.found} ${tellAnswered(provider, now)}`, problem.advice)
  const { warnMs, failMs } = providerClock
  // One whose answers have no date tells the time in the tokens that it issues.
  const byToken = aheadMs === undefined && isMeasured(provider, now)
  const measuredMs = byToken ? (provider.aheadMs ?? undefined) : aheadMs
  const time = measuredMs === undefined ? 'does not say what time it is there' : 'keeps the same time'
  if (measuredMs === undefined || Math.abs(measuredMs) < warnMs)
    return ok(`${label}: answers, with keys, and ${time}.${factors}`)
  const how = byToken ? ', by the last ID token that it issued' : ''
  const found = `This machine is ${printDuration(measuredMs)} ${measuredMs < 0 ? 'behind' : 'ahead of'} ${label}${how}.`
  const advice =
    'Let this machine keep time (chrony, systemd-timesyncd): ID tokens of another time are refused.'
  return Math.abs(measuredMs) < failMs ? warn(found, advice) : fail(found, advice)
}

const isMeasured = ({ aheadAt }: Provider, now: Date) => aheadAt !== null && aheadAt > after(now, -24 * hour)

function tellAnswered({ answeredAt }: Provider, now: Date): string {
  if (answeredAt === null) return 'It has never answered.'
  const ago = printDuration(now.getTime() - answeredAt.getTime())
  return `It last answered ${ago} ago (${answeredAt.toISOString()}).`
}

const lately = { days: 30, people: 1_000 }

async function tellFactors(db: Database, { issuer, kind }: Provider, now: Date): Promise<string> {
  const since = after(now, -lately.days * 24 * hour)
  const { people, strong } = await db.one(countFactors, { issuer, since, most: lately.people })
  if (people === 0) return ` Nobody came from there in ${lately.days} days.`
  const who = kind === 'staff' ? 'Staff' : 'Customers'
  const count = people < lately.people ? String(people) : `the last ${people}`
  return ` ${who} who came from there in ${lately.days} days: ${count}, of them with a second factor given there: ${strong}.`
}

/** All that is wrong in one line, with the first remedy of the worst. */
function worstOf(findings: readonly Finding[]): Finding {
  const wrong = findings.filter((each) => each.state === 'warn' || each.state === 'fail')
  const worst = wrong.find(({ state }) => state === 'fail') ?? wrong[0]
  if (!worst) return ok(findings.map(({ found }) => found).join(' '))
  return { ...worst, found: wrong.map(({ found }) => found).join(' ') }
}
