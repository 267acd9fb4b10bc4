/** The two sites, from inside (the port on this machine) and from outside (the address that clients use). */
import type { Config, SiteConfig } from '../settings/config.ts'
import { codeOf } from '../text/thrown.ts'
import { type Answer, type Finding, fail, ok, warn } from './finding.ts'
import { limits } from './limits.ts'
import { askSite, type SiteAnswer } from './site-answer.ts'

/** Whether a gateway answers on the port here. */
type PortState = 'ours' | 'free'

const timeoutMs = limits.checkMs / 2

function settingOf({ environment }: SiteConfig): { port: string; url: string } {
  return environment === 'live'
    ? { port: 'PORT', url: 'BASE_URL' }
    : { port: 'SANDBOX_PORT', url: 'SANDBOX_URL' }
}

const anywhere = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '[::1]'],
])

function localUrl({ host, tls }: Config, port: number): string {
  const name = anywhere.get(host) ?? (host.includes(':') ? `[${host}]` : host)
  return `${tls ? 'https' : 'http'}://${name}:${port}`
}

export async function checkPort(config: Config, site: SiteConfig): Promise<Answer<PortState>> {
  const setting = settingOf(site).port
  if (site.port === 0) return { finding: ok(`${setting} is 0: the system chooses one.`) }
  const address = `${config.host}:${site.port}`
  try {
    const { body } = await askSite(`${localUrl(config, site.port)}/healthz`, timeoutMs)
    if (body?.status === 'alive') return { finding: ok(`A gateway answers on ${address}.`), value: 'ours' }
  } catch (error) {
    if (codeOf(error) === 'ECONNREFUSED')
      return { finding: ok(`${address} is free: no gateway runs here.`), value: 'free' }
  }
  return {
    finding: fail(
      `${address} is taken by something that is not a gateway.`,
      `Stop it, or set ${setting} to another port.`,
    ),
  }
}

/**
 * When nothing runs here, an address without an answer is no surprise. Answers the address when a server
 * does.
 */
export async function checkSite(config: Config, site: SiteConfig, port: PortState): Promise<Answer<string>> {
  const base = site.baseUrl === '' ? localUrl(config, site.port) : site.baseUrl
  const unwell = (found: string, advice: string) => ({
    finding:
      port === 'ours'
        ? fail(found, advice)
        : warn(found, 'Start the gateway, then ask again. On another node: ask there.'),
  })
  try {
    const health = await askSite(`${base}/healthz`, timeoutMs)
    if (health.body?.status !== 'alive')
      return unwell(
        `${base}/healthz answers ${health.status}, and not as a gateway does.`,
        `${settingOf(site).url} must lead here: look at its DNS entry and at the proxy in front.`,
      )
    const ready = await askSite(`${base}/readyz`, timeoutMs)
    const metadata = await askSite(`${base}/.well-known/oauth-authorization-server`, timeoutMs)
    return { finding: judgeGateway(site, base, ready, metadata), value: base }
  } catch (error) {
    return unwell(
      `${base} does not answer (${nameFault(error)}).`,
      'Look at its DNS entry, at the proxy in front, and at firewalls.',
    )
  }
}

function judgeGateway(site: SiteConfig, base: string, ready: SiteAnswer, metadata: SiteAnswer): Finding {
  const { issuer } = metadata.body ?? {}
  if (ready.status !== 200)
    return fail(`${base} is up and not ready (${ready.status}).`, 'Its database is away; see above.')
  if (metadata.status === 400)
    return fail(
      `${base} reaches a gateway that takes the request for plain http.`,
      'The proxy must send X-Forwarded-Proto, and TRUST_PROXY must name its address.',
    )
  if (typeof issuer !== 'string' || (site.baseUrl !== '' && issuer !== site.baseUrl))
    return fail(
      `${base} reaches a gateway that calls itself ${issuer ?? 'nothing'}.`,
      `Set ${settingOf(site).url} alike on every node, and lead each address to the port of its own site.`,
    )
  return ok(`${base} is up and ready, and calls itself ${issuer}.`)
}

function nameFault(error: unknown): string {
  const code = codeOf(error)
  const name = error instanceof Error ? error.name : undefined
  return name === 'TimeoutError' || code === 'ABORT_ERR' ? 'no answer in time' : String(code ?? name)
}
