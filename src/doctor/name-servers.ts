import { getServers } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { type Config, isDevelopment } from '../settings/config.ts'
import { codeOf } from '../text/thrown.ts'
import { type Answer, fail, ok, warn } from './finding.ts'
import { limits } from './limits.ts'

/** A name server that says "no such name" is one that answers. */
const answers = ['ENOTFOUND', 'ENODATA']
const askedName = 'example.com'

/** Those that webhooks use: WEBHOOK_DNS_SERVERS, or the system's. */
export async function checkNameServers(config: Config): Promise<Answer> {
  if (!config.roles.includes('worker')) return { finding: ok('This node sends no webhooks.') }
  const { dnsServers } = config.webhooks
  const servers = dnsServers.length > 0 ? dnsServers : getServers()
  const states = await Promise.all(servers.map(askServer))
  const found = `${servers.map((server, index) => `${server} ${states[index]}`).join('; ') || 'There is none'}.`
  const well = states.filter((state) => state === 'answers').length
  if (well > 0 && well === servers.length) return { finding: ok(found) }
  const advice = 'Webhooks find no address without them: name working ones in WEBHOOK_DNS_SERVERS.'
  return { finding: well > 0 || isDevelopment(config) ? warn(found, advice) : fail(found, advice) }
}

async function askServer(server: string): Promise<string> {
  const resolver = new Resolver({ timeout: limits.checkMs / 4, tries: 2 })
  try {
    resolver.setServers([server])
    await resolver.resolve4(askedName)
    return 'answers'
  } catch (error) {
    const code = codeOf(error) ?? 'fails'
    return answers.includes(code) ? 'answers' : `does not (${code})`
  }
}
