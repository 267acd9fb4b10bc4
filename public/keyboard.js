// Keys for those who use them: `/` to search, `g` and a letter to go, `?` for the list. Never while somebody types, never with another key held.
const list = document.getElementById('keys')
const opener = document.querySelector('[data-opens="keys"]')
let isGoing = false

const isTyping = (target) => target.closest('input, select, textarea, [contenteditable], dialog') !== null

document.addEventListener('keydown', (event) => {
  const { key, target, defaultPrevented, ctrlKey, metaKey, altKey, repeat } = event
  if (defaultPrevented || ctrlKey || metaKey || altKey || repeat || isTyping(target)) return
  const way = isGoing ? document.querySelector(`[data-key="${CSS.escape(key)}"]`) : null
  isGoing = key === 'g' && !isGoing
  if (way) location.href = way.href
  else if (key === '/') document.querySelector('[role="search"] input')?.focus()
  else if (key === '?') list?.showModal()
  else return
  event.preventDefault()
})

if (opener && list) {
  opener.hidden = false
  opener.addEventListener('click', () => list.showModal())
}
