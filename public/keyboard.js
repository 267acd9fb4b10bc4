// Keys for those who use them: `/` or Ctrl-K to search, `g` and a letter to go, `?` for the list. But for Ctrl-K never while somebody types, never with another key held.
const list = document.getElementById('keys')
const opener = document.querySelector('[data-opens="keys"]')
let isGoing = false

const isTyping = (target) => target.closest('input, select, textarea, [contenteditable], dialog') !== null

const search = document.querySelector('.top .search input')

/** Where there is little room, the search is folded behind the bar's button. */
const openSearch = () => {
  list?.close()
  if (!search.checkVisibility()) search.closest('[popover]')?.showPopover()
  search.focus()
  search.select()
}

// Also while somebody types: nothing of what they typed is lost.
document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, shiftKey, defaultPrevented } = event
  const isAsked = key.toLowerCase() === 'k' && ctrlKey !== metaKey && !altKey && !shiftKey
  if (!isAsked || defaultPrevented || !search) return
  openSearch()
  event.preventDefault()
})

document.addEventListener('keydown', (event) => {
  const { key, target, defaultPrevented, ctrlKey, metaKey, altKey, repeat } = event
  if (defaultPrevented || ctrlKey || metaKey || altKey || repeat || isTyping(target)) return
  const way = isGoing ? document.querySelector(`[data-key="${CSS.escape(key)}"]`) : null
  isGoing = key === 'g' && !isGoing
  if (way) location.href = way.href
  else if (key === '/' && search) openSearch()
  else if (key === '?') list?.showModal()
  else return
  event.preventDefault()
})

if (opener && list) {
  opener.hidden = false
  opener.addEventListener('click', () => list.showModal())
}
