/**
 * What most likely makes a receiver fail, in the words of the developer who has to fix it. A table: the first
 * row that fits is the cause. It judges by what an attempt left behind, so it is a guess and says so; what
 * was seen stands beside it.
 */
import type { FailedAttempt } from './failure.ts'

export type FailureSigns = Pick<FailedAttempt, 'outcome' | 'status' | 'why' | 'detail' | 'response'>

interface Cause {
  readonly name: string
  /** A sentence. */
  readonly title: string
  /** What to do about it. */
  readonly fix: string
}

interface Rule {
  readonly name: string
  readonly fits: (signs: AttemptSigns) => boolean
  readonly title: string | ((signs: AttemptSigns) => string)
  readonly fix: string
}

/** What the rules ask for. */
interface AttemptSigns {
  readonly why: string | null
  /** 0 when no answer came. */
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly response: string
  readonly server: string | undefined
  readonly location: string | undefined
  /** A program answers with JSON or a word; a page is the work of something in front of it. */
  readonly isPage: boolean
}

export function findCause(attempt: FailureSigns): Cause {
  const signs = signsOf(attempt)
  const { name, title, fix } = rules.find((rule) => rule.fits(signs)) ?? unknown
  return { name, title: typeof title === 'string' ? title : title(signs), fix }
}

function signsOf({ status, why, detail, response }: FailureSigns): AttemptSigns {
  const lines = (detail ?? '').split('\n')
  const [code = ''] = (detail ?? '').split(/[:\n]/, 1)
  const header = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const body = (response ?? '').trimStart()
  return {
    ...{ why, status: status ?? 0, code, detail: detail ?? '', response: body },
    ...{ server: header('server'), location: header('location') },
    isPage: /^text\/html/i.test(header('content-type') ?? '') || /^<(!doctype|html)/i.test(body),
  }
}

const by = (why: string, codes?: RegExp) => (signs: AttemptSigns) =>
  signs.why === why && (codes?.test(signs.code) ?? true)
const answered = (from: number, to: number) => (signs: AttemptSigns) =>
  signs.status >= from && signs.status <= to
const status =
  (...wanted: number[]) =>
  (signs: AttemptSigns) =>
    wanted.includes(signs.status)

const whoSays = (server: string | undefined) => (server === undefined ? '' : ` It calls itself ${server}.`)

const unreachable: readonly Rule[] = [
  {
    name: 'no secret',
    fits: by('no-secret'),
    title: 'There is no secret left to sign with, so nothing was sent.',
    fix: 'Make a new secret of the client under Clients, or give this webhook a secret of its own.',
  },
  {
    name: 'address not allowed',
    fits: by('forbidden-address'),
    title: 'The host name leads to an address that webhooks may not reach.',
    fix: 'Point the name at a public address. Private, loopback and link-local addresses are refused on purpose.',
  },
  {
    name: 'DNS name unknown',
    fits: by('dns', /^(ENOTFOUND|ENODATA|)$/),
    title: 'The host name is not in the DNS.',
    fix: 'Check the spelling of the URL, and that the name has an A or AAAA record that the whole internet can see.',
  },
  {
    name: 'DNS does not answer',
    fits: by('dns'),
    title: 'The name servers of the host name did not give an answer.',
    fix: 'Ask them yourself (dig, nslookup). Look for a domain that has expired, a wrong delegation, or a broken DNSSEC signature.',
  },
  {
    name: 'TLS name mismatch',
    fits: by('tls', /^ERR_TLS_CERT_ALTNAME_INVALID$/),
    title: ({ detail }) => `The certificate is for another host name.${namesIn(detail)}`,
    fix: 'Install a certificate that names the host of this URL, or register the URL with a name that the certificate has. Behind a shared proxy, check that it chooses by SNI.',
  },
  {
    name: 'certificate expired',
    fits: by('tls', /^CERT_HAS_EXPIRED$/),
    title: 'The certificate has expired.',
    fix: 'Renew it, and restart or reload whatever serves it: a renewed file that was not loaded is the usual reason.',
  },
  {
    name: 'certificate not yet valid',
    fits: by('tls', /^CERT_NOT_YET_VALID$/),
    title: 'The certificate is not valid yet.',
    fix: 'Check its start date, and the clock of the machine that made it.',
  },
  {
    name: 'self-signed certificate',
    fits: by('tls', /SELF_SIGNED/),
    title: 'The certificate is self-signed.',
    fix: 'Use a certificate of a public authority, such as Let’s Encrypt.',
  },
  {
    name: 'certificate chain incomplete',
    fits: by('tls', /UNABLE_TO_(GET|VERIFY)/),
    title: 'The chain of the certificate is incomplete, or its authority is not a public one.',
    fix: 'Serve the intermediate certificates too: most authorities call that file fullchain. Browsers often hide that they are missing.',
  },
  {
    name: 'TLS handshake failed',
    fits: by('tls'),
    title: 'The TLS handshake failed.',
    fix: 'Check that the port speaks TLS 1.2 or newer, and not plain HTTP; that no client certificate is demanded.',
  },
  {
    name: 'connection refused',
    fits: by('connection', /^ECONNREFUSED$/),
    title: 'Nothing listens at that address and port.',
    fix: 'Start the receiver, or correct the port of the URL. A firewall that rejects looks the same.',
  },
  {
    name: 'no route',
    fits: by('connection', /^E(HOST|NET)UNREACH$/),
    title: 'There is no route to the address of the host.',
    fix: 'Check the A and AAAA records: an AAAA record of a machine without IPv6 is the usual reason.',
  },
  {
    name: 'connection reset',
    fits: by('connection', /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|ECONNABORTED)$/),
    title: 'The connection was cut before an answer came.',
    fix: 'Look for a receiver that crashes on the request, a proxy that restarts, or a firewall that inspects traffic.',
  },
  {
    name: 'connection failed',
    fits: by('connection'),
    title: 'No connection could be made, or it broke.',
    fix: 'Call the URL from outside your network, with curl for example, and see what happens.',
  },
  {
    name: 'not HTTP',
    fits: by('protocol'),
    title: 'What answered does not speak HTTP as it should.',
    fix: 'Check that the port of the URL is that of the web server.',
  },
  {
    name: 'connect timeout',
    fits: (signs) =>
      signs.why === 'timeout' && /^(no connection|UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/.test(signs.code),
    title: 'No connection was made within ten seconds.',
    fix: 'A firewall drops the packets, probably. Let the gateway’s addresses in, or ask the brokerage which they are.',
  },
  {
    name: 'answer timeout',
    fits: by('timeout'),
    title: 'The receiver did not answer within ten seconds.',
    fix: 'Store what came, answer 200 at once, and do the work afterwards.',
  },
]

