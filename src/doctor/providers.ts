/** The brokerage's identity providers: whether they answer, are who we take them for, have keys, and what time it is there. */
import type { Clock } from '../clock.ts'
import { type Config, isDevelopment } from '../config.ts'
import type { Database } from '../database/database.ts'
import { openProviderFetch } from '../identity/open-providers.ts'
import { listProviders } from '../identity/provider.ts'
import { lookAtProvider, type ProviderLook } from '../identity/provider-look.ts'
import { type Answer, type Finding, fail, ok, printDuration, warn } from './finding.ts'
import { limits } from './limits.ts'

export async function checkProviders(db: Database, config: Config, clock: Clock): Promise<Answer> {
  const providers = await listProviders(db)
  if (providers.length === 0) return { finding: ok('There are none: everybody signs in with a password.') }
  const fetch = openProviderFetch(config)
  const looks = await Promise.all(providers.map((each) => lookAtProvider(fetch, clock, each, isDevelopment(config))))
  const findings = providers.map(({ label }, index) => judge(label, looks[index]!))
  return { finding: worstOf(findings) }
}

function judge(label: string, { problem, aheadMs }: ProviderLook): Finding {
  if (problem) return fail(problem.found, problem.advice)
  const { warnMs, failMs } = limits.providerClock
  if (aheadMs === undefined || Math.abs(aheadMs) < warnMs) return ok(label)
  const found = `This machine is ${printDuration(aheadMs)} ${aheadMs < 0 ? 'behind' : 'ahead of'} ${label}.`
  const advice = 'Let this machine keep time (chrony, systemd-timesyncd): ID tokens of another time are refused.'
  return Math.abs(aheadMs) < failMs ? warn(found, advice) : fail(found, advice)
}

/** All that is wrong in one line, with the first remedy of the worst. */
function worstOf(findings: readonly Finding[]): Finding {
  const wrong = findings.filter((each) => each.state === 'warn' || each.state === 'fail')
  const worst = wrong.find(({ state }) => state === 'fail') ?? wrong[0]
  if (!worst) {
    const names = findings.map(({ found }) => found).join(', ')
    return ok(`${names}: ${findings.length === 1 ? 'answers' : 'each answers'}, with keys, and keeps the same time.`)
  }
  return { ...worst, found: wrong.map(({ found }) => found).join(' ') }
}
