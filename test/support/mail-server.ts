/**
 * A real mail server on loopback, by others: takes messages, or refuses, delays and hangs as it is told to.
 */
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

interface SmtpSession {
  readonly envelope: {
    readonly mailFrom: false | { address: string }
    readonly rcptTo: readonly { address: string }[]
  }
  readonly user?: unknown
  readonly secure: boolean
}

function describe(raw: string, { envelope, user, secure }: SmtpSession): Mail {
  return {
    from: envelope.mailFrom ? envelope.mailFrom.address : '',
    to: envelope.rcptTo.map(({ address }) => address),
    user: typeof user === 'string' ? user : undefined,
    secure,
    raw,
    ...parseMail(raw),
  }
}

interface ParsedMail {
  readonly subject: string
  readonly messageId: string
  readonly headers: string[]
  /** Of the plain part. */
  readonly text: string
  /** Of the other, where there is one. */
  readonly html: string | undefined
  /** Of everything that is part of it. */
  readonly types: readonly string[]
  /** By the id that the HTML names it by. */
  readonly images: ReadonlyMap<string, Buffer>
}

interface Part {
  readonly headers: string[]
  readonly type: string
  readonly bytes: Buffer
  find(name: string): string
}

/** Enough of MIME for what we send: plain text, or that beside HTML, with images that it shows. */
export function parseMail(raw: string): ParsedMail {
  const [whole, ...inside] = partsOf(raw.replaceAll('\r\n', '\n'))
  const all = [whole!, ...inside]
  const textOf = (type: string) => all.find((part) => part.type === type)?.bytes.toString('utf8')
  return {
    headers: whole!.headers,
    subject: decodeWords(whole!.find('subject')),
    messageId: whole!.find('message-id'),
    text: (textOf('text/plain') ?? '').replaceAll('\r\n', '\n'),
    html: textOf('text/html'),
    types: all.map(({ type }) => type),
    images: new Map(
      all
        .filter(({ type }) => type.startsWith('image/'))
        .map((part) => [part.find('content-id').slice(1, -1), part.bytes]),
    ),
  }
}

/** Itself, and what is in it. */
function partsOf(raw: string): Part[] {
  const end = raw.indexOf('\n\n')
  const headers = raw
    .slice(0, end)
    .replaceAll(/\n[ \t]+/g, ' ')
    .split('\n')
  const find = (name: string) =>
    headers.find((line) => line.toLowerCase().startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  const body = raw.slice(end + 2)
  const type = find('content-type').split(';')[0]!
  const self = { headers, type, bytes: decodeBody(body, find('content-transfer-encoding')), find }
  const boundary = /boundary="([^"]+)"/.exec(find('content-type'))?.[1]
  if (boundary === undefined) return [self]
  const inside = body.split(`--${boundary}`).slice(1, -1)
  return [self, ...inside.flatMap((part) => partsOf(part.slice(1, -1)))]
}

function decodeBody(body: string, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(body, 'base64')
  if (encoding === 'quoted-printable') return Buffer.from(decodeQuoted(body.replaceAll('=\n', '')))
  return Buffer.from(body)
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
  const bytes = text.replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
