// What was unfolded to choose from is folded up again: by Escape, by a click elsewhere, and when another is opened.
const menus = 'details:is(.menu, .partners)[open]'

function close(menu) {
  const hadFocus = menu.contains(document.activeElement)
  menu.open = false
  if (hadFocus) menu.querySelector('summary').focus()
}

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.defaultPrevented) return
  for (const menu of document.querySelectorAll(menus)) close(menu)
})
document.addEventListener('click', ({ target }) => {
  for (const menu of document.querySelectorAll(menus)) if (!menu.contains(target)) menu.open = false
})
