/** The plan of the house (ARCHITECTURE.md), held to the files: a line in the wrong room fails here. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const home = fileURLToPath(new URL('../', import.meta.url))

/** From the roof down. Whoever is on a floor knows those below, and nobody beside or above. The rooms of web/ and of webhooks/ are rooms of their own, and so is a file of the root, or of web/. */
const floors: readonly (readonly string[])[] = [
  ['cli'],
  ['processes'],
  ['gateway'],
  ['site', 'worker-role', 'housekeeping', 'demo-idp'],
  ['demo'],
  ['web/routes'],
  ['web/sign-in-routes', 'web/administration-routes'],
  ['web/account', 'web/console', 'web/partner', 'web/route'],
  ['web/gates', 'web/sign-in'],
  ['web/frame', 'api', 'doctor'],
  ['context'],
  ['metrics'],
  ['proposals'],
  ['identity', 'tracing'],
  ['oauth', 'provisioning', 'webhooks/deliveries', 'webhooks/signature-debugger'],
  ['webhooks/health'],
  ['webhooks/engine'],
  ['webhooks/subscriptions'],
  ['webhooks/events', 'webhooks/outbound'],
  ['network'],
  ['partners'],
  ['users', 'described-route', 'sibling', 'storage'],
  ['http', 'notices', 'services', 'share'],
  ['brands'],
  ['audit', 'config', 'rounds'],
  ['database', 'settings'],
  ['crypto', 'words', 'name', 'repeat', 'source'],
  [
    'bell',
    'bounded-map',
    'brand',
    'clock',
    'cut',
    'demo-provider',
    'environment',
    'gather',
    'heap',
    'html',
    'loopback',
    'member-role',
    'printable',
    'problem',
  ],
  ['in-turn', 'permission', 'proposal-kind', 'rerun', 'schema', 'scope', 'single-flight', 'subnet'],
]

/** Statements about the database itself (locks, notifications, days), and the one look of the rounds, which is made of everybody's questions. */
const statementsElsewhere = ['src/database/', 'src/rounds.ts']

/** Names of other people's: parameters of OAuth, the languages in which partners write, and what entries of the audit log have held from the first. */
const wireNames: Readonly<Record<string, readonly string[]>> = {
  'src/api/gates.ts': ['client_id', 'client_secret'],
  'src/api/refused-call.ts': ['client_id'],
  'src/demo-provider.ts': ['acr_values'],
  'src/identity/journey.ts': [
    ...['pushed_authorization_request_endpoint', 'userinfo_endpoint', 'access_token', 'id_token'],
    ...['error_description', 'prompt_values_supported'],
  ],
  'src/identity/logout.ts': ['end_session_endpoint'],
  'src/identity/provider-test.ts': [
    ...['authorization_response_iss_parameter_supported', 'end_session_endpoint', 'acr_values_supported'],
    ...['code_challenge_methods_supported', 'backchannel_logout_supported'],
  ],
  'src/identity/said.ts': ['id_token_signing_alg_values_supported', 'auth_time', 'email_verified', 'id_token'],
  'src/identity/provider-look.ts': ['jwks_uri'],
  'src/identity/upstream.ts': ['jwks_uri', 'token_endpoint'],
  'src/oauth/authorization-request.ts': [
    ...['client_id', 'redirect_uri', 'response_type', 'code_challenge', 'code_challenge_method'],
  ],
  'src/oauth/introspection.ts': ['client_id', 'account_numbers'],
  'src/web/account/history-words.ts': ['account_number'],
  'src/web/partner/quick-starts.ts': ['basic_auth', 'is_a'],
  'src/web/partner/verifications.ts': ['is_genuine', 'compare_digest', 'secure_compare', 'to_s'],
  'src/web/sign-in/authorize.ts': ['client_id'],
  'src/web/sign-in/logout.ts': ['logout_token'],
}

interface Source {
  readonly path: string
  readonly text: string
  /** Paths of the files that it imports, for their values or their types. */
  readonly imports: readonly string[]
}