const saysSignature = ({ response }: AttemptSigns) => /signature|hmac/i.test(response)

const refused: readonly Rule[] = [
  {
    name: 'redirect',
    fits: answered(300, 399),
    title: ({ location }) =>
      location === undefined ? 'The receiver redirects.' : `The receiver redirects to ${location}.`,
    fix: 'Redirects are not followed. Register the URL that it leads to in the end; look at http or https, www, and the slash at the end.',
  },
  {
    name: 'gone',
    fits: status(410),
    title: 'The receiver says that this address is gone for good.',
    fix: 'That disables a webhook. If it was a mistake, correct the receiver and resume the webhook.',
  },
  {
    name: 'too large',
    fits: status(413),
    title: 'The body is larger than the receiver, or a proxy in front of it, takes.',
    fix: 'Raise the limit for request bodies to 1 MB or more (nginx: client_max_body_size).',
  },
  {
    name: 'rate limited',
    fits: status(429),
    title: 'The receiver wants fewer requests.',
    fix: 'Raise its limit for this path, or exempt the gateway. A Retry-After is heeded.',
  },
  {
    name: 'signature refused',
    fits: (signs) => answered(400, 499)(signs) && !signs.isPage && saysSignature(signs),
    title: 'The receiver refuses the signature.',
    fix: 'Paste what came into the signature debugger: it says which secret was used and what went wrong.',
  },
  {
    name: 'refused by a proxy',
    fits: (signs) => answered(400, 499)(signs) && signs.isPage && !status(404)(signs),
    title: ({ server }) =>
      `The request was refused with a page for people, probably by a proxy or firewall in front of the receiver.${whoSays(server)}`,
    fix: 'Let POST requests to this path through: look at bot protection, access lists, sign-in pages and CSRF checks.',
  },
  {
    name: 'signature refused',
    fits: status(401, 403),
    title: 'The receiver does not believe the request: it refuses the signature, or wants credentials.',
    fix: 'If it checks signatures, paste what came into the signature debugger. If it wants credentials, exempt this path: the signature is the proof.',
  },
  {
    name: 'wrong path',
    fits: status(404),
    title: ({ server }) => `There is nothing at this path.${whoSays(server)}`,
    fix: 'Compare the path of the URL with the route of your program, letter by letter, and the host with where it is deployed.',
  },
  {
    name: 'method not allowed',
    fits: status(405),
    title: 'The path does not take POST.',
    fix: 'Webhooks are POSTed. Add the route for POST, or correct the path.',
  },
  {
    name: 'content type refused',
    fits: status(415),
    title: 'The receiver does not take application/json.',
    fix: 'Accept Content-Type: application/json on this route.',
  },
  {
    name: 'content refused',
    fits: answered(400, 499),
    title: 'The receiver refuses the request.',
    fix: 'See what it answered. Events that you do not need should be answered with 200 all the same.',
  },
  {
    name: 'application unreachable',
    fits: status(502, 504),
    title: ({ server }) =>
      `A proxy answered in place of the receiver, which it could not reach.${whoSays(server)}`,
    fix: 'Start the application behind it, and check the address and the timeout that the proxy has for it.',
  },
  {
    name: 'unavailable',
    fits: status(503),
    title: 'The receiver says that it is overloaded or under maintenance.',
    fix: 'Bring it back. A Retry-After is heeded; “Probe now” asks at once.',
  },
  {
    name: 'receiver broke',
    fits: answered(500, 599),
    title: 'The receiver took the request and failed at it.',
    fix: 'Look at its log at the time of the last attempt.',
  },
]

const rules: readonly Rule[] = [...unreachable, ...refused]

const unknown: Rule = {
  name: 'unknown',
  fits: () => true,
  title: 'What happened fits none of the usual causes.',
  fix: 'See the answer below, and the log of your receiver at that time.',
}

/** `Host: a. is not in the cert's altnames: DNS:b, DNS:c` → ` It names b, c.` */
function namesIn(detail: string): string {
  const [, names] = /altnames: (.+)$/.exec(detail) ?? []
  return names === undefined ? '' : ` It names ${names.replaceAll(/(DNS|IP Address):/g, '')}.`
}
