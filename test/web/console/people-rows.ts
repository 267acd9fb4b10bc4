import { after, day } from '../../../src/clock.ts'
import { listAuthorizations } from '../../../src/oauth/authorization.ts'
import { setClientStatus } from '../../../src/partners/client.ts'
import { applyAsPartner } from '../../../src/partners/partner.ts'
import { askForFapi2, findProfileRequest } from '../../../src/partners/profile-request.ts'
import { askForScopes, findScopeRequest } from '../../../src/partners/scope-request.ts'
import { listApiTokens } from '../../../src/users/api-token.ts'
import { setEmail } from '../../../src/users/email.ts'
import { listSessions } from '../../../src/users/session.ts'
import { setUserStatus, type User } from '../../../src/users/user.ts'
import { failCalls } from '../../support/calls.ts'
import type { Aim, ConsoleRows } from '../../support/console-rows.ts'
import { operatorAct, type TestGateway } from '../../support/gateway.ts'
import { makeUpWord } from '../../support/made-up-word.ts'
import { setUpApp } from '../../support/second-factor.ts'
import { guess } from '../../support/web.ts'

const approved = (verb: string, fields = {}): Aim =>
  async function aim(house) {
    const { branchId } = await house.makePartner()
    return { address: `/console/partners/${branchId}${verb}`, fields }
  }

/** A client whose partner waits for wider scopes. */
const asked = (verb: string): Aim =>
  async function aim(house) {
    const { db } = house.gateway.context
    const client = await house.makeClient({ scope: 'read' })
    await askForScopes(db, client, { wider: 'trade', reason: 'orders' }, house.act())
    const { id } = (await findScopeRequest(db, client.id))!
    const address = `/console/partners/${client.branchId}/clients/${client.id}/scopes/${verb}`
    return { address, fields: { request: String(id) } }
  }

/** What a form does to somebody who was prepared for it. */
const onUser = (
  verb: string,
  prepare: (house: TestGateway, user: User) => Promise<Record<string, string> | undefined>,
): Aim =>
  async function aim(house) {
    const user = await house.makeUser()
    const fields = (await prepare(house, user)) ?? {}
    return { address: `/console/users/${user.id}${verb}`, fields }
  }

