/**
 * Mistakes that the TypeScript of the engine could have, as replacements in its text, and the test that finds
 * each. Those of the model that are made in SQL are in sql-mutants.ts. `LANE_MUTANT=name node --import
 * ./test/engine/mutate.ts test/engine/lane.test.ts` makes one.
 */
import { readFileSync } from 'node:fs'

interface LaneMutant {
  readonly about: string
  /** In src/webhooks. */
  readonly file: string
  readonly replace: readonly (readonly [found: string, by: string])[]
  readonly caughtBy: readonly [file: string, title: string]
}

const lane = (about: string, title: string, ...replace: LaneMutant['replace'][number][]): LaneMutant => ({
  about,
  file: 'engine/lane.ts',
  replace,
  caughtBy: ['lane.test.ts', title],
})

const titles = {
  order: 'the next of an entity goes when the one before is settled, not when it is answered',
  fails: 'an entity that fails waits with all that comes behind it, and goes on in its order; the others go',
  unsettled: 'ten are in the air at once, and a hundred are sent and not settled',
  position:
    'the position lies below the first that is unfinished, and counts nothing that is being written down',
  one: 'a lane has one settlement at a time, with all that was answered before it',
  flying:
    'what is in the air while the lane is loaded anew is not sent again, and its answer is told with the new epoch',
  room: 'what is sent and not settled takes no room of what a lane reads ahead when it is loaded anew',
  refused: 'what was refused for an act is told once more, with the epoch of the act',
  ahead: 'whoever takes a lane over does not send what was finished above the position',
  exceptions:
    'whoever takes a lane over goes on with what fails above the position, and does not begin it anew',
  attempt: 'an attempt has its number when it is sent: one that is written down already is not told again',
  passed: 'what was passed, or has ended, while it was in the air is not told; what was passed is not sent',
  frozen:
    'while an entity that failed is written down as finished, nothing more is read: what comes then is not missed',
  bound: 'a thousand entities fail at most: what is under way and may fail counts, and retries go on',
  place: 'an entity that fails takes one place, whatever waits behind it',
  fifth: 'retries leave a fifth of the attempts at once to what is new, and what is new a fifth to them',
  window: 'a lane reads fifty ahead of what it sends, and ten thousand above what is unfinished',
  clock: 'by a clock that was set back since they were written, retries are due and nothing is held',
  hold: 'nothing goes before the moment that the receiver asked for, which is written down',
  breaker: 'with an open breaker one attempt at a time probes, in turns what waits and something new',
  again: 'what is sent again holds up nothing that happens, nor is it held up',
  againOrder: 'what is sent again goes in the order of its entity, one at a time',
  replay: 'a replay sends the next of an entity when the one before is settled, and what happens goes first',
  replayed: 'what a replay finished above its position is not sent again by whoever takes the lane over',
  deferred:
    'what waits in a replay behind one that failed is written down as asked for, and the replay goes on',
  replayPosition:
    'the position of a replay passes nothing that is in the air, and the replay ends with the last',
  replayBound: 'a replay waits while a thousand of what is sent again wait',
  lost: 'a lane that is lost says nothing more, neither what it sent nor how far it is: its webhook has one lane in a settlement',
  closed: 'a lane that is closed sends and reads nothing; one that leaves ends what it began',
  leaves:
    'a lane that is told to leave sends nothing more, and is given back as soon as nothing is in the air, whatever it had read',
  filter: 'what a webhook wanted when an entry was numbered decides, not what it wants when it is read',
  health: 'what a lane knows of its receiver and has not written down outlives that it is loaded anew',
  terms:
    'what was learned in an earlier term is nothing now: nothing is written of it, and the first answer of this term is',
  term: 'an answer to what was sent in an earlier term tells nothing of this one',
  meanwhile: 'an answer of the database to a lane that was loaded meanwhile changes nothing',
  putBack: 'what could not be sent while the lane was loaded anew is sent later',
  replayOnce:
    'what a replay has sent is sent once, though the lane is loaded anew before the answer, before it is settled, or before it is read again',
  replayCount: 'what a replay has sent counts once, though the lane was read while that was written down',
  replayAsked: 'a replay that was loaded anew does not go by what it asked for before',
  replayPutBack: 'what a replay could not send is sent by the same replay, and by no other',
} as const

