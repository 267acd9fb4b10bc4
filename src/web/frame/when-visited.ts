/** Pages are loaded by their first visitor: a start does not wait for them, and a node that speaks to machines alone never holds them. */
type Handler = (...words: never[]) => Promise<unknown>

type HandlersOf<Pages> = {
  readonly [Name in keyof Pages as Pages[Name] extends Handler ? Name : never]: Pages[Name]
}

/** What the module exports, by the same names. */
export function whenVisited<Pages extends object>(load: () => Promise<Pages>): HandlersOf<Pages> {
  const handlerOf =
    (_pages: object, name: string | symbol) =>
    async (...words: never[]) => {
      const pages = await load()
      return (pages[name as keyof Pages] as Handler)(...words)
    }
  return new Proxy({}, { get: handlerOf }) as HandlersOf<Pages>
}
