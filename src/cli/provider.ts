import { LinkedToOther, linkByHand, unlinkByHand } from '../identity/identity.ts'
import { openProviders } from '../identity/open-providers.ts'
import {
  addProvider,
  enableProvider,
  getProvider,
  listEveryProvider,
  type Provider,
  removeProvider,
  replaceCredential,
} from '../identity/provider.ts'
import { changed, changeProvider, moveProvider } from '../identity/provider-change.ts'
import { testProvider } from '../identity/provider-test.ts'
import { findTouched, tellTouched } from '../identity/removal.ts'
import { Conflict, Invalid } from '../problem.ts'
import { isDevelopment } from '../settings/config.ts'
import { getUserNamed } from '../users/user.ts'
import { breakGlass } from './break-glass.ts'
import { type Command, UsageError } from './command.ts'
import { changeOf, credentialOf, credentialOptions, draftOf, settingOptions } from './provider-words.ts'

export const providerCommands: readonly Command[] = [
  {
    name: 'provider add',
    needs: 'database',
    summary: 'Adds an identity provider (OpenID Connect) at which holders or staff sign in.',
    positionals: ['name'],
    options: [
      { name: 'kind', value: 'holder|staff', required: true, meaning: 'whose it is' },
      {
        name: 'label',
        value: 'TEXT',
        required: true,
        meaning: 'what people know it by, such as Example Bank ID',
      },
      { name: 'issuer', value: 'URL', required: true, meaning: 'as the provider writes it itself' },
      { name: 'client-id', value: 'ID', required: true, meaning: 'what it calls this gateway' },
      ...credentialOptions,
      ...settingOptions,
    ],
    async run(context, words) {
      const { db, vault, config, act, print } = context
      const draft = draftOf(words)
      const development = { allowLoopback: isDevelopment(config) }
      await breakGlass(context, 'provider.add', `provider:${draft.name}`)
      const added = await addProvider(db, vault, draft, development, act()).catch(tellOptions)
      print.record(printProvider(added))
    },
  },
  {
    name: 'provider enable',
    needs: 'database',
    summary: 'Enables a provider that was saved in the console: from now on people sign in there.',
    positionals: ['name'],
    async run(context, { positional }) {
      const { db, act, print } = context
      const saved = await getProvider(db, positional('name'))
      if (saved.enabledAt === null) await breakGlass(context, 'provider.add', `provider:${saved.name}`)
      const isDone = saved.enabledAt === null && (await enableProvider(db, saved.id, act()))
      if (!isDone) print.say('Nothing was changed: it is enabled already.\n')
      print.record(printProvider(await getProvider(db, saved.name)))
    },
  },
  {
    name: 'provider change',
    needs: 'database',
    summary:
      'Changes how a provider is set up. Nobody is signed out, and everybody stays linked. What is not said stays as it is.',
    positionals: ['name'],
    options: [
      { name: 'label', value: 'TEXT', meaning: 'what people know it by' },
      {
        name: 'issuer',
        value: 'URL',
        meaning: 'the same provider at another address, by itself: its people go with it',
      },
      { name: 'client-id', value: 'ID', meaning: 'what it calls this gateway' },
      ...settingOptions,
      { name: 'own-second-step', meaning: 'a second factor of this gateway stands in again' },
    ],
    async run(context, words) {
      const { db, vault, config, act, print } = context
      const before = await getProvider(db, words.positional('name'))
      const issuer = words.find('issuer')
      const change = changeOf(words)
      if (issuer !== undefined && Object.keys(change).length > 0)
        throw new UsageError('Say --issuer by itself: it is the same provider at another address.')
      if (before.enabledAt !== null) await breakGlass(context, 'provider.add', `provider:${before.name}`)
      const isDone = await (issuer === undefined
        ? Promise.resolve().then(() => changeProvider(db, before.id, changed(before, change), act()))
        : moveProvider(db, vault, before, { issuer, allowLoopback: isDevelopment(config) }, act()).then(
            () => true,
          )
      ).catch(tellOptions)
      if (!isDone) print.say('Nothing was changed: it is set up that way already.\n')
      print.record(printProvider(await getProvider(db, before.name)))
      if (isDone) print.say(`\nSee whether the provider takes it: countersign provider test ${before.name}`)
    },
  },
  {
    name: 'provider credential',
    needs: 'database',
    summary: 'Gives a provider a new secret or key, used from the next sign-in on. Nobody is signed out.',
    positionals: ['name'],
    options: credentialOptions,
    async run({ db, vault, act, print }, words) {
      const before = await getProvider(db, words.positional('name'))
      const { name } = before
      await replaceCredential(db, vault, before, credentialOf(words), act()).catch(tellOptions)
      const { proof, credentialAt } = await getProvider(db, name)
      print.record({ name, proof, credential_at: credentialAt })
      if (proof !== before.proof) print.say(`\nUntil now it was ${before.proof}.`)
      print.say(`\nSee whether the provider takes it: countersign provider test ${name}`)
    },
  },
  {
    name: 'provider list',
    needs: 'reading',
    summary: 'Lists the identity providers.',
    run: async ({ db, print }) =>
      print.table((await listEveryProvider(db)).map(printProvider), 'There are no identity providers.'),
  },
  {
    name: 'provider test',
    needs: 'database',
    summary: 'Asks a provider what a sign-in would ask it, and says what is wrong. Nobody signs in.',
    positionals: ['name'],
    async run(context, { positional }) {
      const findings = await testProvider(
        openProviders(context),
        context.clock,
        await getProvider(context.db, positional('name')),
      )
      context.print.table(
        findings.map(({ check, state, told }) => ({ check, state, told })),
        '',
      )
      if (findings.some(({ state }) => state === 'wrong')) process.exitCode = 1
    },
  },
  {
    name: 'provider remove',
    needs: 'database',
    summary:
      'Removes a provider: who signed in there is signed out, and nobody signs in there any more. Says first whom it touches.',
    positionals: ['name'],
    options: [{ name: 'yes', meaning: 'removes it; without, the command says whom it would touch' }],
    async run({ db, act, print }, { positional, has }) {
      const provider = await getProvider(db, positional('name'))
      const touched = await findTouched(db, provider)
      if (!has('yes'))
        throw new Conflict(
          `${tellTouched(provider, touched)}\nNothing was removed. To remove it: countersign provider remove ${provider.name} --yes`,
        )
      const removed = await removeProvider(db, provider, act())
      print.record({
        name: provider.name,
        linked: touched.people,
        no_other_way_in: touched.stranded,
        removed,
      })
    },
  },
  {
    name: 'provider link',
    needs: 'database',
    summary: 'Says by hand whom a subject of a provider is. Make sure first that it is them.',
    positionals: ['name', 'subject', 'user'],
    async run({ db, act, print }, { positional }) {
      const name = positional('name')
      const subject = positional('subject')
      const linked = await getUserNamed(db, positional('user'))
      await linkByHand(db, await getProvider(db, name), subject, linked, act()).catch((error: unknown) => {
        if (!(error instanceof LinkedToOther)) throw error
        throw new Conflict(`${error.message}\ncountersign provider unlink ${name} ${inShell(error.subject)}`)
      })
      print.record({ provider: name, subject, username: linked.username })
    },
  },
  {
    name: 'provider unlink',
    needs: 'database',
    summary: 'Forgets who a subject of a provider is, and ends their sessions from there.',
    positionals: ['name', 'subject'],
    async run({ db, act, print }, { positional }) {
      const name = positional('name')
      const subject = positional('subject')
      await unlinkByHand(db, await getProvider(db, name), subject, act())
      print.record({ provider: name, subject, linked: false })
    },
  },
]

