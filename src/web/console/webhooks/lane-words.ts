import type { LaneCondition } from '../../../webhooks/health/lane-health.ts'
import type { Html } from '../../frame/html.ts'
import { badge, type Tone } from '../../frame/parts.ts'
import { conditionLabels, conditionTones, conditionWords } from '../../parts/health-words.ts'

const tones: Record<LaneCondition, Tone> = { ...conditionTones, late: 'wait', held: 'off' }

export const laneLabels: Record<LaneCondition, string> = { ...conditionLabels, late: 'late', held: 'on hold' }

/** With how many there are of them, where that is known. */
export function laneBadge(condition: LaneCondition, count?: number): Html {
  return badge(
    tones[condition],
    count === undefined ? laneLabels[condition] : `${laneLabels[condition]} · ${count.toLocaleString('en')}`,
  )
}

/** What it means to the operator who watches over all of them. */
export const laneWords: Record<LaneCondition, string> = {
  ...conditionWords,
  late: 'Its receiver answers, but deliveries have been due for more than a minute. Check that the workers keep up.',
  held: 'Its partner is not approved. Deliveries are queued and go out when it is.',
  paused: 'Somebody paused it. Deliveries are queued and go out when it is resumed.',
  disabled: 'Nothing is sent until it is resumed; then queued deliveries are sent.',
}

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
