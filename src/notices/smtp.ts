/**
 * A mail server. TLS unless it is on this machine, a limit on every wait, and an answer that says whether to
 * try again.
 */
import { createTransport } from 'nodemailer'
import { second } from '../clock.ts'
import type { MailServer } from '../settings/config.ts'
import type { Mailbox } from '../settings/kinds.ts'
import type { Courier, SendResult } from './courier.ts'
import { composeMessage } from './message.ts'

/** For the whole of a message, however the server spends it; shorter than the lease of who sends. */
const smtpTimeoutMs = 30 * second
const silenceMs = 10 * second

function openTransport({ host, port, secure, user, password, requireTls, certificateAuthority }: MailServer) {
  return createTransport({
    pool: true,
    maxConnections: 1,
    // A connection that ends under way may have ended after the message was taken: whether to repeat is
    // decided outside.
    maxRequeues: 0,
    idleTimeout: silenceMs,
    host,
    port,
    secure,
    ...(!secure && (requireTls ? { requireTLS: true } : { ignoreTLS: true })),
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
    tls: { minVersion: 'TLSv1.2', ...(certificateAuthority !== undefined && { ca: certificateAuthority }) },
    connectionTimeout: silenceMs,
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    dnsTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

export function openSmtp(server: MailServer, from: Mailbox, deadlineMs = smtpTimeoutMs): Courier {
  let transport = openTransport(server)
  let closed = false
  const breakOff = () => {
    transport.close({ force: true })
    if (!closed) transport = openTransport(server)
  }
  return {
    async send(message) {
      if (closed) return { kind: 'away', why: 'The gateway closes.' }
      const tooLong = setTimeout(breakOff, deadlineMs)
      try {
        await transport.sendMail(composeMessage(from, message))
        return { kind: 'sent' }
      } catch (error) {
        return judge(error as SmtpError)
      } finally {
        clearTimeout(tooLong)
      }
    },
    close() {
      closed = true
      breakOff()
    },
  }
}

interface SmtpError extends Error {
  readonly code?: string
  readonly responseCode?: number
  readonly permanent?: boolean
  readonly response?: string
  readonly command?: string
}

/** Sign in first, or not by this way: about who sends, not about what. */
const notLetIn = [421, 530, 535, 538]

/**
 * Only what was said about this message can be the end of it. A server that does not let us in, does not know
 * our sender or does not relay for us (5.7.x) may do so tomorrow.
 */
function judge({ code, command, responseCode, permanent, response, message }: SmtpError): SendResult {
  const why = [code, response ?? message].filter((part) => part).join(': ')
  const isAboutMessage = (code === 'EENVELOPE' && command !== 'MAIL FROM') || code === 'EMESSAGE'
  const isAboutUs = notLetIn.includes(responseCode ?? 0) || /^5\d\d[ -]5\.7\./.test(response ?? '')
  if (!isAboutMessage || isAboutUs) return { kind: 'away', why }
  return permanent ? { kind: 'refused', why } : { kind: 'later', why }
}

/** Connects, starts TLS and signs in, and sends nothing. Undefined when that went well. */
export async function findServerProblem(server: MailServer): Promise<string | undefined> {
  const transport = openTransport(server)
  try {
    await transport.verify()
    return undefined
  } catch (error) {
    const { code, response, message } = error as SmtpError
    return [code, response ?? message].filter((part) => part).join(': ')
  } finally {
    transport.close({ force: true })
  }
}
