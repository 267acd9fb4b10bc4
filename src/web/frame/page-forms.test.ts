import assert from 'node:assert/strict'
import { test } from 'node:test'
import { text } from './field.ts'
import { defineForm } from './form.ts'
import { html } from './html.ts'
import { PageForms } from './page-forms.ts'

const make = defineForm('/made/:id', { name: text({ label: 'Name', most: 10 }) }, { makes: true })

test('a form of a page that changes by itself is the same however often it is printed', () => {
  const forms = new PageForms('csrf', {})
  const print = (id: number) => forms.print(make, { at: { id } }, (view) => html`${view.field('name')}`).text
  const first = print(1)
  assert.match(first, /name="once" value="\w{22}"/)
  assert.equal(print(1), first)
  assert.notEqual(/value="(\w{22})"/.exec(print(2))![1], /value="(\w{22})"/.exec(first)![1])
})
