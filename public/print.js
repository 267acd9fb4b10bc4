// Buttons that print the page they are on. Without script they stay hidden, and the browser's own menu prints.
for (const button of document.querySelectorAll('[data-print]')) {
  button.hidden = false
  button.addEventListener('click', () => print())
}