const sources = listFiles('src').map(readSource)
const shipped = sources.filter(({ path }) => !path.endsWith('.test.ts'))

function listFiles(folder: string): string[] {
  return readdirSync(join(home, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(home, join(entry.parentPath, entry.name)))
}

function readSource(path: string): Source {
  const text = readFileSync(join(home, path), 'utf8')
  const named = [...text.matchAll(/(?:\bfrom|\bimport\(|^import)\s*'(\.[^']+)'/gm)].map((found) => found[1]!)
  return { path, text, imports: named.map((name) => normalize(join(dirname(path), name))) }
}

function roomOf(path: string): string {
  const [, first, second] = path.replace(/\.ts$/, '').split('/')
  if (second === undefined) return first!
  return first === 'web' || first === 'webhooks' ? `${first}/${second}` : first!
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

test('every room has its floor', () => {
  const rooms = new Set(shipped.map(({ path }) => roomOf(path)))
  assert.deepEqual([...rooms].sort(), floors.flat().sort())
})

test('imports lead down: nobody knows who is above, or beside', () => {
  const floorOf = new Map(floors.flatMap((rooms, floor) => rooms.map((room) => [room, floor] as const)))
  const wrong = shipped.flatMap(({ path, imports }) =>
    imports
      .filter((imported) => roomOf(imported) !== roomOf(path))
      .filter((imported) => !isBelow(floorOf.get(roomOf(imported)), floorOf.get(roomOf(path))))
      .map((imported) => `${path} imports ${imported}`),
  )
  assert.deepEqual(wrong, [])
})

function isBelow(imported: number | undefined, importing: number | undefined): boolean {
  return imported !== undefined && importing !== undefined && imported > importing
}

test('no file imports itself by way of others, not even for a type', () => {
  const importsOf = new Map(shipped.map(({ path, imports }) => [path, imports]))
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, way: readonly string[]) => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '))
    if (way.includes(path) || done.has(path)) return
    for (const imported of importsOf.get(path) ?? []) visit(imported, [...way, path])
    done.add(path)
  }
  for (const { path } of shipped) visit(path, [])
  assert.deepEqual(circles, [])
})

test('statements live in the .sql.ts file of the room that owns the table', () => {
  const wrong = shipped
    .filter(({ path }) => !path.endsWith('.sql.ts') && !statementsElsewhere.some((place) => path.startsWith(place)))
    .filter(({ text }) =>
      /\bstatement\(\s*['"`]|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\s+[a-z_*]+\s+(?:FROM|SET|VALUES|\()/.test(
        withoutComments(text),
      ),
    )
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

/** Name by name, where it stands more than once. */
function findTwice(pattern: RegExp): { names: number; twice: string[] } {
  const found = shipped.flatMap(({ path, text }) =>
    [...withoutComments(text).matchAll(pattern)].map((match) => ({ path, name: match[1]! })),
  )
  const twice = [...Map.groupBy(found, ({ name }) => name)].filter(([, places]) => places.length > 1)
  return {
    names: found.length,
    twice: twice.map(([name, places]) => `${name}: ${places.map(({ path }) => path).join(', ')}`),
  }
}

test('no two statements have the same name: a connection that has prepared one of them refuses the other', () => {
  const { names, twice } = findTwice(/\bstatement\(\s*'(\w+)'/g)
  assert.deepEqual(twice, [])
  assert.ok(names > 80, `${names} names`)
})

test('no two rooms give a type of theirs the same name', () => {
  const { names, twice } = findTwice(/^export (?:interface|type|class) (\w+)/gm)
  assert.deepEqual(twice, [])
  assert.ok(names > 300, `${names} names`)
})

const snakeCase = '[a-z][a-z0-9]*(?:_[a-z0-9]+)+'
const declared = new RegExp(`readonly (${snakeCase})`, 'g')
/** Not in a word in quotes, such as an act's name. */
const read = new RegExp(`(?:(?<!['\\w.-])\\w+(?:[!?]*\\.\\w+)*|[)\\]])[!?]*\\.(${snakeCase})\\b`, 'g')
const takenApart = /\{([^{}]*)\}(?: =(?!>)|:|\)(?: =>|:)| of )|query<([^()]*)>\(/g

function snakeMembersOf(text: string): string[] {
  const code = withoutComments(text)
  const taken = [...code.matchAll(takenApart)].map((found) => found[1] ?? found[2]).join(' ')
  return [
    ...[...code.matchAll(declared), ...code.matchAll(read)].map((found) => found[1]!),
    ...(taken.match(new RegExp(`\\b${snakeCase}\\b`, 'g')) ?? []),
  ]
}

test('rows come out of statements in camelCase: nobody else knows the names of columns', () => {
  const wrong = shipped
    .filter(({ path }) => !path.endsWith('.sql.ts'))
    .flatMap(({ path, text }) =>
      snakeMembersOf(text)
        .filter((name) => !wireNames[path]?.includes(name))
        .map((name) => `${path}: ${name}`),
    )
  assert.deepEqual(wrong, [])
})

/** What only some may touch. */
const reserved = [
  { what: 'pg', pattern: /from 'pg'/, places: ['src/database/'] },
  {
    what: 'the environment',
    pattern: /\bprocess\.env\b/,
    // The quick starts are programs that partners copy.
    places: ['src/config.ts', 'src/settings/', 'src/cli/', 'src/processes/', 'src/web/partner/quick-starts.ts'],
  },
  {
    what: 'what may take two people',
    pattern:
      /\b(?:decide|setPartnerStatus|setRefreshAccess|setScopesAtMost|answerScopeRequest|resetSecondFactor|allowRemoval|addProvider|enableProvider)\(/,
    places: [
      ...['src/partners/', 'src/users/', 'src/provisioning/', 'src/identity/', 'src/proposals/', 'src/cli/'],
      ...['src/demo.ts', 'src/demo-idp.ts'],
    ],
  },
  {
    what: 'the clock',
    pattern: /\bDate\.now\(|\bnew Date\(\)/,
    places: ['src/clock.ts', 'src/cli/', 'src/database/shared-clock.ts'],
  },
] as const

for (const { what, pattern, places } of reserved) {
  test(`${what} is the matter of ${places.join(', ')} alone`, () => {
    const wrong = shipped
      .filter(({ path }) => !places.some((place) => path.startsWith(place)))
      .filter(({ text }) => pattern.test(withoutComments(text)))
    assert.deepEqual(
      wrong.map(({ path }) => path),
      [],
    )
  })
}

test('whatever is exported is imported by somebody', () => {
  const wordsOf = ({ path, text }: Source) => [...new Set(text.match(/\w+/g))].map((word) => ({ word, path }))
  const uses = Map.groupBy(
    [...sources, ...['test', 'bench'].flatMap(listFiles).map(readSource)].flatMap(wordsOf),
    ({ word }) => word,
  )
  const unused = shipped.flatMap(({ path, text }) =>
    [...text.matchAll(/^export (?:async )?(?:function|const|class|interface|type|enum) (\w+)/gm)]
      .map((found) => found[1]!)
      .filter((name) => uses.get(name)!.every((use) => use.path === path))
      .map((name) => `${path}: ${name}`),
  )
  assert.deepEqual(unused, [])
})

test('whatever is counted by address is counted by its networks too: no limit takes a subnet as its key', () => {
  const counting = sources.filter(({ text }) => /\.(count|check)\([^)]*(subnetOf|request\.ip)/.test(text))
  assert.deepEqual(
    counting.map(({ path }) => path),
    [],
  )
})

test('an image is judged in one place, which counts whoever sends it first', () => {
  const judging = shipped.filter(({ path, text }) => !path.startsWith('src/brands/') && /\bcheckImage\b/.test(text))
  assert.deepEqual(
    judging.map(({ path }) => path),
    ['src/web/frame/uploaded-image.ts'],
  )
})
