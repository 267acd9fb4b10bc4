/**
 * Names to addresses, with a time-out and a short memory. Not `dns.lookup`: that runs on the thread pool,
 * where two dead name servers would stall every delivery. Answers are filtered by the guard before a
 * connection dials them.
 */
import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { openFlights } from '../concurrency/single-flight.ts'
import { type GuardPolicy, isAllowedAddress } from './address-guard.ts'

const timeoutMs = 2_000
const rememberMs = 30_000
const maxNames = 10_000
/** RFC 8305, 3: how long one kind of address is waited for when the other is there. */
const otherKindMs = 50

class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress'
  readonly code = 'FORBIDDEN_ADDRESS'
}

class NameUnresolved extends Error {
  override readonly name = 'NameUnresolved'
  readonly code = 'NAME_UNRESOLVED'
}

interface Address {
  readonly address: string
  readonly family: 4 | 6
}

interface Answer {
  readonly addresses: readonly Address[]
  readonly until: number
}

interface NameResolver {
  /** For sockets: the hook that `net.connect` calls instead of asking the system. */
  readonly lookup: LookupFunction
}

export function openResolver(policy: GuardPolicy, servers: readonly string[]): NameResolver {
  const resolver = new Resolver({ timeout: timeoutMs, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)
  const known = new Map<string, Answer>()
  const asking = openFlights(ask, (name) => name)

  function remember(name: string, addresses: readonly Address[]): Answer {
    const answer = { addresses, until: performance.now() + rememberMs }
    if (known.size >= maxNames) known.clear()
    known.set(name, answer)
    return answer
  }

  /**
   * Both kinds at once. A look-up that has one waits for the other only a moment; what comes later is known
   * to the next.
   */
  async function ask(name: string): Promise<Answer> {
    const found: Address[] = []
    const asked = ([4, 6] as const).map(async (family) => {
      const texts = await (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name))
      found.push(...texts.map((address) => ({ address, family })))
      found.sort((one, other) => one.family - other.family)
    })
    const all = Promise.allSettled(asked)
    // The first that is found, or all in vain.
    await Promise.any([...asked, all])
    if (found.length > 0) await Promise.race([all, wait(otherKindMs)])
    const failed = found.length === 0 && (await all).find((each) => each.status === 'rejected')
    if (found.length === 0) throw failed ? failed.reason : new Error(`${name} has no address`)
    const early = found.length
    all.then(() => found.length > early && remember(name, [...found]))
    return remember(name, [...found])
  }

  function find(name: string): Promise<Answer> {
    if (name === 'localhost')
      return Promise.resolve({ addresses: [{ address: '127.0.0.1', family: 4 }], until: 0 })
    const remembered = known.get(name)
    if (remembered && remembered.until > performance.now()) return Promise.resolve(remembered)
    return asking.join(name)
  }

  return {
    lookup(name, options, done) {
      find(name).then(
        ({ addresses }) => {
          const allowed = addresses.filter(({ address }) => isAllowedAddress(address, policy))
          const [first] = allowed
          if (!first)
            return done(new ForbiddenAddress(`${name} leads to an address that is not allowed.`), '', 0)
          if (options.all) return done(null, [...allowed])
          done(null, first.address, first.family)
        },
        (error: unknown) => done(new NameUnresolved(`${name} has no address.`, { cause: error }), '', 0),
      )
    },
  }
}
