/**
 * What a browser says of itself, in plain words, for people who look for a sign-in that was not theirs. Any
 * client can claim to be any browser: the words help to recognise, and nothing is decided by them.
 */
type Rule = readonly [pattern: RegExp, words: string]

/** The first that fits: most browsers also claim to be those further down. */
const browsers: readonly Rule[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera|OPiOS)\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|Chromium|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/[\d.]+( Mobile\/\w+)? Safari\//, 'Safari'],
  [/\bAppleWebKit\//, 'A browser in an app'],
  [/^curl\//, 'curl'],
]

const systems: readonly Rule[] = [
  [/\biPad\b/, 'iPad'],
  [/\biPhone\b/, 'iPhone'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

export function deviceWords(userAgent: string): string {
  const browser = findWords(browsers, userAgent) ?? 'An unknown browser'
  const system = findWords(systems, userAgent)
  return system === undefined ? browser : `${browser} on ${system}`
}

function findWords(rules: readonly Rule[], text: string): string | undefined {
  return rules.find(([pattern]) => pattern.test(text))?.[1]
}