export const peopleRows: ConsoleRows = {
  pages: {
    '/console/partners': async () => ({ address: '/console/partners?q=some&state=approved' }),
    '/console/partners/:branch': approved(''),
    '/console/partners/:branch/calls': approved('/calls'),
    '/console/partners/:branch/calls/:call': async (house) => {
      const { branchId } = await house.makePartner()
      return { address: `/console/partners/${branchId}/calls/${(await failCalls(house, branchId, 1)).id}` }
    },
    '/console/users': async () => ({ address: '/console/users?q=ada' }),
    '/console/users/new': async () => ({ address: '/console/users/new' }),
    '/console/users/:id': onUser('', async () => ({})),
  },
  forms: {
    '/console/partners/:branch/approve': async ({ gateway, clock }) => {
      const name = `Applicant ${makeUpWord()}`
      const { branchId } = await applyAsPartner(gateway.context.db, name, operatorAct(clock.now()))
      return { address: `/console/partners/${branchId}/approve`, fields: { seen: 'applied' } }
    },
    '/console/partners/:branch/decline': async ({ gateway, clock }) => {
      const name = `Applicant ${makeUpWord()}`
      const { branchId } = await applyAsPartner(gateway.context.db, name, operatorAct(clock.now()))
      const fields = { seen: 'applied', reason: 'Say more about your users.' }
      return { address: `/console/partners/${branchId}/decline`, fields }
    },
    '/console/partners/:branch/message': approved('/message', { message: 'Welcome.', once: 'x'.repeat(22) }),
    '/console/partners/:branch/suspend': approved('/suspend', {
      seen: 'approved.1',
      reason: 'The terms were broken.',
    }),
    '/console/partners/:branch/refresh/grant': async (house) => {
      const { branchId } = await house.makePartner({ refresh: false })
      return { address: `/console/partners/${branchId}/refresh/grant` }
    },
    '/console/partners/:branch/refresh/withdraw': approved('/refresh/withdraw'),
    '/console/partners/:branch/clients/:client/suspend': async (house) => {
      const client = await house.makeClient()
      return { address: `/console/partners/${client.branchId}/clients/${client.id}/suspend` }
    },
    '/console/partners/:branch/clients/:client/activate': async (house) => {
      const client = await house.makeClient()
      await setClientStatus(house.gateway.context.db, client, 'suspended', house.act())
      return { address: `/console/partners/${client.branchId}/clients/${client.id}/activate` }
    },
    '/console/partners/:branch/clients/:client/scopes': async (house) => {
      const client = await house.makeClient()
      return {
        address: `/console/partners/${client.branchId}/clients/${client.id}/scopes`,
        fields: { scope: 'read' },
      }
    },
    '/console/partners/:branch/clients/:client/required': async (house) => {
      const client = await house.makeClient()
      return {
        address: `/console/partners/${client.branchId}/clients/${client.id}/required`,
        fields: { required: 'read' },
      }
    },
    '/console/partners/:branch/clients/:client/scopes/grant': asked('grant'),
    '/console/partners/:branch/clients/:client/scopes/decline': asked('decline'),
    '/console/partners/:branch/clients/:client/profile': async (house) => {
      const client = await house.makeClient()
      const fields = { profile: 'fapi2', moment: '2999-01-01T00:00', bearers: 'end' }
      return { address: `/console/partners/${client.branchId}/clients/${client.id}/profile`, fields }
    },
    '/console/partners/:branch/clients/:client/profile/decline': async (house) => {
      const { db } = house.gateway.context
      const client = await house.makeClient()
      await askForFapi2(db, client, undefined, house.act())
      const { id } = (await findProfileRequest(db, client.id))!
      const address = `/console/partners/${client.branchId}/clients/${client.id}/profile/decline`
      return { address, fields: { request: String(id) } }
    },
    '/console/users/create': async () => {
      const username = makeUpWord().toLowerCase()
      const fields = { username, name: 'New User', email: `${username}@example.com`, once: 'x'.repeat(22) }
      return { address: '/console/users/create', fields }
    },
    '/console/users/:id/email': onUser('/email', async () => ({ email: 'new@example.com' })),
    '/console/users/:id/reset': onUser('/reset', async ({ gateway, clock }, user) => {
      // No reset goes to an address that was given today.
      const own = { by: { name: `user:${user.id}` }, at: after(clock.now(), -day) }
      await setEmail(gateway.context.db, user, 'theirs@example.com', own)
      return undefined
    }),
    '/console/users/:id/lock': onUser('/lock', async () => undefined),
    '/console/users/:id/unlock': onUser('/unlock', async ({ gateway, clock }, user) => {
      await setUserStatus(gateway.context.db, user, 'disabled', operatorAct(clock.now()))
      return undefined
    }),
    '/console/users/:id/sessions/close': onUser('/sessions/close', async (house, user) => {
      await house.signIn(user)
      const [session] = await listSessions(house.gateway.context.db, user.id, house.clock.now())
      return { session: String(session!.id) }
    }),
    '/console/users/:id/sessions/close/all': onUser('/sessions/close/all', async (house, user) => {
      await house.signIn(user)
      return undefined
    }),
    '/console/users/:id/tokens/revoke': onUser('/tokens/revoke', async (house, user) => {
      await house.makeToken(user)
      const [token] = await listApiTokens(house.gateway.context.db, user.id)
      return { token: String(token!.id) }
    }),
    '/console/users/:id/applications/revoke': onUser('/applications/revoke', async (house, user) => {
      await house.approve(await house.makeClient(), await house.signIn(user))
      const [approval] = await listAuthorizations(house.gateway.context.db, { userId: user.id })
      return { authorization: String(approval!.id) }
    }),
    '/console/users/:id/factors/reset': onUser('/factors/reset', async (house, user) => {
      await setUpApp(house, await house.signIn(user))
      return undefined
    }),
    '/console/users/:id/throttle/lift': onUser('/throttle/lift', async (house, user) => {
      await guess(house, user.username)
      return undefined
    }),
  },
}
