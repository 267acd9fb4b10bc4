/**
 * What workers tell each other: which feeds have grown, and how far; in which parts lanes were woken, and in
 * which something was published.
 */
export interface News {
  readonly feeds: readonly { readonly feed: number; readonly head: number }[]
  readonly parts: readonly number[]
  readonly published?: readonly number[]
}

/** PostgreSQL takes 8,000 bytes. */
const bytesAtMost = 7_000

export function printNews({ feeds, parts, published = [] }: News): string {
  const text = `${feeds.map(({ feed, head }) => `${feed}:${head}`).join(',')} ${parts.join(',')} ${published.join(',')}`
  return text.length <= bytesAtMost ? text : '*'
}

/** Undefined: it may be anything. */
export function readNews(text: string): News | undefined {
  if (text === '*') return undefined
  const [feeds = '', parts = '', published = ''] = text.split(' ')
  const list = (words: string) => words.split(',').filter((word) => word !== '')
  return {
    feeds: list(feeds).map((word) => {
      const [feed, head] = word.split(':')
      return { feed: Number(feed), head: Number(head) }
    }),
    parts: list(parts).map(Number),
    published: list(published).map(Number),
  }
}
