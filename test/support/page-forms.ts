/**
 * The forms of a page as somebody finds them who sends them at once: what stands in their fields, and what
 * has to be ticked.
 */
export interface PageForm {
  readonly action: string
  readonly method: 'get' | 'post'
  readonly fields: Readonly<Record<string, string>>
}

/** Those of the page itself, without the frame around it. */
export function formsOf(page: string): PageForm[] {
  const main = /<main[^>]*>(.*)<\/main>/s.exec(page)?.[1] ?? page
  return [...main.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, head, inside]) => ({
    action: attribute(head!, 'action')!,
    method: attribute(head!, 'method') === 'post' ? 'post' : 'get',
    fields: Object.fromEntries([...inputsOf(inside!), ...choicesOf(inside!)]),
  }))
}

function inputsOf(inside: string): [string, string][] {
  return [...inside.matchAll(/<input\b([^>]*)>/g)].flatMap(([, head]): [string, string][] => {
    const isBox = attribute(head!, 'type') === 'checkbox'
    if (isBox && !/ (checked|required)\b/.test(head!)) return []
    return [[attribute(head!, 'name')!, attribute(head!, 'value') ?? '']]
  })
}

/** The one that is selected, or the first. */
function choicesOf(inside: string): [string, string][] {
  return [...inside.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gs)].map(
    ([, head, options]): [string, string] => {
      const all = [...options!.matchAll(/<option value="([^"]*)"([^>]*)>/g)]
      const chosen = all.find(([, , more]) => more!.includes('selected')) ?? all[0]
      return [attribute(head!, 'name')!, chosen?.[1] ?? '']
    },
  )
}

function attribute(head: string, name: string): string | undefined {
  return new RegExp(` ${name}="([^"]*)"`).exec(` ${head}`)?.[1]
}
