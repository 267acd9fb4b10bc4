import assert from 'node:assert/strict'
import { test } from 'node:test'
import { focusFault, isSecret, refill } from './refill.ts'

const formOf = (fields: string, action = '/here') => `<form method="post" action="${action}">${fields}</form>`
const fill = (body: string, values: Record<string, string | string[]>, action = '/here') =>
  refill(body, { action, values })?.body

test('texts, long texts and choices get back what was typed, escaped', () => {
  const body = formOf(
    '<input name="a" value="old" required><textarea id="b" name="b">old</textarea><select name="c"><option value="x" selected>X</option><option value="y">Y</option></select>',
  )
  assert.equal(
    fill(body, { a: 'a "b" <c>', b: '\n& more', c: 'y' }),
    formOf(
      '<input name="a" value="a &quot;b&quot; &lt;c&gt;" required autofocus><textarea id="b" name="b">\n\n&amp; more</textarea><select name="c"><option value="x">X</option><option value="y" selected>Y</option></select>',
    ),
  )
})

test('a box is ticked if it was, also where none of its name was', () => {
  const body = formOf(
    '<input type="checkbox" name="k" value="1" checked><input type="checkbox" name="k" value="2"><input type="checkbox" name="l" value="yes" checked>',
  )
  assert.equal(
    fill(body, { k: '2' }),
    formOf(
      '<input type="checkbox" name="k" value="1" autofocus><input type="checkbox" name="k" value="2" checked><input type="checkbox" name="l" value="yes">',
    ),
  )
})

test('fields of one name get their values by place, and a field that was not sent stays as it is', () => {
  const body = formOf('<input name="h"><input name="h"><input name="h" value="kept">')
  assert.match(fill(body, { h: ['one', 'two'] })!, /<input name="h" value="one".*value="two".*value="kept"/)
})

test('hidden fields, passwords, secrets and codes are left as they are printed', () => {
  const fields =
    '<input type="hidden" name="csrf" value="new"><input name="x" type="password"><input name="secret"><input name="code">'
  const filled = fill(formOf(`${fields}<input name="y">`), {
    csrf: 'old',
    x: '1',
    secret: '2',
    code: '3',
    y: '4',
  })!
  assert.match(filled, /name="csrf" value="new"/)
  assert.equal([...filled.matchAll(/value="/g)].length, 2)
})

test('of forms with one action, the one with the same hidden fields is filled, and none where that is not clear', () => {
  const row = (id: string) => formOf(`<input type="hidden" name="id" value="${id}"><input name="reason">`)
  const filled = fill(row('1') + row('2'), { id: '2', reason: 'because' })!
  assert.equal(filled.indexOf('because') > filled.indexOf('value="2"'), true)
  assert.equal(fill(row('1') + row('2'), { id: '3', reason: 'because' }), undefined)
  assert.equal(fill(row('1') + row('1'), { id: '1', reason: 'because' }), undefined)
  assert.match(fill(row('1'), { id: '3', reason: 'because' })!, /because/, 'there is only one')
  assert.equal(fill(formOf('<input name="a">', '/there'), { a: '1' }), undefined)
})

test('a form that is folded away is unfolded, and no other', () => {
  const other = '<details><summary>a</summary></details>'
  const filled = fill(
    `${other}<details class="x"><summary>b</summary>${formOf('<input name="a">')}</details>`,
    {
      a: '1',
    },
  )
  assert.ok(filled!.startsWith(`${other}<details class="x" open>`), filled)
})

test('the first field at fault has the focus, alone', () => {
  const body =
    '<input name="a" autofocus><input name="b" aria-invalid="true"><input name="c" aria-invalid="true" autofocus>'
  assert.equal(
    focusFault(body),
    '<input name="a"><input name="b" aria-invalid="true" autofocus><input name="c" aria-invalid="true">',
  )
  const group =
    '<fieldset aria-invalid="true"><legend>x</legend><input type="checkbox" name="k" value="1"></fieldset>'
  assert.match(focusFault(group), /value="1" autofocus>/)
  assert.equal(focusFault('<input autofocus name="a">'), '<input autofocus name="a">')
})

test('a form that is printed with a focus of its own keeps it, and no other form does', () => {
  const body = formOf('<input name="a"><input name="b" type="password" autofocus>')
  const other = formOf('<input name="c" autofocus>', '/there')
  assert.equal(
    fill(other + body, { a: '1' }),
    formOf('<input name="c">', '/there') +
      formOf('<input name="a" value="1"><input name="b" type="password" autofocus>'),
  )
})

test('what is typed to prove something is secret, a number in a list is not', () => {
  for (const name of [
    'password',
    'secret',
    'code',
    'recovery',
    'credential',
    'current',
    'next',
    'again',
    'csrf',
    'once',
  ])
    assert.equal(isSecret(name, '12345678'), true, name)
  assert.equal(isSecret('token', '12'), false)
  assert.equal(isSecret('token', 'ct_live_abc'), true)
  assert.equal(isSecret('reason', 'because'), false)
})
