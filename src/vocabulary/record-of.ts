/** A record with these keys, and what is made of each. */
export function recordOf<Key extends string, Value>(
  keys: readonly Key[],
  make: (key: Key) => Value,
): Record<Key, Value> {
  return Object.fromEntries(keys.map((key) => [key, make(key)])) as Record<Key, Value>
}

/** The keys of one that has no others than its type says. */
export function keysOf<Fields extends object>(record: Fields): Extract<keyof Fields, string>[] {
  const keys: Extract<keyof Fields, string>[] = []
  for (const key in record) if (Object.hasOwn(record, key)) keys.push(key)
  return keys
}

/** Whether it has fields by name, such as an object of JSON. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
