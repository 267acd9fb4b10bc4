/** `3 h 20 min`: how long something lasts, in its two largest parts. */
export function printDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first < 0) return '0 s'
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
