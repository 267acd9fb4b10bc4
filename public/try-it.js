// Calls an operation of the API reference from the page, at the site that the page came from. Credentials are read from their fields at each call, sent in a
// header, and kept nowhere: not in the address, not in storage, not in the page. No cookie goes along: what is called sees a program, not whoever is signed in.
const patienceMs = 40_000
const shownCharacters = 100_000
const panel = document.getElementById('try')
const client = document.getElementById('try-client')
const secret = document.getElementById('try-secret')
const token = document.getElementById('try-token')

class Refused extends Error {
  constructor(message, field) {
    super(message)
    this.field = field
  }
}

const typed = (field) => field?.value.trim() ?? ''

/** As the gateway writes secrets and tokens of the live site, and of either. They may be part of a body. */
const ofLive = /\bcsl[a-z][A-Za-z0-9]{49}\b/
const ofEither = /\bcs[ls][a-z][A-Za-z0-9]{49}\b/

function forget(field, message) {
  field.value = ''
  throw new Refused(message, field)
}

/** What is live does not leave the page, in whichever field it stands; and no credential gets into an address. */
function refuseMisplaced(part) {
  for (const field of [secret, token, ...part.querySelectorAll('[data-place]')]) {
    if (ofLive.test(typed(field)))
      forget(field, 'That is a live credential. This page calls the sandbox alone, and has sent nothing.')
    if (/^(path|query)$/.test(field?.dataset.place) && ofEither.test(typed(field)))
      forget(field, 'That is a credential, and would stand in the address. Nothing was sent.')
  }
}

function authorize(takes) {
  if (takes.includes('client') && typed(secret) !== '') {
    const bytes = new TextEncoder().encode(`${client.value}:${typed(secret)}`)
    return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` }
  }
  if (takes.includes('token') && typed(token) !== '') return { authorization: `Bearer ${typed(token)}` }
  if (takes.length === 0) return {}
  const field = takes.includes('client') && secret ? secret : token
  throw new Refused(field === secret ? 'Enter the client secret above.' : 'Enter a token above.', field)
}

const fieldsOf = (part, place) => [...part.querySelectorAll(`[data-place="${place}"]`)]

function pairsOf(part, place) {
  return fieldsOf(part, place)
    .map((field) => [field.dataset.name, typed(field)])
    .filter(([, value]) => value !== '')
}

/** Of this site, whatever is typed: numbers alone are put into the path. */
function addressOf(part) {
  const path = fieldsOf(part, 'path').reduce((filled, field) => {
    if (!/^[0-9]{1,16}$/.test(typed(field)))
      throw new Refused(`${field.dataset.name} must be a number.`, field)
    return filled.replace(`{${field.dataset.name}}`, typed(field))
  }, part.dataset.path)
  const url = new URL(location.origin + path)
  url.search = new URLSearchParams(pairsOf(part, 'query'))
  return url
}

function bodyOf(part) {
  const { type } = part.dataset
  if (type === '') return {}
  if (type !== 'application/json') return { body: new URLSearchParams(pairsOf(part, 'form')).toString() }
  const [field] = fieldsOf(part, 'body')
  try {
    JSON.parse(field.value)
  } catch (error) {
    throw new Refused(`The body is not JSON: ${error.message}`, field)
  }
  return { body: field.value }
}

function requestOf(part) {
  const { method, type, takes } = part.dataset
  refuseMisplaced(part)
  const invalid = [...part.querySelectorAll('input, select')].find((field) => !field.checkValidity())
  if (invalid) throw new Refused(`${invalid.dataset.name}: ${invalid.validationMessage}`, invalid)
  const url = addressOf(part)
  const headers = {
    accept: 'application/json',
    ...(type !== '' && { 'content-type': type }),
    ...Object.fromEntries(pairsOf(part, 'header')),
    ...authorize(takes.split(' ').filter((word) => word !== '')),
  }
  return [url, { method, headers, ...bodyOf(part) }]
}

/** With line breaks, and with every digit as it came: numbers are not read. */
function indent(text) {
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return text.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/g, (piece) => {
    if (piece === '{' || piece === '[') {
      depth++
      return piece + line()
    }
    if (piece === '}' || piece === ']') {
      depth--
      return line() + piece
    }
    if (piece === ',') return piece + line()
    if (piece === ':') return ': '
    return /^\s/.test(piece) ? '' : piece
  })
}

function print(text, type) {
  const whole = type.includes('json') ? indent(text) : text
  return whole.length > shownCharacters ? `${whole.slice(0, shownCharacters)}…` : whole
}

function show(part, title, lines, isBad) {
  const heading = document.createElement('p')
  heading.append(Object.assign(document.createElement('strong'), { textContent: title }))
  heading.className = isBad ? 'problem' : ''
  const block = Object.assign(document.createElement('pre'), { textContent: lines, tabIndex: 0 })
  block.setAttribute('aria-label', 'Answer')
  part.querySelector('.answer').replaceChildren(heading, ...(lines === '' ? [] : [block]))
}

async function call(part) {
  const [url, request] = requestOf(part)
  show(part, 'Calling…', '', false)
  const startedAt = performance.now()
  const answer = await fetch(url, {
    ...request,
    credentials: 'omit',
    redirect: 'error',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout(patienceMs),
  })
  const text = await answer.text()
  const head = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  const tookMs = Math.round(performance.now() - startedAt)
  const title = `${request.method} ${url.pathname}${url.search}: ${answer.status} ${answer.statusText}, ${tookMs} ms`
  show(part, title, `${head}\n\n${print(text, answer.headers.get('content-type') ?? '')}`, !answer.ok)
}

async function press(part, button) {
  button.disabled = true
  try {
    await call(part)
  } catch (error) {
    const told = error instanceof Refused ? error.message : `No answer came: ${error.message}`
    show(part, told, '', true)
    error.field?.focus()
  }
  button.disabled = false
}

if (panel && document.body.classList.contains('sandbox')) {
  panel.hidden = false
  for (const part of document.querySelectorAll('.try')) {
    part.hidden = false
    const button = part.querySelector('button')
    button.addEventListener('click', () => press(part, button))
  }
  // Browsers keep pages that are left, with what was typed into them.
  addEventListener('pagehide', () => {
    for (const field of [secret, token, ...document.querySelectorAll('.try [data-place]')])
      if (field) field.value = field.defaultValue
    for (const part of document.querySelectorAll('.try .answer')) part.replaceChildren()
  })
}
