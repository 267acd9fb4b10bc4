// A form is sent once: further clicks while the answer is on its way do nothing.
document.addEventListener('submit', (event) => {
  const form = event.target
  if (form.dataset.sent) event.preventDefault()
  form.dataset.sent = 'yes'
})
// A page that comes back from the browser's memory may be sent again.
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.sent
})
