/** Words that pages, messages and docs have left behind, each with the one that took its place. */
export const oldWords: readonly (readonly [RegExp, string])[] = [
  [/\bhold still\b/i, 'Pause updates'],
  [/\bbreaker open\b/i, 'Failing: one retry a minute'],
  [/\b(?:given|gave|gives) up\b/i, 'Failed after all retries'],
  [/\bnot well\b/i, 'Needs attention'],
  [/\bbehind another\b/i, 'Queued behind #123'],
  [/\bwhat it is told\b/i, 'Events to send'],
  [/\bSend (?:it )?again\b/, 'Replay'],
  [/\bhow to mend\b|\bmend (?:it|the|these)\b|\bwas mended\b/i, 'How to fix it'],
  [/\brefused calls?\b/i, 'Failed API calls'],
  [/\bwaits for you\b/i, 'Needs your decision'],
  [/\b(?:takes?|taken|took) back\b/i, 'Reset two-factor, withdraw, revoke'],
  [/\blanes being\b/i, 'Webhooks delivering now'],
  [/\b(?:is|are) alive\b/i, 'active'],
  [/\bset going\b/i, 'Queued'],
  [/\bdid what\b/i, 'Action'],
  [/\bto whom\b/i, 'Target'],
  [/\btest hooks\b/i, 'Test events'],
]

/** On a page not even the words by which programs know a state: it is told in full. */
export const oldOnPages: typeof oldWords = [
  ...oldWords,
  [/\bexhausted\b/i, 'Failed after all retries'],
  [/\bblocked\b/i, 'Queued behind #123'],
  [/\brefusals\b/i, 'API calls'],
  [/\blanes?\b/i, 'webhook'],
  [/\bbreaker\b/i, 'one retry a minute'],
]
