/** A real mail server on loopback, by others: takes messages, or refuses, delays and hangs as it is told to. */
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly user: string | undefined
  readonly secure: boolean
  /** As it came, with CRLF. */
  readonly raw: string
  readonly subject: string
  readonly messageId: string
  /** Decoded. */
  readonly text: string
}

/** What the server says to a message: undefined takes it. */
export type Verdict = (mail: Mail) => Promise<Refusal | undefined> | Refusal | undefined

export interface Refusal {
  readonly code: number
  readonly text: string
}

export interface MailServer {
  readonly port: number
  /** What it took. */
  readonly taken: readonly Mail[]
  /** What it was shown, taken or not. */
  readonly shown: readonly Mail[]
  verdict: Verdict
  url(user?: string): string
  /** Resolves with everything taken once there is so much. */
  hasTaken(count: number): Promise<readonly Mail[]>
  hasShown(count: number): Promise<readonly Mail[]>
  close(): Promise<void>
}

export async function openMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const taken: Mail[] = []
  const shown: Mail[] = []
  const waiting: (() => void)[] = []
  const wake = () => waiting.splice(0).forEach((look) => void look())
  const reach = async (mails: readonly Mail[], count: number) => {
    while (mails.length < count) await new Promise<void>((seen) => waiting.push(seen))
    return mails
  }
  const server = new SMTPServer({
    logger: false,
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    closeTimeout: 100,
    onAuth: (auth, _session, done) => done(null, { user: auth.username }),
    onData(stream, session, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', async () => {
        const mail = describe(Buffer.concat(parts).toString('utf8'), session)
        shown.push(mail)
        wake()
        const refusal = await self.verdict(mail)
        if (refusal) return done(Object.assign(new Error(refusal.text), { responseCode: refusal.code }))
        taken.push(mail)
        wake()
        done(null)
      })
    },
    ...options,
  })
  server.on('error', () => {})
  const sockets = new Set<Socket>()
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.server.address() as AddressInfo
  const self: MailServer = {
    port,
    taken,
    shown,
    verdict: () => undefined,
    url: (user) => `smtp://${user === undefined ? '' : `${user}@`}127.0.0.1:${port}`,
    hasTaken: (count) => reach(taken, count),
    hasShown: (count) => reach(shown, count),
    close: () =>
      new Promise((closed) => {
        server.close(() => closed())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return self
}

interface SessionSeen {
  readonly envelope: { readonly mailFrom: false | { address: string }; readonly rcptTo: readonly { address: string }[] }
  readonly user?: unknown
  readonly secure: boolean
}

function describe(raw: string, { envelope, user, secure }: SessionSeen): Mail {
  return {
    from: envelope.mailFrom ? envelope.mailFrom.address : '',
    to: envelope.rcptTo.map(({ address }) => address),
    user: typeof user === 'string' ? user : undefined,
    secure,
    raw,
    ...parseMail(raw),
  }
}

/** Enough of MIME for messages of one part of plain text. */
export function parseMail(raw: string): Pick<Mail, 'subject' | 'messageId' | 'text'> & { headers: string[] } {
  const [head, ...rest] = raw.replaceAll('\r\n', '\n').split('\n\n')
  const headers = head!.replaceAll(/\n[ \t]+/g, ' ').split('\n')
  const find = (name: string) =>
    headers.find((line) => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  const body = rest.join('\n\n')
  const encoding = find('content-transfer-encoding')
  const text =
    encoding === 'base64'
      ? Buffer.from(body, 'base64').toString('utf8')
      : encoding === 'quoted-printable'
        ? decodeQuoted(body.replaceAll('=\n', ''))
        : body
  return {
    headers,
    subject: decodeWords(find('subject')),
    messageId: find('message-id'),
    text: text.replaceAll('\r\n', '\n'),
  }
}

function decodeWords(text: string): string {
  return text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, kind: string, word: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('utf8')
        : decodeQuoted(word.replaceAll('_', ' ')),
    )
}

function decodeQuoted(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
