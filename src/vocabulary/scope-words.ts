import type { Scope } from './scope.ts'

/** Spec 4.1 in the words of an account holder. */
export const scopeWords: Record<
  Scope,
  { readonly title: string; readonly text: string; readonly movesMoney?: true }
> = {
  read: {
    title: 'See your account',
    text: 'Your name, account details, balances, positions and market data.',
  },
  write: {
    title: 'Change account data',
    text: 'Update details of your account. It cannot place or change trades.',
  },
  market: { title: 'Use market data', text: 'Quotes and market information, without real-time streams.' },
  trade: {
    title: 'Trade for you',
    text: 'Place, change and cancel orders with your money.',
    movesMoney: true,
  },
  stream: { title: 'Receive real-time data', text: 'Prices and account events as they happen.' },
}
