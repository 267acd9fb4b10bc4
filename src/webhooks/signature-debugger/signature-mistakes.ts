/**
 * The usual mistakes of programs that verify a signature: what each is called, how it is undone, and what it
 * makes of a body or a key.
 */
import { decodeStandardKey } from '../outbound/signature.ts'

export interface SignatureMistake {
  readonly name: string
  /** What went wrong. */
  readonly words: string
  readonly fix: string
}

const rawBody = 'Take the raw bytes of the request, before any parser has touched them.'

export const mistakes = {
  printedAnew: {
    name: 'parsed and printed anew',
    words:
      'The body was parsed and printed anew: spaces, the order of keys or the digits of numbers changed.',
    fix: rawBody,
  },
  encodedTwice: {
    name: 'encoded twice',
    words: 'The body was printed as a JSON string once more.',
    fix: rawBody,
  },
  escaped: {
    name: 'escaped otherwise',
    words: 'The body was printed anew by a library that escapes slashes, or letters that are not ASCII.',
    fix: rawBody,
  },
  newlineAdded: {
    name: 'trailing newline added',
    words: 'There is a line break at the end that was not sent.',
    fix: 'Do not add one: echo does, printf does not; editors do when they save.',
  },
  newlineCut: {
    name: 'trailing newline cut',
    words: 'A line break at the end, or another space, was cut off.',
    fix: 'Do not trim the body.',
  },
  lineEnds: {
    name: 'line breaks changed',
    words: 'The line breaks were changed between LF and CRLF.',
    fix: `${rawBody} Open files in binary mode.`,
  },
  byteOrderMark: {
    name: 'byte order mark',
    words: 'There is a byte order mark at the beginning, or one was taken away.',
    fix: 'Read and write UTF-8 without a byte order mark.',
  },
  emptyBody: {
    name: 'body read already',
    words: 'An empty body was signed: something before had read it.',
    fix: 'Keep the raw body where the first parser sees it, and verify that. In Express: express.raw() on this route.',
  },
  printedObject: {
    name: 'object in place of text',
    words: 'A parsed object was signed as text, not the body.',
    fix: rawBody,
  },
  otherBody: {
    name: 'another body',
    words: 'The body is not what was sent.',
    fix: `${rawBody} Look at the first byte that differs.`,
  },
  wrongSecret: {
    name: 'wrong secret',
    words: 'No secret of yours that is known here made this signature.',
    fix: 'Check which client registered the webhook, whether it has a secret of its own, and that live and sandbox are not mixed up.',
  },
  anotherSecret: {
    name: 'another secret',
    words: 'It is a right secret of yours, but not the one that signs this webhook.',
    fix: 'A webhook that has a secret of its own is signed with that alone; any other with the secret of its client.',
  },
  oldSecret: {
    name: 'old secret after rotation',
    words: 'It was made with a secret that has been replaced.',
    fix: 'Put the new secret where your program reads it, and restart it.',
  },
  nextSecret: {
    name: 'next secret too early',
    words: 'It was made with a secret that does not sign yet.',
    fix: 'Until it does, verify with the current one, or accept any signature of webhook-signature.',
  },
  secretNewline: {
    name: 'line break in the secret',
    words: 'The secret was read with a line break at its end.',
    fix: 'Trim what you read from a file or a variable.',
  },
  secretQuotes: {
    name: 'quotes around the secret',
    words: 'The secret was read with quotes around it.',
    fix: 'Take the quotes out of the file or variable.',
  },
  secretDecoded: {
    name: 'secret decoded',
    words: 'The secret was decoded from hex or base64 before it was used.',
    fix: 'Use the text of the secret as it is, in UTF-8.',
  },
  secretPrefix: {
    name: 'prefix of the secret cut off',
    words: 'The secret was used without what it begins with.',
    fix: 'Use the whole text of the secret, with its prefix.',
  },
  base64: {
    name: 'base64 for hex',
    words: 'It is written in base64; x-webhook-signature is in hex.',
    fix: 'Print the HMAC as lower-case hex.',
  },
  upperCase: {
    name: 'upper case',
    words: 'It is written in upper case; x-webhook-signature is in lower-case hex.',
    fix: 'Print it in lower case, or compare the bytes.',
  },
  prefix: {
    name: 'prefix',
    words: 'It begins with something like sha256=, which x-webhook-signature does not have.',
    fix: 'Compare without it.',
  },
  cutOff: {
    name: 'cut off',
    words: 'It has not the length of an HMAC-SHA256, which is 64 hex digits or 44 characters of base64.',
    fix: 'Paste and compare all of it.',
  },
  headersMissing: {
    name: 'headers missing',
    words: 'webhook-signature is made over webhook-id and webhook-timestamp too, and these were not pasted.',
    fix: 'Paste all the headers that came.',
  },
  noSignature: {
    name: 'no signature',
    words: 'It is neither hex nor base64.',
    fix: 'Paste the value of the header.',
  },
  standardContent: {
    name: 'signed for the other header',
    words: 'It was made over id.timestamp.body, which is for webhook-signature, and printed there in base64.',
    fix: 'For x-webhook-signature sign the body alone.',
  },
  bodyAlone: {
    name: 'signed for the other header',
    words: 'It was made over the body alone, which is for x-webhook-signature.',
    fix: 'For webhook-signature sign webhook-id, webhook-timestamp and the body, put together with dots.',
  },
  otherHash: {
    name: 'another hash',
    words: 'It was made with SHA-1 or SHA-512.',
    fix: 'Use HMAC-SHA256.',
  },
  noHmac: {
    name: 'hash without HMAC',
    words: 'It is a plain hash of secret and body, not an HMAC.',
    fix: 'Use HMAC-SHA256 with the secret as the key.',
  },
} as const satisfies Record<string, SignatureMistake>

