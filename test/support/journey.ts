/**
 * What a journey costs a person: the browser itself counts the clicks that it is given and the fields that
 * are filled in, on every page of a context.
 */
import type { Page } from 'playwright-core'

export interface Journey {
  readonly clicks: number
  readonly fields: number
  /** What was clicked and filled in, for whoever reads a failure. */
  readonly told: readonly string[]
}

/** Runs in the page. Only what a hand does is trusted; what is filled in twice is one field. */
const listen = `
  const tell = (kind, target) => window.journeyTold(kind, location.origin + location.pathname + ' ' +
    (target.name || target.textContent || '').trim().replace(/\\s+/g, ' ').slice(0, 60))
  addEventListener('click', (event) => event.isTrusted && tell('click', event.target.closest('a, button, summary, label, input') ?? event.target), true)
  addEventListener('input', (event) => event.isTrusted && tell('field', event.target), true)`

/** From the page that is open now, and from each that comes after it. */
export async function countJourney(page: Page): Promise<{ soFar(): Journey }> {
  const clicked: string[] = []
  const filled = new Set<string>()
  await page.exposeFunction('journeyTold', (kind: 'click' | 'field', what: string) => {
    if (kind === 'click') clicked.push(`click ${what}`)
    else filled.add(`field ${what}`)
  })
  await page.addInitScript(listen)
  await page.evaluate(listen)
  return { soFar: () => ({ clicks: clicked.length, fields: filled.size, told: [...clicked, ...filled] }) }
}