const ofLanes: Readonly<Record<string, LaneMutant>> = {
  // order of an entity
  answerFreesEntity: lane(
    'the next of an entity is sent when the one before is answered, not when it is settled',
    titles.order,
    [
      'this.#results.push({ sending, verdict, answer, judgedAt: now })',
      `this.#results.push({ sending, verdict, answer, judgedAt: now })
       const line = this.#lines.get(sending.entity)
       if (sending.source === 'new' && line && line.length > 1) { line.shift(); this.#ready.add(sending.entity) }`,
    ],
  ),
  settlingFreesEntity: lane(
    'the next of an entity is sent while the one before is being settled',
    titles.replay,
    ['return this.#results.some(has) || (this.#settling?.results.some(has) ?? false)', 'return false'],
  ),
  newPassesException: lane('a new entry is sent though its entity has an exception', titles.fails, [
    ' || this.#exceptions.has(entity)) return\n',
    ') return\n',
  ]),
  sendsBehind: lane('what waits behind the first of an entity is sent beside it', titles.fails, [
    `      for (const entry of this.#lines.get(entity) ?? []) this.#forget(entry, entry.seq !== seq)
      this.#lines.delete(entity)
      this.#ready.delete(entity)`,
    `      const line = this.#lines.get(entity)
      line?.shift()
      if (line && line.length > 0) this.#ready.add(entity)`,
  ]),
  retriesBeside: lane('a retry is sent that is in the air already', titles.fails, [
    'if (!isBusy) found = sending',
    'found = sending',
  ]),
  exceptionEndsEarly: lane(
    'an entity is taken for recovered with its first, though others wait behind it',
    titles.fails,
    [
      'const next = continuations.get(entity)\n',
      'const next = undefined as { seq: number; day: number } | undefined\n',
    ],
  ),
  exceptionStays: lane('an entity that has recovered is held back for ever', titles.fails, [
    'else this.#exceptions.delete(entity)',
    '',
  ]),
  // settlement
  twoSettlements: lane('two settlements of a lane are under way at once', titles.one, [
    "if (this.#settling || this.#state === 'lost') return undefined",
    "if (this.#state === 'lost') return undefined",
  ]),
  settlesTwice: lane('what is being settled is told with the next as well', titles.one, [
    '    this.#results = []\n    this.#breakerIsWritten = true',
    '    this.#results = [...this.#results]\n    this.#breakerIsWritten = true',
  ]),
  positionIsHighest: lane('the position is the highest that was read', titles.position, [
    'return first === undefined ? this.#read : first - 1',
    'return this.#read',
  ]),
  positionCountsSettling: lane('the position counts what is being written down', titles.position, [
    'const first = this.#open.keys().next().value\n    return',
    `const told = new Set(this.#results.map(({ sending }) => sending.seq))
    const first = [...this.#open.keys()].find((seq) => !told.has(seq))
    return`,
  ]),
  settlesLoaded: lane(
    'an answer of the database is taken for one to what was composed later',
    titles.meanwhile,
    ['if (this.#settling !== settlement) return { replayEnded: false }', ''],
  ),
  attemptCountedAtSettlement: lane(
    'an attempt is counted when it is settled, not when it is sent',
    titles.attempt,
    ['row.seq === seq && row.attempts < attempt', 'row.seq === seq'],
    [
      'results: this.#results.map((result) => dueBy(result, now)),',
      `results: this.#results.map((each) => ({
        ...each,
        sending: { ...each.sending, attempt: (this.#exceptions.get(each.sending.entity)?.attempts ?? 0) + 1 },
      })),`,
    ],
  ),
  readsWhileFrozen: lane('a lane reads on while the next of an entity is looked for', titles.frozen, [
    ' || this.#isFrozen()) return undefined',
    ') return undefined',
  ]),
  lostSettles: lane(
    'a lane that was lost has its answers written down',
    titles.lost,
    [
      "if (this.#settling || this.#state === 'lost') return undefined",
      'if (this.#settling) return undefined',
    ],
    ["    this.#state = 'lost'\n    this.#results = []", "    this.#state = 'lost'"],
  ),
  lostAnswers: lane('a lane that was lost takes answers', titles.lost, [
    "if (this.#state === 'lost') return false\n    if (!this.#fromBefore",
    'if (!this.#fromBefore',
  ]),
  // taking over and loading anew
  forgetsAhead: lane('whoever takes over does not read the outcomes above the position', titles.ahead, [
    'this.#ahead = new Set(ahead)',
    'this.#ahead = new Set()',
  ]),
  forgetsExceptions: lane(
    'whoever takes over takes exceptions above the position for new entries',
    titles.exceptions,
    ['new Map(exceptions.map(', 'new Map(exceptions.filter(({ seq }) => seq <= cursor.position).map('],
  ),
  forgetsReplayed: lane(
    'whoever loads does not read what a replay has done ahead of its position',
    titles.replayed,
    ['ahead: new Set(replay.ahead)', 'ahead: new Set()'],
  ),
  reloadForgetsFlying: lane('a holder that loads anew forgets what is under way', titles.flying, [
    'this.#settling = undefined\n    this.#dueFromMs = Number.NEGATIVE_INFINITY\n    this.#results = this.#results.filter',
    'this.#settling = undefined\n    this.#flying.clear()\n    this.#results = this.#results.filter',
  ]),
  reloadForgetsAnswers: lane('a holder that loads anew forgets what was answered', titles.refused, [
    'this.#results = [...(this.#settling?.results ?? []), ...this.#results]',
    'this.#results = [...(this.#settling?.results ?? [])]',
  ]),
  reloadForgetsSettling: lane('a holder that loads anew forgets what was being settled', titles.refused, [
    'this.#results = [...(this.#settling?.results ?? []), ...this.#results]',
    '',
  ]),
  reloadKeepsEpoch: lane('a holder that loads anew goes on with its old epoch', titles.refused, [
    'this.#epoch = cursor.epoch',
    'this.#epoch = isFirst ? cursor.epoch : this.#epoch',
  ]),
  reloadSendsAgain: lane(
    'a holder that loads anew takes what it has sent for something that waits',
    titles.room,
    ['if (this.#sentBefore.delete(seq)) return\n', ''],
  ),
  reloadForgetsHealth: lane(
    'a holder that loads anew forgets how its receiver fares',
    titles.health,
    ['if (wasTouched) this.#learnHealth', 'if (true) this.#learnHealth'],
    ['if (term !== this.#term)', 'if (true)'],
  ),
  reloadLosesHealth: lane('how a receiver fares is lost with a settlement that was', titles.health, [
    'if (this.#settling?.failures !== undefined) this.#breakerIsWritten = false',
    '',
  ]),
  earlierTermCounts: lane('an answer to what was sent in an earlier term counts in this one', titles.term, [
    'this.#fromBefore = new Set(this.#flying)',
    'this.#fromBefore = new Set()',
  ]),
  earlierTermStays: lane(
    'a holder goes on in a new term with what it learned in the one before',
    titles.terms,
    ['if (term !== this.#term) {', 'if (this.#term === -1) {'],
  ),
  putBackIsLost: lane('what could not be sent is taken for sent', titles.putBack, [
    'this.#sentBefore.delete(seq)\n',
    '\n',
  ]),
  // the bounds
  sendsPastLease: lane('nothing bounds what is sent and not settled', titles.unsettled, [
    ' || this.unsettled >= unsettledAtMost) return undefined',
    ') return undefined',
  ]),
  answersAreFree: lane('what is answered and not settled is not counted', titles.unsettled, [
    'return this.#flying.size + this.#results.length + (this.#settling?.results.length ?? 0)',
    'return this.#flying.size',
  ]),
  slotsUnbounded: lane('nothing bounds what is in the air', titles.unsettled, [
    'this.#flying.size >= attemptsAtOnce || ',
    '',
  ]),
  boundIgnoresFlying: lane(
    'the bound counts exceptions, not what is under way and may become one',
    titles.bound,
    [
      'return this.#exceptions.size + underWay < exceptionsAtMost',
      'return this.#exceptions.size < exceptionsAtMost',
    ],
  ),
  boundIgnoresAnswers: lane('the bound counts what is in the air, not what is answered', titles.bound, [
    "source === 'new') +\n      this.#results.length +\n      (this.#settling?.results.length ?? 0)",
    "source === 'new')",
  ]),
  exceptionsUnbounded: lane('any number of entities may fail', titles.bound, [
    'return this.#exceptions.size + underWay < exceptionsAtMost',
    'return true',
  ]),
  fullStopsRetries: lane('a lane whose exceptions are full sends nothing', titles.bound, [
    'const until = this.#heldUntil(now)\n    if (until',
    'if (this.isFull) return undefined\n    const until = this.#heldUntil(now)\n    if (until',
  ]),
  rowForEachBehind: lane('what waits behind an exception takes a place of its own', titles.place, [
    '// Entries behind it are found in the log when their turn comes.',
    'for (const entry of this.#lines.get(entity) ?? []) if (entry.seq !== seq) this.#exceptions.set(entity + entry.seq, { entity, seq: entry.seq, day, attempts: 0, dueAt: verdict.dueAt, writtenAt: now })',
  ]),
  fifthIsNone: lane('retries leave nothing to what is new, nor it to them', titles.fifth, [
    'slots > 1 ? Math.max(1, Math.floor(slots / 5)) : 0',
    'slots * 0',
  ]),
  newTakesAll: lane('what is new leaves nothing to retries', titles.fifth, [
    '(!due || this.#flying.size - retries < attemptsAtOnce - fifth(attemptsAtOnce))',
    'true',
  ]),
  readsAhead: lane('a lane reads as far ahead as there is', titles.window, [
    'this.#queued < queuedAtMost &&',
    '',
  ]),
  windowUnbounded: lane('a lane reads any distance above what is unfinished', titles.window, [
    ' &&\n      span < windowAtMost',
    ' &&\n      span >= 0',
  ]),
  againsUnbounded: lane('a replay goes on whatever waits of what it sent', titles.replayBound, [
    'if (this.#agains.size + replay.deferred.length >= againsAtMost) continue',
    '',
  ]),
  // moments
  dueByClockAlone: lane(
    'a retry is due when the clock says so, though the clock was set back since it was written',
    titles.clock,
    [' || nowMs < sending.writtenAt.getTime()', ''],
  ),
  sleepsByOldClock: lane(
    'a lane falls asleep until a moment that was reckoned before the clock was set back',
    titles.clock,
    ['if (now < writtenAt) return now', ''],
  ),
  heldByClockAlone: lane('a lane is held by a clock that was set back since', titles.clock, [
    'this.#heldAt && now < this.#heldAt ? undefined : this.#holdUntil',
    'this.#holdUntil',
  ]),
  sendsWhileHeld: lane('what the receiver asked for is not heeded', titles.hold, [
    'if (until && until > now) return undefined',
    '',
  ]),
  holdIsForgotten: lane('what the receiver asked for is not written down', titles.hold, [
    '    this.#heldAt = now\n    this.#breakerIsWritten = false',
    '    this.#heldAt = now',
  ]),
  probesAtOnce: lane('with an open breaker many probe at once', titles.breaker, [
    'if (this.unsettled > 0) return undefined',
    '',
  ]),
  probesOldAlone: lane('with an open breaker nothing new is tried', titles.breaker, [
    'if (isNew) return this.#nextNew(now)',
    '',
  ]),
  // again
  againHoldsUpLive: lane('what is sent again holds up what happens', titles.again, [
    'return this.#isUnderWay((sending) => sending.entity === entity && isLive(sending))',
    'return this.#isUnderWay((sending) => sending.entity === entity) || this.#agains.values().some((row) => row.entity === entity)',
  ]),
  liveHoldsUpAgain: lane('what happens holds up what is sent again', titles.again, [
    'return this.#isUnderWay((sending) => sending.entity === entity && !isLive(sending))',
    'return this.#isUnderWay((sending) => sending.entity === entity) || this.#lines.has(entity)',
  ]),
  againOutOfOrder: lane('of what is asked for again, any of an entity is sent', titles.againOrder, [
    'if (!other || row.seq < other.seq || (row.seq === other.seq && row.round < other.round))',
    'if (!other)',
  ]),
  againStays: lane('what was sent again is sent for ever', titles.againOrder, [
    "if (verdict.state !== 'retrying') this.#agains.delete(key)",
    "if (verdict.state !== 'retrying') {}",
  ]),
  replayOverlaps: lane('a replay sends the next of an entity beside the one before', titles.replay, [
    'if (this.#isBusyAgain(entity)) continue',
    '',
  ]),
  replayFirst: lane('a replay goes before what happens', titles.replay, [
    'return mayBegin ? this.#nextNew(now) : this.#nextReplayed(now)',
    'return this.#nextReplayed(now) ?? (mayBegin ? this.#nextNew(now) : undefined)',
  ]),
  replayPassesFailed: lane('a replay sends what waits behind one that failed', titles.deferred, [
    'if (!this.#holdsBack(entry)) {',
    'if (true) {',
  ]),
  replayForgetsDeferred: lane('what a replay leaves behind is written down nowhere', titles.deferred, [
    'done.size, deferred }',
    'done.size, deferred: [] }',
  ]),
  replayPositionIsRead: lane('the position of a replay is as far as it has read', titles.replayPosition, [
    'position = seq - 1\n      break',
    'break',
  ]),
  replayNeverEnds: lane('a replay that has come to its last goes on', titles.replayPosition, [
    '    this.#replay = undefined\n    return { replayEnded: true }',
    '    return { replayEnded: false }',
  ]),
  replayToHead: lane('a replay ends at the head, not at the last of its numbers', titles.replayPosition, [
    'if (this.#replay.position < this.#replay.last) return',
    'if (this.#replay.position <= Math.max(this.feed.head, this.#read)) return',
  ]),
  replaySendsTwice: lane('a replay that is loaded anew sends what is under way', titles.replayOnce, [
    'if (!this.#isUnderWay((sending) => sending.seq === seq && sending.round === round))',
    '',
  ]),
  replayForgetsSettled: lane('a replay that is loaded anew sends what was settled since', titles.replayOnce, [
    "if (verdict.state !== 'retrying' && replay && seq > replay.read) replay.ahead.add(seq)",
    '',
  ]),
  replayCountsWritten: lane('a replay counts again what was written as ended', titles.replayCount, [
    ' && !replay.ahead.has(seq) && !again',
    ' && !again',
  ]),
  replayCountsFailed: lane('a replay counts again what was written as failed', titles.replayCount, [
    ' && !replay.ahead.has(seq) && !again',
    ' && !replay.ahead.has(seq)',
  ]),
  replayCountsItsOwn: lane('a replay counts what one settlement adds', titles.replayCount, [
    'sent: replay.sent + done.size',
    'sent: done.size',
  ]),
  replayTakesAnything: lane('a replay goes by what was read for another moment', titles.replayAsked, [
    ' || after !== replay.read) return',
    ') return',
  ]),
  replayPutsBackForeign: lane('what one replay could not send is sent by another', titles.replayPutBack, [
    'this.#replay?.round === round && this.#replay.open.has(seq)',
    'this.#replay',
  ]),
  // acts
  tellsPassed: lane('what was passed while it was in the air is told as sent', titles.passed, [
    'if (seq <= this.#passed || this.#ahead.has(seq)) return false',
    '',
  ]),
  sendsPassed: lane('what was passed is sent', titles.passed, [
    'this.#ahead.has(seq) || seq <= this.#passed ||',
    'this.#ahead.has(seq) ||',
  ]),
  sendsClosed: lane(
    'a lane that is paused sends',
    titles.closed,
    [
      "    if (this.#state !== 'open') return undefined",
      "    if (this.#state !== 'open' && this.#state !== 'closed') return undefined",
    ],
    [
      "if (this.#state !== 'open' || this.#isFrozen()) return undefined",
      'if (this.#isFrozen()) return undefined',
    ],
  ),
  leavesNever: lane('a lane that is to leave goes on', titles.closed, [
    "    if (this.#state !== 'open') return undefined",
    "    if (this.#state !== 'open' && this.#state !== 'leaving') return undefined",
  ]),
  leavesLate: lane('a lane that is to leave is kept until it has sent what it had read', titles.leaves, [
    "this.#state !== 'open' || (",
    "this.#state === 'closed' || (",
  ]),
  leavingIsForgotten: lane('a lane that is to leave stays when it is loaded anew', titles.leaves, [
    "if (this.#state === 'open' || this.#state === 'closed') this.#state",
    'this.#state',
  ]),
  filterWhenRead: {
    about: 'the filter of the moment of reading decides, not that of the moment of numbering',
    file: 'events/entry.ts',
    replace: [['filters.findLast(({ fromSeq }) => fromSeq <= entry.seq)', 'filters.at(-1)']],
    caughtBy: ['lane.test.ts', titles.filter],
  },
}

