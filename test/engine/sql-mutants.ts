/**
 * Mistakes that the kernel's functions could have, as replacements in their text, and the test that finds
 * each: a scene whose walks differ, or an interleaving.
 */
import { readFileSync } from 'node:fs'
import type { interleavings } from './interleavings.ts'

interface SqlMutant {
  readonly about: string
  readonly replace?: readonly (readonly [RegExp, string])[]
  /** What is done to the database besides. */
  readonly script?: string
  readonly caughtBy: { readonly walks: string } | { readonly interleaving: keyof typeof interleavings }
}

/** From the head of a function to what it is about, wherever its lines end. */
const within = (name: string, text: RegExp) =>
  new RegExp(`(CREATE FUNCTION ${name}\\((?:(?!\\nCREATE )[\\s\\S])*?)${text.source.replaceAll(' ', '\\s+')}`)

export const sqlMutants: Readonly<Record<string, SqlMutant>> = {
  // publishing and numbering
  orderByTransaction: {
    about: 'a look is sorted by the number of the transaction',
    replace: [
      [
        within('look', /\(PARTITION BY o\.feed ORDER BY o\.id\)/),
        '$1(PARTITION BY o.feed ORDER BY o.xmin::text::bigint, o.id)',
      ],
    ],
    caughtBy: { walks: 'publishers' },
  },
  cachedIds: {
    about: 'ids come from a cache of each connection',
    script: 'ALTER SEQUENCE event_ids CACHE 10',
    caughtBy: { walks: 'publishers' },
  },
  cursorById: {
    about: 'the sequencer remembers the highest id it has read',
    script: 'CREATE TABLE highest (part smallint, id bigint)',
    replace: [
      [
        within(
          'next_of_outbox',
          /FROM outbox o WHERE o\.part = of_part AND o\.id > below\.floor ORDER BY o\.id/,
        ),
        '$1FROM outbox o WHERE o.part = of_part AND o.id > coalesce((SELECT max(h.id) FROM highest h WHERE h.part = of_part), 0) ORDER BY o.id',
      ],
      [
        within('look', /(DELETE FROM outbox o [^;]*;)/),
        '$1$2 INSERT INTO highest SELECT of_part, max(i) FROM unnest(ids) AS i;',
      ],
    ],
    caughtBy: { walks: 'publishers' },
  },
  numbersFeedsTogether: {
    about: 'two branches of a look share their numbers',
    replace: [[within('look', /\(PARTITION BY o\.feed ORDER BY o\.id\)/), '$1(ORDER BY o.id)']],
    caughtBy: { walks: 'two feeds' },
  },
  looksWithoutLock: {
    about: 'the sequencer does not lock its part',
    replace: [[within('look', /PERFORM FROM parts WHERE part = of_part FOR NO KEY UPDATE;/), '$1']],
    caughtBy: { interleaving: 'a lane that falls asleep waits for a look, and stays awake' },
  },
  looksForKeyShare: {
    about: 'the sequencer locks its part FOR KEY SHARE',
    replace: [
      [
        within('look', /FROM parts WHERE part = of_part FOR NO KEY UPDATE/),
        '$1FROM parts WHERE part = of_part FOR KEY SHARE',
      ],
    ],
    caughtBy: { interleaving: 'two looks: the second waits, and finds nothing left' },
  },
  sequencerInOneStatement: {
    about: 'the sequencer reads the sleepers in the statement that locks its part',
    replace: [
      [within('look', /PERFORM FROM parts WHERE part = of_part FOR NO KEY UPDATE;/), '$1'],
      [
        within('look', /SELECT c\.webhook_id FROM cursors c WHERE c\.part = of_part AND c\.feed/),
        '$1SELECT c.webhook_id FROM parts k JOIN cursors c ON c.part = of_part AND k.part = of_part WHERE c.feed',
      ],
    ],
    caughtBy: { interleaving: 'a look waits for a lane that falls asleep, and wakes it' },
  },
  wakesAfterCommit: {
    about: 'the sequencer wakes nobody in its transaction: it would in one of its own, which may never come',
    replace: [
      [
        within('look', /UPDATE cursors SET wake_at = '-infinity' WHERE part = of_part AND/),
        "$1UPDATE cursors SET wake_at = '-infinity' WHERE false AND part = of_part AND",
      ],
    ],
    caughtBy: { walks: 'sleep' },
  },
  wakesNobodyWithTimer: {
    about: 'the sequencer takes a lane that waits for a retry for one that is awake',
    replace: [[within('look', /c\.wake_at > '-infinity' AND EXISTS/), "$1c.wake_at = 'infinity' AND EXISTS"]],
    caughtBy: { walks: 'late' },
  },
  wakesSkippingLocked: {
    about: 'the sequencer passes over sleepers that somebody has locked',
    replace: [
      [
        within('look', /ORDER BY c\.webhook_id FOR NO KEY UPDATE\)\)/),
        '$1ORDER BY c.webhook_id FOR NO KEY UPDATE SKIP LOCKED))',
      ],
    ],
    caughtBy: {
      interleaving: 'a look waits for an act on a lane that sleeps, and wakes it though the act is undone',
    },
  },
  headForgetsDays: {
    about: 'a feed whose days have all been dropped begins again at 1',
    replace: [[within('feed_head', /newest\.first - 1, 0\)/), '$10)']],
    caughtBy: { walks: 'dropped' },
  },
  daysGoBack: {
    about: 'the day of a part follows the clock when that is set back',
    replace: [
      [
        within('look', /day_to_write\(of_part, day_of\(now\)\)/),
        '$1coalesce((SELECT max(d.day) FROM days d WHERE d.day <= day_of(now)), (SELECT min(d.day) FROM days d))',
      ],
    ],
    caughtBy: { walks: 'ages' },
  },
  // falling asleep and waking
  sleepsUnseen: {
    about: 'a lane falls asleep without comparing the head with what it has read',
    replace: [[within('rest', / AND l\.read = heads\[array_position\(feeds, c\.feed\)\]/), '$1']],
    caughtBy: { walks: 'sleep' },
  },
  sleepsOverActs: {
    about: 'falling asleep asks who holds the lane, not for the epoch',
    replace: [[within('rest', / AND c\.epoch = lepoch\[array_position\(lw, c\.webhook_id\)\]/), '$1']],
    caughtBy: { walks: 'once more' },
  },
  sleepsWithoutLock: {
    about: 'falling asleep does not lock the part',
    replace: [[within('rest', /PERFORM FROM parts WHERE part = p FOR SHARE;/), '$1']],
    caughtBy: { interleaving: 'a lane that falls asleep waits for a look, and stays awake' },
  },
  sleepsForKeyShare: {
    about: 'falling asleep locks the part FOR KEY SHARE',
    replace: [[within('rest', /FOR SHARE/), '$1FOR KEY SHARE']],
    caughtBy: { interleaving: 'a lane that falls asleep waits for a look, and stays awake' },
  },
  sleepsInOneStatement: {
    about: 'falling asleep locks the part in the statement that looks at the head',
    replace: [
      [within('rest', /PERFORM FROM parts WHERE part = p FOR SHARE;/), '$1'],
      [
        within('rest', /l\.read = heads/),
        '$1EXISTS (SELECT FROM parts WHERE part = p FOR SHARE) AND l.read = heads',
      ],
    ],
    caughtBy: { interleaving: 'a lane that falls asleep waits for a look, and stays awake' },
  },
  sleepsWithoutTimer: {
    about: 'falling asleep forgets the retries',
    replace: [[within('rest', /wake_at = l\.wake/), "$1wake_at = 'infinity'"]],
    caughtBy: { walks: 'timer' },
  },
  sleepsWithoutPosition: {
    about: 'falling asleep leaves the position where it is',
    replace: [[within('rest', /position = greatest\(c\.position, l\.read\), /), '$1']],
    caughtBy: { walks: 'lazy' },
  },
  wakesByClockAlone: {
    about: 'a lane sleeps until the clock says so, though the clock was set back since it fell asleep',
    replace: [[within('take', / OR \(c\.wake_at > '-infinity' AND c\.rested_at > now\)/), '$1']],
    caughtBy: { walks: 'ages' },
  },
  actsWakeNobody: {
    about: 'an act leaves a sleeping lane asleep',
    replace: [[within('touch_cursor', /, wake_at = '-infinity'/), '$1']],
    caughtBy: { walks: 'once more' },
  },
  madeAsleep: {
    about: 'a webhook is made asleep',
    replace: [
      [
        within(
          'create_cursor',
          /may_act, address\) VALUES \(p, w, f, head, open, wanted, wanted_actions, allowed, leads_to\)/,
        ),
        "$1may_act, address, wake_at) VALUES (p, w, f, head, open, wanted, wanted_actions, allowed, leads_to, 'infinity')",
      ],
    ],
    caughtBy: { walks: 'two kinds' },
  },
  // settlement
  insertsUnfenced: {
    about: 'outcomes are written for lanes whose epoch is another',
    replace: [[within('settle', /WHERE o\.w = ANY \(held\) AND/), '$1WHERE']],
    caughtBy: { interleaving: 'of a settlement of two lanes, one of them lost, the other alone is written' },
  },
  answersUnfenced: {
    about: 'answers are written for lanes whose epoch is another',
    replace: [[within('settle', / WHERE a\.w = ANY \(held\) ON CONFLICT/), '$1 ON CONFLICT']],
    caughtBy: { interleaving: 'of a settlement of two lanes, one of them lost, the other alone is written' },
  },
  exceptionsUnfenced: {
    about: 'exceptions are written for lanes whose epoch is another',
    replace: [[within('settle', /f\.due IS NOT NULL AND f\.w = ANY \(held\)/), '$1f.due IS NOT NULL']],
    caughtBy: { interleaving: 'of a settlement of two lanes, one of them lost, the other alone is written' },
  },
  againsUnfenced: {
    about: 'what was asked for again is written for lanes whose epoch is another',
    replace: [[within('settle', /a\.due IS NOT NULL AND a\.w = ANY \(held\)/), '$1a.due IS NOT NULL']],
    caughtBy: { interleaving: 'of a settlement of two lanes, one of them lost, the other alone is written' },
  },
  replaysUnfenced: {
    about: 'replays are moved for lanes whose epoch is another',
    replace: [[within('settle', /r\.round = t\.round AND t\.w = ANY \(held\)/), '$1r.round = t.round']],
    caughtBy: { interleaving: 'of a settlement of two lanes, one of them lost, the other alone is written' },
  },
  positionsUnfenced: {
    about: 'positions are moved for lanes whose epoch is another',
    replace: [
      [within('settle', /c\.webhook_id = l\.w AND l\.w = ANY \(held\) AND/), '$1c.webhook_id = l.w AND'],
    ],
    caughtBy: { interleaving: 'of a settlement of two lanes, one of them lost, the other alone is written' },
  },
  settlesWithoutEpoch: {
    about: 'a settlement names the webhook and not the epoch',
    replace: [[within('settle', / AND c\.epoch = lepoch\[array_position\(lw, c\.webhook_id\)\]/), '$1']],
    caughtBy: { walks: 'takeover' },
  },
  settlesByHolder: {
    about: 'a settlement is fenced by there being a holder, not by the epoch',
    replace: [
      [
        within('settle', /c\.epoch = lepoch\[array_position\(lw, c\.webhook_id\)\]/),
        '$1c.holder IS NOT NULL',
      ],
    ],
    caughtBy: { walks: 'skip' },
  },
  settlesForKeyShare: {
    about: 'a settlement locks its cursors FOR KEY SHARE',
    replace: [
      [within('settle', /ORDER BY c\.webhook_id FOR NO KEY UPDATE/), '$1ORDER BY c.webhook_id FOR KEY SHARE'],
    ],
    caughtBy: { interleaving: 'a settlement waits for an act, and writes nothing' },
  },
  settlesWithoutLock: {
    about: 'a settlement looks at the epoch of cursors that it has not locked',
    replace: [[within('settle', /ORDER BY c\.webhook_id FOR NO KEY UPDATE/), '$1ORDER BY c.webhook_id']],
    caughtBy: { interleaving: 'a settlement waits for whoever takes the lane over, and writes nothing' },
  },
  locksInNoOrder: {
    about: 'a settlement locks its cursors as they are named',
    replace: [
      [
        within('settle', /ORDER BY c\.webhook_id FOR NO KEY UPDATE/),
        '$1ORDER BY array_position(lw, c.webhook_id) FOR NO KEY UPDATE',
      ],
    ],
    caughtBy: {
      interleaving:
        'two settlements of the same lanes, named in opposite order, do not wait for each other in a circle',
    },
  },
  actsLockInNoOrder: {
    about: 'a pause of several webhooks locks their cursors as they are named',
    replace: [
      [
        within('open_cursors', /ORDER BY webhook_id FOR NO KEY UPDATE/),
        '$1ORDER BY array_position(webhooks, webhook_id) FOR NO KEY UPDATE',
      ],
    ],
    caughtBy: {
      interleaving:
        'two acts on the same lanes, named in opposite order, do not wait for each other in a circle',
    },
  },
  exceptionEndsEarly: {
    about: 'the exception of an entity is deleted with its first, though others wait behind it',
    replace: [[within('advance_exception', /IF next(\.seq)? IS NULL THEN/), '$1IF true THEN']],
    caughtBy: { walks: 'behind' },
  },
  exceptionKeepsTries: {
    about: 'the next of an entity begins with the attempts of the one before',
    replace: [[within('advance_exception', /attempts = 0, /), '$1']],
    caughtBy: { walks: 'behind' },
  },
  exceptionGoesOnToFinished: {
    about: 'the exception of an entity goes on with an entry that has ended',
    replace: [[within('next_unfinished', / AND o\.state <> 'retrying'/), "$1 AND o.state = 'delivered'"]],
    caughtBy: { walks: 'skipped behind' },
  },
  passedIsUnfinished: {
    about: 'what was passed is taken for unfinished',
    replace: [[within('next_unfinished', /AND l\.seq > coalesce\(\(SELECT max\(s\.upto\)[^\n]*/), '$1']],
    caughtBy: { interleaving: 'what was passed cannot be skipped as well' },
  },
  exceptionGoesOnToUnwanted: {
    about: 'the exception of an entity goes on with an entry that was not wanted',
    replace: [[within('next_unfinished', /l\.simulated OR wants_event\([^)]*\)/), '$1true']],
    caughtBy: { walks: 'behind' },
  },
  attemptsOfReplaysStay: {
    about: 'what was asked for again stays when it has ended',
    replace: [[within('settle', /WHERE a\.due IS NULL AND a\.w = ANY \(held\) LOOP/), '$1WHERE false LOOP']],
    caughtBy: { walks: 'once more' },
  },
  positionGoesAnywhere: {
    about: 'a settlement that is told again sets the position back',
    replace: [
      [
        within('settle', /position = greatest\(c\.position, l\.position\)/),
        '$1position = least(c.position, l.position)',
      ],
    ],
    caughtBy: { walks: 'takeover' },
  },
  boundIsConstraint: {
    about: 'a full table of exceptions refuses the settlement',
    script: `CREATE FUNCTION refuse_more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF (SELECT count(*) FROM exceptions WHERE part = NEW.part AND webhook_id = NEW.webhook_id) > 1 THEN
          RAISE 'full'; END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse AFTER INSERT ON exceptions FOR EACH ROW EXECUTE FUNCTION refuse_more()`,
    caughtBy: { walks: 'three poisons' },
  },
  // taking over
  takesOverWithoutEpoch: {
    about: 'taking over leaves the epoch as it is',
    replace: [[within('take', /, epoch = epoch \+ 1/), '$1']],
    caughtBy: { walks: 'takeover' },
  },
  takesWithoutLock: {
    about: 'whoever takes a lane does not lock it before looking',
    replace: [[within('take', / FOR NO KEY UPDATE SKIP LOCKED/), '$1']],
    caughtBy: { interleaving: 'of two who take a lane, one has it' },
  },
  takesClosed: {
    about: 'a lane is taken whose webhook is paused',
    replace: [[within('take', /c\.holder IS NULL AND c\.is_open AND/), '$1c.holder IS NULL AND']],
    caughtBy: { interleaving: 'a lane whose webhook is paused is taken by nobody' },
  },
  givesBackWithoutEpoch: {
    about: 'a lane is given back by whoever names it',
    replace: [[within('give_back', / AND c\.epoch = lepoch\[array_position\(lw, c\.webhook_id\)\]/), '$1']],
    caughtBy: { interleaving: 'a lane that is given back waits for whoever took it over, and stays theirs' },
  },
  freesEverybody: {
    about: 'with the lanes of one worker those of the others are freed',
    replace: [[within('free_lanes', /c\.holder = ANY \(workers\)/), '$1c.holder IS NOT NULL']],
    caughtBy: { walks: 'two webhooks' },
  },
  // acts
  actsKeepEpoch: {
    about: 'an act from outside leaves the epoch as it is',
    replace: [[within('touch_cursor', /epoch = epoch \+ 1, /), '$1']],
    caughtBy: { walks: 'skip' },
  },
  pauseKeepsEpoch: {
    about: 'a pause leaves the epoch as it is',
    replace: [[within('open_cursors', /epoch = epoch \+ 1, /), '$1']],
    caughtBy: { walks: 'pause' },
  },
  actsTakeLane: {
    about: 'an act from outside takes the lane away from its holder',
    replace: [[within('touch_cursor', /SET epoch/), '$1SET holder = NULL, epoch']],
    caughtBy: { walks: 'skip' },
  },
  actEndsException: {
    about: 'an act deletes the exception of an entity, though others wait behind it',
    replace: [
      [
        within('skip_one', /PERFORM advance_exception\([^;]*;/),
        '$1DELETE FROM exceptions x WHERE x.part = p AND x.webhook_id = w AND x.entity = of_entity;',
      ],
    ],
    caughtBy: { walks: 'skipped behind' },
  },
  skipLeavesException: {
    about: 'a skip leaves the exception where it is',
    replace: [[within('skip_one', /PERFORM advance_exception\([^;]*;/), '$1NULL;']],
    caughtBy: { walks: 'skipped behind' },
  },
  passLeavesExceptions: {
    about: 'what expires leaves exceptions where they are',
    replace: [[within('pass_cursor', /PERFORM advance_exception\([^;]*;/), '$1NULL;']],
    caughtBy: { walks: 'expired behind' },
  },
  passLeavesAgains: {
    about: 'what expires leaves what was asked for again',
    replace: [[within('pass_cursor', /DELETE FROM agains [^;]*;/), '$1']],
    caughtBy: { walks: 'expired behind' },
  },
  skipsToNowUnlocked: {
    about: 'whoever skips to now does not lock the part',
    replace: [[within('skip_to_now', /FOR SHARE/), '$1FOR KEY SHARE']],
    caughtBy: { interleaving: 'whoever skips to now waits for a look, and skips what it numbered' },
  },
  filterWhenRead: {
    about: 'the filter of the moment of reading decides, not that of the moment of numbering',
    replace: [[within('filter_cursor', /feed_head\(p, c\.feed\) \+ 1/), '$11']],
    caughtBy: { walks: 'filter' },
  },
  filtersForKeyShare: {
    about: 'a filter that changes locks the part FOR KEY SHARE',
    replace: [[within('filter_cursor', /FOR SHARE/), '$1FOR KEY SHARE']],
    caughtBy: {
      interleaving:
        'a filter that changes waits for a look: what was numbered meanwhile is judged by the old one',
    },
  },
  makesForKeyShare: {
    about: 'a webhook that is made locks the part FOR KEY SHARE',
    replace: [[within('create_cursor', /FOR SHARE/), '$1FOR KEY SHARE']],
    caughtBy: { interleaving: 'a webhook that is made waits for a look, and begins behind it' },
  },
  replayToHead: {
    about: 'a replay ends at the head, not at the position',
    replace: [
      [within('start_replay', /from_seq - 1, c\.position,/), '$1from_seq - 1, feed_head(p, c.feed),'],
    ],
    caughtBy: { walks: 'replay' },
  },
  replayTakesUnfinished: {
    about: 'a replay sends what stands in the exceptions',
    replace: [[within('read_replay', /AND NOT EXISTS \(SELECT FROM exceptions x [\s\S]*?OFFSET 0\)/), '$1']],
    caughtBy: {
      interleaving:
        'a replay reads what was wanted and has ended, up to its last; what is unfinished is sent by itself',
    },
  },
  replayTakesUnwanted: {
    about: 'a replay sends what was not wanted',
    replace: [[within('read_replay', /l\.simulated OR wants_event\([^)]*\)/), '$1true']],
    caughtBy: {
      interleaving:
        'a replay reads what was wanted and has ended, up to its last; what is unfinished is sent by itself',
    },
  },
  replayPassesLast: {
    about: 'a replay reads on behind its last',
    replace: [[within('read_replay', /least\(r\.last, after \+ 5000\)/), '$1after + 5000']],
    caughtBy: {
      interleaving:
        'a replay reads what was wanted and has ended, up to its last; what is unfinished is sent by itself',
    },
  },
  roundsTwice: {
    about: 'two askings have the same round',
    replace: [[within('send_again', /SET rounds = rounds \+ 1/), '$1SET rounds = rounds']],
    caughtBy: { walks: 'once more' },
  },
  deleteLeavesExceptions: {
    about: 'a webhook that is deleted leaves its exceptions',
    replace: [[within('delete_cursor', /DELETE FROM exceptions [^;]*;/), '$1']],
    caughtBy: { walks: 'gone' },
  },
}

const kernel = new URL('../../migrations/0012-engine.sql', import.meta.url)

/**
 * The statements that make a mutant of a database. Fails where a replacement finds nothing: then the function
 * has changed, and the mutant has to follow.
 */
export function scriptOf(name: string): string {
  const { replace = [], script = '' } = sqlMutants[name]!
  const text = readFileSync(kernel, 'utf8')
  let mutated = text
  for (const [found, by] of replace) {
    if (!found.test(mutated)) throw new Error(`${name}: ${found} is nowhere in the kernel`)
    mutated = mutated.replace(found, by)
  }
  const [before, after] = [functionsOf(text), functionsOf(mutated)]
  const changed = after.filter((each, place) => each !== before[place])
  return [
    script,
    ...changed.map((each) => each.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION')),
  ].join(';\n')
}

function functionsOf(text: string): string[] {
  return text.match(/^CREATE FUNCTION (?:(?!^CREATE )[\s\S])*?\$\$[\s\S]*?\$\$;/gm) ?? []
}
