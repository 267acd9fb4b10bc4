import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findUrlProblem, type GuardPolicy, isAllowedAddress, literalOf } from './address-guard.ts'

const strict: GuardPolicy = { allowLoopback: false, ports: [443, 8443] }
const local: GuardPolicy = { allowLoopback: true, ports: [443, 8443] }

/** One or more of each range, its ends among them. */
const forbiddenV4: Record<string, string[]> = {
  loopback: ['127.0.0.1', '127.0.0.0', '127.1.2.3', '127.255.255.255'],
  unspecified: ['0.0.0.0', '0.0.0.1', '0.255.255.255'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'link-local': ['169.254.0.0', '169.254.255.255'],
  'carrier-grade NAT': ['100.64.0.0', '100.127.255.255'],
  benchmark: ['198.18.0.0', '198.19.255.255'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1'],
  multicast: ['224.0.0.1', '239.255.255.255'],
  reserved: ['240.0.0.1', '255.255.255.254', '255.255.255.255', '192.0.0.1', '192.0.0.255'],
  metadata: ['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16'],
}

const forbiddenV6: Record<string, string[]> = {
  loopback: ['::1', '0:0:0:0:0:0:0:1'],
  unspecified: ['::'],
  'link-local': ['fe80::1', 'febf::1'],
  'site-local': ['fec0::1'],
  'unique-local': ['fc00::1', 'fd00::1', 'fdff::1'],
  metadata: ['fd00:ec2::254', 'fd20:ce::254'],
  multicast: ['ff02::1', 'ff0e::1'],
  documentation: ['2001:db8::1', '3fff::1'],
  discard: ['100::1'],
  benchmark: ['2001:2::1'],
  orchid: ['2001:10::1', '2001:20::1'],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  'segment routing': ['5f00::1'],
  'outside of global unicast': ['4000::1', '8000::1', 'e000::1', '1::1'],
}

const allowed = [
  '8.8.8.8',
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
]
const allowedToo = [
  '100.63.255.255',
  '100.128.0.0',
  '168.63.129.15',
  '223.255.255.254',
  '2606:4700:4700::1111',
]

/** The IPv6 addresses that carry an IPv4 address inside. */
function carriersOf(v4: string): Record<string, string> {
  const [a, b, c, d] = v4.split('.').map(Number) as [number, number, number, number]
  const high = (a * 256 + b).toString(16)
  const low = (c * 256 + d).toString(16)
  const flip = (part: string) => (0xffff ^ Number.parseInt(part, 16)).toString(16)
  return {
    mapped: `::ffff:${v4}`,
    'mapped in hex': `::ffff:${high}:${low}`,
    'mapped in full': `0:0:0:0:0:ffff:${high}:${low}`,
    translated: `::ffff:0:${high}:${low}`,
    compat: `::${high}:${low}`,
    NAT64: `64:ff9b::${high}:${low}`,
    'local NAT64': `64:ff9b:1::${high}:${low}`,
    'local NAT64, /48': `64:ff9b:1:${high}:${(c * 256).toString(16)}:${low}::`,
    '6to4': `2002:${high}:${low}::1`,
    Teredo: `2001:0:${high}:${low}::1`,
    'Teredo client': `2001:0:4136:e378:8000:63bf:${flip(high)}:${flip(low)}`,
  }
}

for (const [range, addresses] of Object.entries(forbiddenV4)) {
  test(`${range} addresses of IPv4 are forbidden, plain and inside of every IPv6 form`, () => {
    for (const address of addresses) {
      assert.equal(isAllowedAddress(address, strict), false, address)
      for (const [form, carrier] of Object.entries(carriersOf(address))) {
        assert.equal(isAllowedAddress(carrier, strict), false, `${form} ${carrier}`)
        // The compat form of 0.0.0.1 is ::1 itself.
        const isLoopback = form === 'compat' && address === '0.0.0.1'
        assert.equal(isAllowedAddress(carrier, local), isLoopback, `${form} ${carrier}`)
      }
    }
  })
}

for (const [range, addresses] of Object.entries(forbiddenV6)) {
  test(`${range} addresses of IPv6 are forbidden`, () => {
    for (const address of addresses) {
      assert.equal(isAllowedAddress(address, strict), false, address)
      assert.notEqual(findUrlProblem(`https://[${address}]/`, strict), undefined, address)
    }
  })
}

test('forms that carry a public IPv4 address inside are forbidden all the same', () => {
  for (const [form, carrier] of Object.entries(carriersOf('8.8.8.8')))
    assert.equal(isAllowedAddress(carrier, strict), false, `${form} ${carrier}`)
})

test('public addresses are allowed, to the edges of the forbidden ranges', () => {
  for (const address of [...allowed, ...allowedToo]) {
    assert.equal(isAllowedAddress(address, strict), true, address)
    const host = address.includes(':') ? `[${address}]` : address
    assert.equal(findUrlProblem(`https://${host}/`, strict), undefined, address)
  }
})

test('what is no address is forbidden', () => {
  for (const text of [
    '',
    'localhost',
    'example.com',
    '1.2.3.4.5',
    ':::',
    '127.0.0.1:80',
    'fe80::1%eth0',
    '[::1]',
  ])
    assert.equal(isAllowedAddress(text, local), false, text)
})

test('with loopback allowed, loopback is all that is added', () => {
  for (const address of ['127.0.0.1', '127.1.2.3', '::1'])
    assert.equal(isAllowedAddress(address, local), true, address)
  for (const [range, addresses] of Object.entries({ ...forbiddenV4, ...forbiddenV6 })) {
    if (range === 'loopback') continue
    for (const address of addresses) assert.equal(isAllowedAddress(address, local), false, address)
  }
})

/** The ways in which `new URL` and resolvers read an IPv4 address. */
function notationsOf(v4: string): string[] {
  const parts = v4.split('.').map(Number) as [number, number, number, number]
  const [a, b, c, d] = parts
  const whole = ((a * 256 + b) * 256 + c) * 256 + d
  const octal = (part: number) => `0${part.toString(8)}`
  const hex = (part: number) => `0x${part.toString(16)}`
  return [
    v4,
    `${v4}.`,
    String(whole),
    octal(whole),
    hex(whole),
    `0X${whole.toString(16).toUpperCase()}`,
    `0x${whole.toString(16).padStart(16, '0')}`,
    parts.map(octal).join('.'),
    parts.map(hex).join('.'),
    `${hex(a)}.${octal(b)}.${c}.${d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    v4.replaceAll('.', '%2e'),
    [...v4].map((sign) => (sign === '.' ? sign : `%3${sign}`)).join(''),
  ]
}

test('every notation of every forbidden IPv4 address is refused in a URL', () => {
  for (const address of Object.values(forbiddenV4).flat()) {
    for (const host of notationsOf(address)) {
      for (const url of [`https://${host}/`, `https://${host}:8443/hooks`]) {
        assert.notEqual(findUrlProblem(url, strict), undefined, url)
      }
    }
    for (const [form, carrier] of Object.entries(carriersOf(address)))
      assert.notEqual(findUrlProblem(`https://[${carrier}]/`, strict), undefined, `${form} ${carrier}`)
  }
})

