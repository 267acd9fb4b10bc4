/**
 * An identity provider for the demo and for tests: oidc-provider with people who need no password, and a box
 * to tick for a second factor. The package is one of development: it is looked for where it is needed, and
 * nothing that serves a brokerage loads it.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface DemoProviderOptions {
  /** 0 takes a free one. */
  readonly port: number
  readonly host: string
  /** What it says of people, by their subject. */
  readonly people: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** As OpenID Connect registers them. */
  readonly clients: readonly Readonly<Record<string, unknown>>[]
  /** What signs; made up unless given. */
  readonly keys?: readonly object[]
}

interface DemoProvider {
  readonly issuer: string
  readonly server: ReturnType<typeof createServer>
  close(): Promise<void>
}

export const secondFactorAcr = 'urn:demo:two-factor'
const passwordAcr = 'urn:demo:password'

/** As much of oidc-provider as is used; it ships no types. */
interface Library {
  readonly Provider: new (issuer: string, configuration: object) => OidcServer
  readonly interactionPolicy: { base(): Policy; Check: CheckClass }
}

interface OidcServer {
  readonly Grant: new (fields: object) => { addOIDCScope(scope: string): void; save(): Promise<string> }
  callback(): RequestListener
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<{ readonly uid: string }>
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  on(event: string, heard: (...words: unknown[]) => void): void
}

interface Policy {
  get(prompt: string): { readonly checks: { add(check: object): void } }
}

interface CheckClass {
  new (reason: string, description: string, check: (context: OidcContext) => boolean): object
  readonly REQUEST_PROMPT: boolean
  readonly NO_NEED_TO_PROMPT: boolean
}

interface OidcContext {
  readonly oidc: {
    readonly params: { readonly acr_values?: string; readonly scope: string }
    readonly acr?: string
    readonly result?: { readonly login?: object }
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string }
    readonly provider: OidcServer
  }
}

async function load(): Promise<Library> {
  const name = 'oidc-provider'
  return import(name).catch((error: unknown) => {
    const remedy = 'Run npm ci in the sources: it installs what development needs.'
    throw new Error(
      `The demo's identity provider needs the package oidc-provider, which is not installed. ${remedy}`,
      {
        cause: error,
      },
    )
  })
}

export async function openDemoProvider(options: DemoProviderOptions): Promise<DemoProvider> {
  const library = await load()
  const server = createServer().listen(options.port, options.host)
  await once(server, 'listening')
  const issuer = `http://${options.host}:${(server.address() as AddressInfo).port}`
  const running = new library.Provider(issuer, configure(library, options))
  const others = running.callback()
  server.on('request', (request, response) => {
    const [, uid] = /^\/interaction\/([\w-]+)$/.exec(request.url ?? '') ?? []
    if (uid === undefined) return others(request, response)
    interact(running, options, request, response).catch(() => response.writeHead(400).end('Begin again.'))
  })
  return {
    issuer,
    server,
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

function configure({ interactionPolicy }: Library, { people, clients, keys }: DemoProviderOptions): object {
  const policy = interactionPolicy.base()
  const { Check } = interactionPolicy
  const asksForMore = ({ oidc }: OidcContext) =>
    oidc.params.acr_values?.split(' ').includes(secondFactorAcr) &&
    oidc.acr !== secondFactorAcr &&
    oidc.result?.login === undefined
      ? Check.REQUEST_PROMPT
      : Check.NO_NEED_TO_PROMPT
  policy.get('login').checks.add(new Check('acr', 'A second factor is asked for', asksForMore))
  return {
    clients,
    ...(keys && { jwks: { keys } }),
    claims: { openid: ['sub', ...new Set(Object.values(people).flatMap((claims) => Object.keys(claims)))] },
    acrValues: [passwordAcr, secondFactorAcr],
    conformIdTokenClaims: false,
    cookies: { keys: ['demo'] },
    features: {
      devInteractions: { enabled: false },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource: showLogout, postLogoutSuccessSource: showLoggedOut },
    },
    // Its own guard lets nothing go to this machine, where the demo is.
    fetch: (url: URL, { dispatcher: _, ...sent }: RequestInit & { dispatcher?: unknown }) => fetch(url, sent),
    findAccount: (_context: unknown, id: string) =>
      people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    interactions: { policy, url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    loadExistingGrant: grantAll,
    ttl: {
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
      Grant: 86_400,
      Interaction: 3_600,
      Session: 86_400,
    },
  }
}

const head = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Demo identity provider</title>`

function showLogout(context: { body: string }, form: string): void {
  context.body = `${head}<h1>Sign out here too?</h1>${form}
<p><button type="submit" form="op.logoutForm" value="yes" name="logout">Yes, sign me out</button>
<button type="submit" form="op.logoutForm">No, stay signed in</button></p></html>`
}

function showLoggedOut(context: { body: string }): void {
  context.body = `${head}<h1>You are signed out</h1></html>`
}

/** No user is asked twice whether the gateway may know who they are. */
async function grantAll({ oidc }: OidcContext) {
  const { accountId } = oidc.session
  const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId })
  grant.addOIDCScope(oidc.params.scope)
  await grant.save()
  return grant
}

async function interact(
  running: OidcServer,
  { people }: DemoProviderOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { uid } = await running.interactionDetails(request, response)
  if (request.method !== 'POST') {
    response.setHeader('content-type', 'text/html').end(printLogin(uid, people))
    return
  }
  let body = ''
  for await (const part of request) body += part
  const form = new URLSearchParams(body)
  if (form.get('who') === '') {
    const error = { error: 'access_denied', error_description: 'The user left.' }
    return running.interactionFinished(request, response, error)
  }
  const hasFactor = form.get('factor') === 'yes'
  const login = {
    accountId: form.get('who'),
    acr: hasFactor ? secondFactorAcr : passwordAcr,
    amr: hasFactor ? ['pwd', 'otp', 'mfa'] : ['pwd'],
  }
  return running.interactionFinished(request, response, { login })
}

function printLogin(uid: string, people: DemoProviderOptions['people']): string {
  const buttons = Object.keys(people).map(
    (who) => `<p><button name="who" value="${who}">Sign in as ${who}</button></p>`,
  )
  return `${head}
<h1>Demo identity provider</h1><p>It plays the brokerage's own. Nobody needs a password here.</p>
<form method="post" action="/interaction/${uid}"><p><label><input type="checkbox" name="factor" value="yes"> with a second factor</label></p>
${buttons.join('\n')}
<p><button name="who" value="">Leave without signing in</button></p></form></html>`
}