/** As a shell takes it for one word: providers have subjects such as auth0|5f7. */
const inShell = (word: string) => (/^[\w.:@-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** Fields that are called otherwise here than their option would be. */
const namesHere = new Map([
  ['name', 'NAME'],
  ['scopes', '--scope'],
  ['secret', '--secret-file'],
  ['key', '--key-file'],
])

const factorRemedy = 'Name what means one by --strong-acr or --strong-amr, or leave out --no-own-second-step'

/** What is wrong, by the options of the command. */
function tellOptions(error: unknown): never {
  if (!(error instanceof Invalid) || !error.fields) throw error
  throw new Invalid(
    error.fields.map(({ field, problem }) => ({
      field: namesHere.get(field) ?? `--${field}`,
      problem: field === 'strong-acr' ? `${problem}. ${factorRemedy}` : problem,
    })),
  )
}

function printProvider(provider: Provider): Record<string, unknown> {
  const { name, kind, label, issuer, clientId, proof, scopes, linkClaim, linkSource, rolesClaim, roleMap } =
    provider
  const credential = { proof, credential_at: provider.credentialAt }
  const printed = { name, kind, label, issuer, client_id: clientId, ...credential, scopes: scopes.join(' ') }
  const link = { link_claim: linkClaim, link_source: linkClaim === null ? null : linkSource }
  const roles = Object.entries(roleMap)
    .map((pair) => pair.join('='))
    .sort()
  return {
    ...{ ...printed, ...link, roles_claim: rolesClaim, roles: roles.join(', ') },
    ...{
      strong: [...provider.strongAcr, ...provider.strongAmr].join(' '),
      own_second_step: provider.ownSecondStep,
    },
    ...{ logout_ends: provider.logoutEnds, enabled_at: provider.enabledAt, away_since: provider.awaySince },
  }
}
