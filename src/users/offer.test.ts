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
    },
  }
}

function offered(accounts: readonly HeldAccount[], ...asked: Scope[]) {
  const offer = findOffer(accounts, asked)
  const numbers = (of: readonly HeldAccount[]) => of.map(({ accountNumber }) => accountNumber)
  return { scopes: offer.scopes, accounts: numbers(offer.accounts), withheld: numbers(offer.withheld) }
}

test('an account is offered when its holding lets the holder give everything that is asked', () => {
  const accounts = [held('A', 'read', 'trade'), held('B', 'read')]
  assert.deepEqual(offered(accounts, 'read', 'trade'), {
    scopes: ['read', 'trade'],
    accounts: ['A'],
    withheld: ['B'],
  })
  assert.deepEqual(offered(accounts, 'read'), { scopes: ['read'], accounts: ['A', 'B'], withheld: [] })
})

test('when no holding lets the holder give everything, what most can be given in is offered', () => {
  const accounts = [held('A', 'market'), held('B', 'read', 'market'), held('C', 'read', 'market', 'stream')]
  assert.deepEqual(offered(accounts, 'read', 'market', 'trade'), {
    ...{ scopes: ['read', 'market'], accounts: ['B', 'C'], withheld: ['A'] },
  })
})

test('when nothing of it can be given there is nothing to allow', () => {
  assert.deepEqual(offered([held('A', 'read')], 'trade'), { scopes: [], accounts: [], withheld: ['A'] })
})

test('whoever has no account may allow everything, in none', () => {
  assert.deepEqual(offered([], 'read', 'trade'), { scopes: ['read', 'trade'], accounts: [], withheld: [] })
})
