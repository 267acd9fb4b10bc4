/**
 * What may be forgotten, turned round or read differently: a mutant of the model has one of these. With the
 * scene that catches it.
 */
export const mutants = {
  // publishing and numbering
  orderByTransaction: ['numbering', 'a look is sorted by the number of the transaction'],
  cachedIds: ['numbering', 'ids come from a cache of each connection'],
  cursorById: ['numbering', 'the sequencer remembers the highest id it has read'],
  sequencerInOneStatement: [
    'sleep',
    'the sequencer locks the head and looks in one statement: its snapshot is older than its lock',
  ],
  wakesAfterCommit: ['sleep', 'the sequencer wakes sleepers in a transaction of its own'],
  wakesNobodyWithTimer: ['timer', 'the sequencer takes a lane that waits for a retry for one that is awake'],
  headForgetsDays: ['dropped', 'a feed whose days have all been dropped begins again at 1'],
  // falling asleep and waking
  sleepsUnseen: ['sleep', 'a lane falls asleep without comparing the head with what it has read'],
  sleepsOverActs: ['once more', 'falling asleep asks who holds the lane, not for the epoch'],
  sleepsWithoutTimer: ['sleep', 'falling asleep forgets the retries'],
  actsWakeNobody: ['once more', 'an act leaves a sleeping lane asleep'],
  neverLooks: [
    'two kinds',
    'a lane that is held looks when it is told so, and never by itself (a notification was lost)',
  ],
  dueByClockAlone: [
    'clock',
    'a retry is due when the clock says so, though the clock was set back since it was written',
  ],
  wakesByClockAlone: [
    'clock',
    'a lane sleeps until the clock says so, though the clock was set back since it fell asleep',
  ],
  sleepsByOldClock: [
    'clock',
    'a lane falls asleep until a moment that was reckoned before the clock was set back',
  ],
  // settlement
  insertsUnfenced: ['takeover', 'outcomes are written for lanes whose epoch is another'],
  exceptionsUnfenced: ['takeover', 'exceptions are written for lanes whose epoch is another'],
  settlesWithoutEpoch: ['takeover', 'a settlement names the webhook and not the epoch'],
  settlesByHolder: [
    'skip',
    'a settlement is fenced by the holder, not by the epoch: it does not notice what was done from outside',
  ],
  twoSettlements: [
    'takeover',
    'two settlements of a lane are under way at once, and the second counts on the first',
  ],
  positionIsHighest: ['takeover', 'the position is the highest that is finished'],
  positionPassesFailed: ['takeover', 'the position passes what failed, and no exception is written'],
  tellsAgainBlindly: ['doubt', 'a settlement whose answer was lost is told again, without loading anew'],
  // taking over
  takesOverInOneStatement: [
    'takeover',
    'whoever takes over reads outcomes and exceptions in the statement that takes the epoch',
  ],
  takesOverWithoutEpoch: ['takeover', 'taking over leaves the epoch as it is'],
  forgetsAhead: ['takeover', 'whoever takes over does not read the outcomes above the position'],
  forgetsExceptions: ['lazy', 'whoever takes over takes exceptions above the position for new entries'],
  forgetsReplayed: [
    'replay of two',
    'whoever loads does not read what a replay has done ahead of its position',
  ],
  sendsPastLease: [
    'unaware',
    'a holder that was taken for gone goes on without a bound on what it has not settled',
  ],
  // order of an entity
  answerFreesEntity: [
    'takeover',
    'the next of an entity is sent when the one before is answered, not when it is settled',
  ],
  newPassesException: ['timer', 'a new entry is sent though its entity has an exception'],
  sendsBehind: ['retries', 'what waits behind the first of an entity is sent beside it'],
  exceptionEndsEarly: [
    'retries',
    'the exception of an entity is deleted with its first, though others wait behind it',
  ],
  actEndsException: ['skip', 'an act deletes the exception of an entity, though others wait behind it'],
  reloadForgetsFlying: ['skip to now', 'a holder that loads anew forgets what is under way'],
  // the bound
  rowForEachBehind: [
    'poison',
    'what waits behind an exception takes a row of its own, and the bound counts it',
  ],
  boundIsConstraint: ['full of two', 'a full exceptions table refuses the settlement'],
  boundIgnoresFlying: ['full', 'the bound counts exceptions, not what is under way and may become one'],
  fullStopsRetries: ['full of two', 'a lane whose exceptions are full sends nothing'],
  // acts
  actsKeepEpoch: ['skip', 'an act from outside leaves the epoch as it is'],
  actsTakeLane: ['pause', 'an act from outside takes the lane away from its holder'],
  filterWhenRead: [
    'filter',
    'the filter of the moment of reading decides, not that of the moment of numbering',
  ],
  replayToHead: ['replay', 'a replay ends at the head, not at the position'],
  replayTakesUnfinished: ['replay', 'a replay sends what stands in the exceptions'],
  replayOverlaps: ['replay of two', 'a replay sends the next of an entity beside the one before'],
} as const satisfies Record<string, readonly [scene: string, about: string]>
export type Mutant = keyof typeof mutants
