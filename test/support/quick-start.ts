/** The programs that the API reference shows a partner, as text that can be run. */
import type { PartnerHouse } from './portal.ts'

const entities: Record<string, string> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
}

export function decodeEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (entity) => entities[entity]!)
}

/** `language`: the quick start. `verify`: its check of a signature. */
export async function readProgram(
  { browser, home }: PartnerHouse,
  attribute: 'language' | 'verify',
  language: string,
): Promise<string> {
  const { text } = await browser.get(`${home}/reference`)
  return decodeEntities(new RegExp(`data-${attribute}="${language}">(.*?)</pre>`, 's').exec(text)![1]!)
}