test('local names are refused, with a trailing dot and as subdomains too', () => {
  const hosts = [
    'localhost',
    'LOCALHOST',
    'localhost.',
    'foo.localhost',
    'foo.localhost.',
    'a.b.localhost',
    'printer.local',
    'printer.local.',
    'metadata.google.internal',
    'metadata.google.internal.',
    'router.home.arpa',
    'intranet',
    'intranet.',
    'metadata',
    'metadata.',
    '%6c%6f%63%61%6c%68%6f%73%74',
  ]
  for (const host of hosts) assert.notEqual(findUrlProblem(`https://${host}/`, strict), undefined, host)
})

test('with loopback allowed, http and any port are for loopback alone', () => {
  for (const url of [
    'http://localhost:3000/',
    'http://127.0.0.1:1/',
    'http://[::1]:8080/',
    'https://localhost:9/',
  ])
    assert.equal(findUrlProblem(url, local), undefined, url)
  for (const url of [
    'http://example.com/',
    'http://10.0.0.1/',
    'http://localhost.example.com/',
    'http://127.0.0.1.example.com/',
    'http://[::ffff:127.0.0.1]/',
    'https://example.com:3000/',
    'https://[::ffff:127.0.0.1]/',
    'https://10.0.0.1/',
    'ftp://localhost/',
  ])
    assert.notEqual(findUrlProblem(url, local), undefined, url)
})

test('without it, http is refused for everything', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'example.com', '8.8.8.8'])
    assert.match(findUrlProblem(`http://${host}/`, strict) ?? '', /https/)
})

test('only the ports on the list are allowed, the default one among them', () => {
  for (const url of ['https://example.com/', 'https://example.com:443/', 'https://example.com:8443/'])
    assert.equal(findUrlProblem(url, strict), undefined, url)
  for (const port of [0, 1, 22, 25, 80, 444, 5432, 6379, 8080, 65_535])
    assert.match(findUrlProblem(`https://example.com:${port}/`, strict) ?? '', /ports 443, 8443/)
  assert.match(findUrlProblem('https://example.com/', { ...strict, ports: [8443] }) ?? '', /ports/)
})

test('credentials, fragments and other schemes are refused', () => {
  for (const url of [
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://:password@example.com/',
    'https://8.8.8.8@10.0.0.1/',
    'https://example.com/#fragment',
    'https://example.com/#',
    'ftp://example.com/',
    'gopher://example.com/',
    'file:///etc/passwd',
    'javascript:alert(1)',
  ])
    assert.notEqual(findUrlProblem(url, strict), undefined, url)
})

test('backslashes, tabs and look-alike signs do not hide a host', () => {
  for (const url of [
    'https:\\\\127.0.0.1\\',
    'https://127.0.0.1\\.example.com/',
    'https://127。0。0。1/',
    'https://①②⑦.0.0.1/',
    'https://loc\talhost/',
    'https:127.0.0.1/',
    'https:/127.0.0.1/',
    'https:////127.0.0.1/',
  ])
    assert.notEqual(findUrlProblem(url, strict), undefined, url)
})

test('a literal is told from a name', () => {
  assert.equal(literalOf('127.0.0.1'), '127.0.0.1')
  assert.equal(literalOf('[::1]'), '::1')
  assert.equal(literalOf('example.com'), undefined)
})
