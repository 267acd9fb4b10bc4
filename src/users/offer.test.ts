import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope } from '../vocabulary/scope.ts'
import type { HeldAccount } from './account.ts'
import { findOffer } from './offer.ts'

const opened = new Date(0)

function held(accountNumber: string, ...scopes: Scope[]): HeldAccount {
  return {
    ...{
      accountNumber,
      environment: 'live',
      classification: 'individual',
      dateCreated: opened,
      dayTrader: false,
    },
    ...{
      optionLevel: 1,
      status: 'active',
      type: 'cash',
      lastUpdateDate: opened,
      role: 'owner',
      scopes,
      owners: [],
      heldSince: opened,
    },
  }
}

/** Accounts by number, with what is lacking in each. */
function offered(accounts: readonly HeldAccount[], asked: readonly Scope[], required: readonly Scope[] = []) {
  const offer = findOffer(accounts, asked, required)
  return {
    scopes: offer.scopes,
    accounts: offer.accounts.map(({ accountNumber, lacks }) => [accountNumber, ...lacks].join(' ')),
    withheld: offer.withheld.map(({ accountNumber }) => accountNumber),
  }
}

test('an account is offered when its holding lets the holder give some of what is asked, with what it lacks', () => {
  const accounts = [held('A', 'read', 'trade'), held('B', 'read'), held('C', 'market')]
  assert.deepEqual(offered(accounts, ['read', 'trade']), {
    scopes: ['read', 'trade'],
    accounts: ['A', 'B trade'],
    withheld: ['C'],
  })
  assert.deepEqual(offered(accounts, ['read']), { scopes: ['read'], accounts: ['A', 'B'], withheld: ['C'] })
})

test('when no holding lets the holder give everything, what most can be given in is offered', () => {
  const accounts = [held('A', 'market'), held('B', 'read', 'market'), held('C', 'read', 'market', 'stream')]
  assert.deepEqual(offered(accounts, ['read', 'market', 'trade']), {
    ...{ scopes: ['read', 'market'], accounts: ['A read', 'B', 'C'], withheld: [] },
  })
})

test('what is required decides which accounts are offered; where none lets the holder give it, nothing is', () => {
  const accounts = [held('A', 'read', 'market'), held('B', 'trade')]
  assert.deepEqual(offered(accounts, ['read', 'market', 'trade'], ['trade', 'stream']), {
    ...{ scopes: ['trade'], accounts: ['B'], withheld: ['A'] },
  })
  assert.deepEqual(offered(accounts, ['read', 'stream'], ['stream']), {
    ...{ scopes: [], accounts: [], withheld: ['A', 'B'] },
  })
})

test('when nothing of it can be given there is nothing to allow', () => {
  assert.deepEqual(offered([held('A', 'read')], ['trade']), { scopes: [], accounts: [], withheld: ['A'] })
})

test('whoever has no account may allow everything, in none', () => {
  assert.deepEqual(offered([], ['read', 'trade']), { scopes: ['read', 'trade'], accounts: [], withheld: [] })
})
