// Buttons that copy what stands before them. Where there is no clipboard, as on a site without TLS, the text is selected for whoever wants to copy it.
const copyStatus = document.createElement('span')
copyStatus.className = 'unseen'
copyStatus.setAttribute('role', 'status')
document.body.append(copyStatus)

// The page may print them anew: one listener for all that come.
document.addEventListener('click', async ({ target }) => {
  const button = target.closest('.copied > .copy')
  if (!button) return
  const source = button.previousElementSibling
  let said = 'Copied'
  try {
    await navigator.clipboard.writeText(source.textContent.trim())
  } catch {
    getSelection().selectAllChildren(source)
    said = 'Selected'
  }
  const words = button.firstChild
  words.data = said
  copyStatus.textContent = said
  setTimeout(() => {
    words.data = 'Copy'
    copyStatus.textContent = ''
  }, 2000)
})
