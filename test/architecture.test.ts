/** The plan of the house (ARCHITECTURE.md), held to the files: a line in the wrong room fails here. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  drawings,
  findCircles,
  listFolders,
  planOf,
  readSources,
  roomOf,
  type SourceFile,
} from './support/floor-plan.ts'

/** Rooms that do not know each other, though they might without a circle. */
const strangers: readonly (readonly string[])[] = [
  ['api', 'web'],
  ['oauth', 'webhooks'],
  ['web/account', 'web/partner', 'web/console'],
]

/** What stands beside the rooms. */
const atTheDoor = ['src/clock.ts', 'src/context.ts', 'src/problem.ts']

/**
 * Statements about the database itself (locks, notifications, days), and the one look of the rounds, which is
 * made of everybody's questions.
 */
const statementsElsewhere = ['src/database/']

/**
 * Names of other people's: parameters of OAuth, the languages in which partners write, and what entries of
 * the audit log have held from the first.
 */
const wireNames: Readonly<Record<string, readonly string[]>> = {
  'src/api/gates/gates.ts': ['client_id', 'client_secret'],
  'src/api/frame/call-description.ts': ['client_assertion', 'client_id'],
  'src/api/gates/client-proof.ts': [
    ...['client_assertion', 'client_assertion_type', 'client_id', 'client_secret'],
  ],
  'src/api/v1/par.ts': ['request_uri'],
  'src/demo/demo-provider.ts': ['acr_values'],
  'src/documents/administration.ts': ['error_description'],
  'src/identity/journey.ts': [
    ...['pushed_authorization_request_endpoint', 'userinfo_endpoint', 'access_token', 'id_token'],
    ...['error_description', 'prompt_values_supported'],
  ],
  'src/identity/logout.ts': ['end_session_endpoint'],
  'src/identity/provider-test.ts': [
    ...['authorization_response_iss_parameter_supported', 'end_session_endpoint', 'acr_values_supported'],
    ...['code_challenge_methods_supported', 'backchannel_logout_supported'],
  ],
  'src/identity/claims.ts': [
    'id_token_signing_alg_values_supported',
    'auth_time',
    'email_verified',
    'id_token',
  ],
  'src/identity/provider-look.ts': ['jwks_uri'],
  'src/identity/upstream.ts': ['jwks_uri', 'token_endpoint'],
  'src/oauth/authorization-request.ts': [
    ...['client_id', 'redirect_uri', 'response_type', 'code_challenge', 'code_challenge_method'],
    ...['max_age', 'acr_values', 'dpop_jkt'],
  ],
  'src/oauth/introspection.ts': ['client_id', 'account_numbers'],
  'src/web/account/history-words.ts': ['account_number'],
  'src/web/partner/reference/quick-starts.ts': ['basic_auth', 'is_a'],
  'src/web/partner/reference/verifications.ts': ['is_genuine', 'compare_digest', 'secure_compare', 'to_s'],
  'src/web/sign-in/authorize.ts': ['client_id', 'request_uri'],
  'src/web/sign-in/logout.ts': ['logout_token'],
}

const sources = readSources('src')
const shipped = sources.filter(({ path }) => !path.endsWith('.test.ts'))
const plan = planOf(shipped)
const architecture = readFileSync('ARCHITECTURE.md', 'utf8')

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

test('no folder imports itself by way of others, not even for a type', () => {
  assert.deepEqual(findCircles(plan), [])
})

test('no file imports itself by way of others, not even for a type', () => {
  const knows = new Map(shipped.map(({ path, imports }) => [path, imports.map((other) => other.path)]))
  assert.deepEqual(findCircles(knows), [])
})

for (const rooms of strangers) {
  test(`${rooms.join(' and ')} do not know each other`, () => {
    const hostOf = (path: string) => rooms.find((room) => `${roomOf(path)}/`.startsWith(`${room}/`))
    const wrong = shipped.flatMap(({ path, imports }) =>
      imports
        .filter((other) => hostOf(path) && hostOf(other.path) && hostOf(path) !== hostOf(other.path))
        .map((other) => `${path} imports ${other.path}`),
    )
    assert.deepEqual(wrong, [])
  })
}

test('three files stand beside the rooms', () => {
  const beside = shipped.filter(({ path }) => path.split('/').length === 2)
  assert.deepEqual(beside.map(({ path }) => path).sort(), atTheDoor)
})

test('ARCHITECTURE.md names every folder of the source, and none that there is not', () => {
  const folders = new Set([...plan.keys()].filter((room) => !room.endsWith('.ts')).flatMap(withThoseAbove))
  assert.deepEqual([...listFolders(architecture)].sort(), [...folders].sort())
})

function withThoseAbove(folder: string): string[] {
  return folder.split('/').map((_, index, names) => names.slice(0, index + 1).join('/'))
}

test('the drawings of ARCHITECTURE.md are of these files: npm run draw draws them', () => {
  for (const drawing of drawings(plan)) assert.ok(architecture.includes(drawing), drawing)
})