const more = (
  file: string,
  caughtBy: LaneMutant['caughtBy'],
  about: string,
  ...replace: LaneMutant['replace'][number][]
): LaneMutant => ({ about, file, replace, caughtBy })

export const laneMutants: Readonly<Record<string, LaneMutant>> = {
  ...ofLanes,
  // settlements
  tellsAgainBlindly: more(
    'engine/settlements.ts',
    [
      'settlements.test.ts',
      'a settlement whose answer was lost is not told again: what is written is found by loading',
    ],
    'a settlement whose answer was lost is told again, without loading anew',
    [
      'return { settled: [], refused: [...settlements.keys()], error }',
      `const columns = columnsOf(settlements, results, answers, now)
      const again = () => db.query(settle, { part, now, today: dayOf(now), ...columns })
      await again().catch(again).catch(() => {})
      return { settled: [...settlements].map(([lane, told]) => ({ lane, ...lane.settled(told, new Map(), now) })), refused: [] }`,
    ],
  ),
  laneTwice: more(
    'engine/lane.ts',
    [
      'settlements.test.ts',
      'a webhook is in a settlement once: a lane that was lost says nothing, though its webhook is held again',
    ],
    'a webhook is twice in a settlement: with a lane that was lost, and with the one that has it now',
    [
      "if (this.#settling || this.#state === 'lost') return undefined",
      'if (this.#settling) return undefined',
    ],
    ["    this.#state = 'lost'\n    this.#results = []", "    this.#state = 'lost'"],
  ),
  settlesRefused: more(
    'engine/settlements.ts',
    [
      'settlements.test.ts',
      'lanes whose epoch is another are refused, and the others of the statement are written',
    ],
    'a lane whose settlement was refused takes it for written',
    ['if (!held.has(webhookId)) return []', ''],
  ),
  forgetsWhatCame: more(
    'engine/settlements.ts',
    ['settlements.test.ts', 'what is answered while a statement runs is written by the next'],
    'what is answered while a statement runs waits for somebody else to answer',
    ['      this.#goOn(number, part)\n', ''],
  ),
  closesEarly: more(
    'engine/settlements.ts',
    ['settlements.test.ts', 'whoever closes has written everything that was answered'],
    'whoever closes leaves what lingers',
    ['for (const [number, part] of this.#parts) if (!part.isWriting) this.#plan(number, part, true)', ''],
  ),
  positionPassesFailed: more(
    'engine/settlements.ts',
    [
      'worker.long.ts',
      'an entity that fails holds back itself alone, and goes on in its order when it is accepted',
    ],
    'the position passes what failed, and no exception is written',
    [
      "isLive(sending) && (sending.source === 'exception' || verdict.state === 'retrying')",
      "isLive(sending) && sending.source === 'exception'",
    ],
  ),
  endsNoException: more(
    'engine/settlements.ts',
    [
      'worker.long.ts',
      'an entity that fails holds back itself alone, and goes on in its order when it is accepted',
    ],
    'that an entity has recovered is not written down',
    [
      "isLive(sending) && (sending.source === 'exception' || verdict.state === 'retrying')",
      "isLive(sending) && verdict.state === 'retrying'",
    ],
  ),
  holdStays: more(
    'engine/settlements.ts',
    [
      'settlements.test.ts',
      'how a receiver fares is written as it changes: failures with the moment until which it is held, and that they are over',
    ],
    'that nothing holds a lane any more is not written down',
    ["holdUntil === null ? '-infinity' : (holdUntil ?? null)", 'holdUntil ?? null'],
  ),
  // workers
  takesOverInOneStatement: more(
    'engine/worker.ts',
    [
      'takeover.long.ts',
      'whoever takes a lane over knows what was settled until the moment that it was taken',
    ],
    'whoever takes over reads outcomes and exceptions of the moment before it has the lane',
    [
      'const taking = poolOf(db, part).query(kernel.take, values)',
      `const free: any[] = await db.query({ name: '', parameters: ['part'], takes: {}, gives: {},
        text: 'SELECT webhook_id AS "webhookId" FROM cursors WHERE part = $1 AND holder IS NULL' }, { part })
      const before = await this.#read(part, free.map(({ webhookId }) => webhookId))
      Object.assign(this, { before: new Map([...before].map(([id, of]) => [id, { ...of, cursor: { ...of.cursor, epoch: of.cursor.epoch + 1, holder: number } }])) })
      const taking = db.query(kernel.take, values)`,
    ],
    ['const loaded = await this.#read(part, webhookIds)', 'const loaded = (this as any).before'],
  ),
  refusedIsForgotten: more(
    'engine/worker.ts',
    ['takeover.long.ts', 'what was in the air during an act is written down after it'],
    'a lane whose settlement was refused is not loaded anew',
    ['for (const lane of refused) this.#loadAnew(lane)', ''],
  ),
  loadsOldMoment: more(
    'engine/worker.ts',
    ['takeover.long.ts', 'a lane is not loaded with what was read before something of it was written down'],
    'a lane is loaded with what was read before something of it was written down',
    ['if (held.isStale || lane.settlements !== before[index]) {', 'if (held.isStale) {'],
  ),
  loadsOldState: more(
    'engine/worker.ts',
    [
      'takeover.long.ts',
      'a lane that is paused while it is loaded anew sends nothing: it is loaded once more before',
    ],
    'what changes while a lane is loaded is seen later',
    [
      'if (held.isStale || lane.settlements !== before[index]) {',
      'if (lane.settlements !== before[index]) {',
    ],
  ),
  sendsWhileLoading: more(
    'engine/worker.ts',
    [
      'takeover.long.ts',
      'a lane that is paused while it is loaded anew sends nothing: it is loaded once more before',
    ],
    'a lane goes on while it is loaded anew',
    [
      "if (lane.state === 'lost' || held.isLoading || this.#isClosing) return",
      "if (lane.state === 'lost' || this.#isClosing) return",
    ],
  ),
  keepsItsTurnWhileLoading: more(
    'engine/worker.ts',
    [
      'worker.long.ts',
      'a lane that waits for its turn sends nothing while it is being read anew: its webhook may be paused by now',
    ],
    'a lane that waits for its turn goes on while it is loaded anew',
    ['      held.isLoading = true\n      this.#turns.delete(held)\n', '      held.isLoading = true\n'],
  ),
  keepsWhatIsOthers: more(
    'engine/worker.ts',
    [
      'takeover.long.ts',
      'a worker lets go of a lane that somebody else has taken, and what it sent is not written down',
    ],
    'a worker that loads a lane of somebody else goes on with its epoch',
    [
      'if (!of || of.cursor.holder === null || !numbers.has(of.cursor.holder)) this.#drop(held)',
      'if (!of || numbers.size === 0) this.#drop(held)',
    ],
  ),
  takesUnseen: more(
    'engine/worker.ts',
    [
      'takeover.long.ts',
      'a lane that is taken begins at once with what its log has: it does not wait for the next look',
    ],
    'whoever takes a lane learns how far its log goes when it looks next',
    ['      held.lane.feed.append(of.head)\n', ''],
  ),
  neverLooks: more(
    'engine/worker.ts',
    ['takeover.long.ts', 'a lane that is held finds by itself what nobody told it of'],
    'a lane that is held looks when it is told so, and never by itself (a notification was lost)',
    ['    void this.#feedLooks.join()\n', ''],
  ),
  sleepsWithoutTimer: more(
    'engine/worker.ts',
    ['takeover.long.ts', 'a lane falls asleep until its retry is due'],
    'falling asleep forgets the retries',
    ["lane.findDue(now) ?? 'infinity'", "'infinity' as const"],
  ),
  closesWithoutAnswers: more(
    'engine/worker.ts',
    [
      'takeover.long.ts',
      'a worker that closes has written down what it sent, and its lanes are awake and free',
    ],
    'a worker that closes does not wait for what is in the air',
    ['if (this.#slots.total > 0) await new Promise<void>((idle) => (this.#idle = idle))', ''],
  ),
  closesWithLanes: more(
    'engine/worker.ts',
    [
      'takeover.long.ts',
      'a worker that closes has written down what it sent, and its lanes are awake and free',
    ],
    'a worker that closes keeps its lanes',
    ['await this.#giveBack([...this.#held.values()]).catch((error: unknown) => this.#complain(error))', ''],
  ),
  // numbering and reading
  looksOnce: more(
    'events/sequencer.ts',
    [
      'sequencer.test.ts',
      'a part in which more was published than a look takes is looked at until nothing is left',
    ],
    'what a look leaves waits for the next event',
    [
      'if (await lookAt(db, part, { now: clock.now(), numbered })) this.#wanted.add(part)',
      'await lookAt(db, part, { now: clock.now(), numbered })',
    ],
  ),
  looksDeaf: more(
    'events/sequencer.ts',
    ['sequencer.test.ts', 'what is published while its part is looked at has its number by the next look'],
    'what is published while its part is looked at is not looked for',
    ['      this.#busy.delete(part)\n', '      this.#busy.delete(part)\n      this.#wanted.delete(part)\n'],
  ),
  headGoesBack: more(
    'events/feed.ts',
    [
      'sequencer.test.ts',
      'a feed tells its lanes when it has grown and when it has read, and its head never goes back',
    ],
    'older news sets the head of a feed back',
    ['if (head <= this.#head) return', ''],
  ),
  growsUnheard: more(
    'events/feed.ts',
    [
      'sequencer.test.ts',
      'a feed tells its lanes when it has grown and when it has read, and its head never goes back',
    ],
    'lanes are not told that their feed has grown',
    [
      'this.#head = head\n    this.#keepAll(entries)\n    this.#tell()',
      'this.#head = head\n    this.#keepAll(entries)',
    ],
  ),
  readsUnheard: more(
    'events/feed.ts',
    [
      'sequencer.test.ts',
      'a feed tells its lanes when it has grown and when it has read, and its head never goes back',
    ],
    'lanes are not told that their feed was read',
    [
      'this.#head = Math.max(this.#head, entries.at(-1)?.seq ?? 0)\n    this.#tell()',
      'this.#head = Math.max(this.#head, entries.at(-1)?.seq ?? 0)',
    ],
  ),
  waitsForWhatLeft: more(
    'events/feed.ts',
    ['sequencer.test.ts', 'what has left with its day is passed: a feed says where the log begins'],
    'a lane waits for what has left with its day',
    ['entries[0]?.seq === after + 1 ? 0 : (entries[0]?.seq ?? this.#head + 1)', 'this.#first'],
  ),
  keepsEverything: more(
    'events/feed.ts',
    [
      'sequencer.test.ts',
      'a feed keeps two mebibytes, the newest of them, and lanes that want the same read it together',
    ],
    'a feed keeps everything that it has read',
    ['if (this.#bytes <= keptBytes || seq === entry.seq) break', 'if (this.#bytes >= 0) break'],
  ),
  readsForEach: more(
    'events/feed.ts',
    [
      'sequencer.test.ts',
      'a feed keeps two mebibytes, the newest of them, and lanes that want the same read it together',
    ],
    'each lane of a feed reads by itself',
    ['return this.#reads.join(after)', 'return this.#readPage(after)'],
  ),
}

export const source = ({ file }: LaneMutant): URL => new URL(`../../src/webhooks/${file}`, import.meta.url)

/**
 * The text of a file with its mistake. Fails where a replacement finds nothing: then the code has changed,
 * and the mutant has to follow.
 */
export function mutated(name: string): string {
  const mutant = laneMutants[name]!
  let text = readFileSync(source(mutant), 'utf8')
  for (const [found, by] of mutant.replace) {
    if (!text.includes(found)) throw new Error(`${name}: ${found} is nowhere in ${mutant.file}`)
    text = text.replace(found, () => by)
  }
  return text
}
