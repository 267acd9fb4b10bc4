import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deviceWords } from './device-words.ts'

const webkit = 'AppleWebKit/605.1.15 (KHTML, like Gecko)'
const blink = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const known: Record<string, string> = {
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/146.0.0.0 Safari/537.36`]: 'Chrome on Windows',
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/146.0.0.0 Safari/537.36 Edg/146.0.0.0`]:
    'Edge on Windows',
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${webkit} Version/18.4 Safari/605.1.15`]:
    'Safari on macOS',
  [`Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) ${webkit} Version/18.4 Mobile/15E148 Safari/604.1`]:
    'Safari on iPhone',
  [`Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) ${webkit} CriOS/146.0 Mobile/15E148 Safari/604.1`]:
    'Chrome on iPhone',
  [`Mozilla/5.0 (iPhone; CPU iPhone OS 18_4 like Mac OS X) ${webkit} Mobile/15E148`]:
    'A browser in an app on iPhone',
  'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0': 'Firefox on Linux',
  'Mozilla/5.0 (Android 16; Mobile; rv:150.0) Gecko/150.0 Firefox/150.0': 'Firefox on Android',
  [`Mozilla/5.0 (Linux; Android 16; SM-S931B) ${blink} SamsungBrowser/29.0 Chrome/140.0 Mobile Safari/537.36`]:
    'Samsung Internet on Android',
  [`Mozilla/5.0 (X11; CrOS x86_64 16181.61.0) ${blink} Chrome/146.0.0.0 Safari/537.36`]: 'Chrome on ChromeOS',
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${blink} Chrome/146.0.0.0 Safari/537.36 OPR/130.0`]:
    'Opera on Windows',
  'curl/8.14.1': 'curl',
  '': 'An unknown browser',
}

test('browsers and systems are named in plain words', () => {
  const told = Object.fromEntries(Object.keys(known).map((userAgent) => [userAgent, deviceWords(userAgent)]))
  assert.deepEqual(told, known)
})

test('whatever a browser says of itself, only words of ours are shown', () => {
  const words =
    /^(Edge|Opera|Samsung Internet|Vivaldi|Firefox|Chrome|Safari|A browser in an app|curl|An unknown browser)( on [A-Za-z]+)?$/
  fc.assert(fc.property(fc.string(), (userAgent) => words.test(deviceWords(userAgent))))
})