test('statements live in the .sql.ts file of the room that owns the table', () => {
  const wrong = shipped
    .filter(
      ({ path }) => !path.endsWith('.sql.ts') && !statementsElsewhere.some((place) => path.startsWith(place)),
    )
    .filter(({ text }) =>
      /\bstatement\(\{|\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\s+[a-z_*]+\s+(?:FROM|SET|VALUES|\()/.test(
        withoutComments(text),
      ),
    )
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  )
})

/** Where a part of what was found is put back it has a number too. */
const replacement = /\.replace(?:All)?\(\s*\/.*\/g,\s*'.*'/g

test('parameters of statements have names, in what is said of them too', () => {
  const numbered = shipped
    .filter(({ path }) => path.endsWith('.sql.ts'))
    .flatMap(({ path, text }) =>
      (text.replace(replacement, '').match(/.*\$\d.*/g) ?? []).map((line) => `${path}: ${line.trim()}`),
    )
  assert.deepEqual(numbered, [])
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

test('no two rooms give a type of theirs the same name', () => {
  const { names, twice } = findTwice(/^export (?:interface|type|class) (\w+)/gm)
  assert.deepEqual(twice, [])
  assert.ok(names > 300, `${names} names`)
})

const snakeCase = '[a-z][a-z0-9]*(?:_[a-z0-9]+)+'
const declared = new RegExp(`readonly (${snakeCase})`, 'g')
/** Not in a word in quotes, such as an act's name. */
const read = new RegExp(`(?:(?<!['\\w.-])\\w+(?:[!?]*\\.\\w+)*|[)\\]])[!?]*\\.(${snakeCase})\\b`, 'g')
const takenApart = /\{([^{}]*)\}(?: =(?!>)|:|\)(?: =>|:)| of )/g

function snakeMembersOf(text: string): string[] {
  const code = withoutComments(text)
  const taken = [...code.matchAll(takenApart)].map((found) => found[1]).join(' ')
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
    places: ['src/settings/', 'src/cli/', 'src/processes/', 'src/web/partner/reference/quick-starts.ts'],
  },
  {
    what: 'what may take two people',
    pattern:
      /\b(?:decide|setPartnerStatus|setRefreshAccess|setScopesAtMost|answerScopeRequest|resetSecondFactor|allowRemoval|addProvider|enableProvider)\(/,
    places: [
      ...['src/partners/', 'src/users/', 'src/provisioning/', 'src/identity/', 'src/proposals/', 'src/cli/'],
      'src/demo/',
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

test('what brokerages install beside their APIs knows nothing of the gateway, and depends on nobody', () => {
  const library = readSources('resource/src')
  assert.ok(library.length > 10)
  const strangers = library.flatMap(({ path, text, imports }) => [
    ...imports
      .filter((other) => !other.path.startsWith('resource/src/'))
      .map((other) => `${path}: ${other.path}`),
    ...[...text.matchAll(/from '([^.'][^']*)'/g)]
      .filter(([, name]) => !name!.startsWith('node:'))
      .map(([, name]) => `${path}: ${name}`),
  ])
  assert.deepEqual(strangers, [])
  assert.deepEqual(
    findCircles(new Map(library.map(({ path, imports }) => [path, imports.map((each) => each.path)]))),
    [],
  )
  const { dependencies, peerDependencies, exports } = JSON.parse(
    readFileSync('resource/package.json', 'utf8'),
  )
  assert.deepEqual([dependencies, peerDependencies], [undefined, undefined])
  const built = Object.values<string>(exports).map((file) =>
    file.replace(/^\.\/dist\//, 'resource/src/').replace(/\.js$/, '.ts'),
  )
  const files = library.map(({ path }) => path)
  for (const file of built) assert.ok(files.includes(file), file)
})

/** Programs that partners copy. */
const examples = ['src/web/partner/reference/quick-starts.ts', 'src/web/partner/reference/verifications.ts']

test('whatever is exported is imported by name, from where it is', () => {
  const all = [...sources, ...['test', 'bench'].flatMap(readSources)]
  const unused = shipped
    .filter(({ path }) => !examples.includes(path))
    .flatMap(({ path, text }) => {
      const users = all.flatMap((user) =>
        user.imports.filter((other) => other.path === path).map(({ names }) => ({ user, names })),
      )
      return [...text.matchAll(/^export (?:async )?(?:function|const|class|interface|type|enum) (\w+)/gm)]
        .map((found) => found[1]!)
        .filter(
          (name) => !users.some(({ user, names }) => (names ? names.includes(name) : mentions(user, name))),
        )
        .map((name) => `${path}: ${name}`)
    })
  assert.deepEqual(unused, [])
})

/** Of a whole file that was imported (`import * as`): what is said of it. */
function mentions({ text }: SourceFile, name: string): boolean {
  return new RegExp(`\\b${name}\\b`).test(text)
}

test('whatever is counted by address is counted by its networks too: no limit takes a subnet as its key', () => {
  const counting = sources.filter(({ text }) => /\.(count|check)\([^)]*(subnetOf|request\.ip)/.test(text))
  assert.deepEqual(
    counting.map(({ path }) => path),
    [],
  )
})

test('an image is judged in one place, which counts whoever sends it first', () => {
  const judging = shipped.filter(
    ({ path, text }) => !path.startsWith('src/brands/') && /\bcheckImage\b/.test(text),
  )
  assert.deepEqual(
    judging.map(({ path }) => path),
    ['src/web/frame/uploaded-image.ts'],
  )
})
