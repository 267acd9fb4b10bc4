/** The same JSON with every `amount` as the text it was written in: `500.10` is not `500.1` to an accountant. */
export function exactAmounts(text: string): unknown {
  const reviver = (key: string, value: unknown, context: { source: string }) =>
    key === 'amount' && typeof value === 'number' ? context.source : value
  // The server's parser lets a byte order mark pass; JSON.parse does not.
  return JSON.parse(text.replace(/^\uFEFF/, ''), reviver as Parameters<typeof JSON.parse>[1])
}
