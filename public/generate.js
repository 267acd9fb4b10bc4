// Fields for a secret that the person chooses: a button makes one, another copies it. It is seen until the form is sent, and not again.
function addButton(after, words, act) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = words
  button.addEventListener('click', act)
  after.after(button)
  return button
}

for (const field of document.querySelectorAll('input[data-generate]')) {
  const note = document.createElement('p')
  note.className = 'small'
  note.setAttribute('role', 'status')
  const copy = addButton(field, 'Copy', async () => {
    try {
      await navigator.clipboard.writeText(field.value)
      note.textContent = 'Copied. After you send this form it is not shown again.'
    } catch {
      field.select()
      note.textContent = 'Selected: copy it with the keys of your system.'
    }
  })
  copy.hidden = true
  addButton(field, 'Generate', () => {
    const bytes = crypto.getRandomValues(new Uint8Array(24))
    field.value = `${field.dataset.generate}${btoa(String.fromCharCode(...bytes))}`
    field.type = 'text'
    field.select()
    copy.hidden = false
    note.textContent = 'Copy it now: after you send this form it is not shown again.'
  })
  field.parentElement.append(note)
}
