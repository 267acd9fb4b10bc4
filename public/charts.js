// The columns of a chart by the arrow keys: one step in the order of tab is enough for all of them.
const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }
document.addEventListener('keydown', (event) => {
  const column = event.target.closest('.columns > li')
  const step = steps[event.key]
  if (!column || step === undefined || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  const columns = [...column.parentElement.children]
  const place = Math.min(columns.length - 1, Math.max(0, columns.indexOf(column) + step))
  columns[place].focus()
})