/** A body as a mistake leaves it. */
export interface MistakenBody {
  readonly bytes: Buffer
  /** The program that signed this made the mistake. */
  readonly made: SignatureMistake
  /** This is what was sent, and the other has been through the mistake. */
  readonly undone: SignatureMistake
}

const both = (mistake: SignatureMistake) => ({ made: mistake, undone: mistake })
const cutting = { made: mistakes.newlineCut, undone: mistakes.newlineAdded }
const adding = { made: mistakes.newlineAdded, undone: mistakes.newlineCut }

/** What the usual mistakes make of a body, each once, without those that change nothing. */
export function bodyMistakes(body: Buffer): MistakenBody[] {
  const text = body.toString('utf8')
  const made: readonly (readonly [Omit<MistakenBody, 'bytes'>, string])[] = [
    [cutting, text.replace(/\r?\n$/, '')],
    [adding, `${text}\n`],
    [adding, `${text}\r\n`],
    [both(mistakes.lineEnds), text.replaceAll('\r\n', '\n')],
    [both(mistakes.lineEnds), text.replaceAll(/\r?\n/g, '\r\n')],
    [both(mistakes.byteOrderMark), text.replace(/^\uFEFF/, '')],
    [both(mistakes.byteOrderMark), `\uFEFF${text}`],
    [cutting, text.trim()],
    ...printedAnew(text),
    [both(mistakes.emptyBody), ''],
    [both(mistakes.emptyBody), '{}'],
    [both(mistakes.printedObject), '[object Object]'],
    [both(mistakes.printedObject), 'undefined'],
    [both(mistakes.encodedTwice), JSON.stringify(text)],
  ]
  const seen = new Set([text])
  return made.flatMap(([named, changed]) => {
    if (seen.has(changed)) return []
    seen.add(changed)
    return [{ ...named, bytes: Buffer.from(changed) }]
  })
}

type Printer = (value: unknown) => string

/** As the usual libraries print it. */
function printedAnew(text: string): (readonly [Omit<MistakenBody, 'bytes'>, string])[] {
  const value = parse(text)
  if (typeof value !== 'object' || value === null) return []
  const compact: Printer = (each) => JSON.stringify(each)
  const indented = [2, 4, '\t'].map(
    (indent): Printer =>
      (each) =>
        JSON.stringify(each, undefined, indent),
  )
  const shapes = [compact, printSpaced, ...indented]
  const texts = [...shapes.map((print) => print(value)), ...shapes.map((print) => print(sorted(value)))]
  const escaped = [compact, printSpaced].map((print) => print(value))
  return [
    ...texts.map((each) => [both(mistakes.printedAnew), each] as const),
    ...escaped.map((each) => [both(mistakes.escaped), each.replaceAll('/', '\\/')] as const),
    ...escaped.map((each) => [both(mistakes.escaped), asciiOnly(each)] as const),
    ...escaped.map((each) => [both(mistakes.escaped), asciiOnly(each.replaceAll('/', '\\/'))] as const),
  ]
}

/** Deep enough for what is sent; deeper things are not JSON of ours. */
const deepest = 20

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text.replace(/^\uFEFF/, ''))
    return depthOf(text) > deepest ? undefined : value
  } catch {
    return undefined
  }
}

/** At most; brackets within strings count too. */
function depthOf(text: string): number {
  let depth = 0
  let most = 0
  for (const character of text) {
    if (character === '{' || character === '[') most = Math.max(most, ++depth)
    else if (character === '}' || character === ']') depth--
  }
  return most
}

/** `{"a": 1, "b": [2, 3]}`, as Python prints. */
function printSpaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(printSpaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const pairs = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${printSpaced(each)}`)
  return `{${pairs.join(', ')}}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const pairs = Object.entries(value).map(([key, each]) => [key, sorted(each)] as const)
  return Object.fromEntries(pairs.sort(([one], [other]) => (one < other ? -1 : 1)))
}

function asciiOnly(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Whether two texts say the same, whatever they look like. */
export function isSameJson(one: string, other: string): boolean {
  const [left, right] = [parse(one), parse(other)]
  return left !== undefined && JSON.stringify(sorted(left)) === JSON.stringify(sorted(right))
}

/** What the usual mistakes make of a secret. */
export function keyMistakes(
  secret: string,
): { readonly key: string | Buffer; readonly mistake: SignatureMistake }[] {
  const rest = secret.replace(/^[A-Za-z]+_/, '')
  const decoded = decodeStandardKey(secret)
  return [
    { key: `${secret}\n`, mistake: mistakes.secretNewline },
    { key: `${secret}\r\n`, mistake: mistakes.secretNewline },
    { key: `"${secret}"`, mistake: mistakes.secretQuotes },
    { key: `'${secret}'`, mistake: mistakes.secretQuotes },
    ...(rest === secret ? [] : [{ key: rest, mistake: mistakes.secretPrefix }]),
    ...(decoded ? [] : [{ key: Buffer.from(rest, 'base64'), mistake: mistakes.secretDecoded }]),
    ...(/^([0-9a-f]{2})+$/i.test(rest)
      ? [{ key: Buffer.from(rest, 'hex'), mistake: mistakes.secretDecoded }]
      : []),
  ]
}
